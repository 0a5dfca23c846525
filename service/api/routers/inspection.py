"""The native routes that show tokens: /v1/tokenize and /v1/detokenize, and what all inspecting routes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from service.api.schemas import inspection_bodies as bodies
from service.counting.counter import Counter
from service.dialects import native
from service.errors import InvalidRequest, TooLarge
from service.text.streaming import StreamDecoder
from service.text.tokens import Offsets, Tokens, token_at, tokens_of
from service.tokenizers.base import Tokenizer, VocabularyTokenizer
from service.tokenizers.normalizers import alteration_of
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.vocabulary import Vocabulary
from service.types import Json, TokenCount, Warned

Warnings = tuple[Warned, ...]

TARGETS = ("model", "tokenizer", "provider")


# ---------------------------------------------------------------- what the routes share


def counted(body: bodies.Target, text: str, warnings: Warnings, counter: Counter, **fields: Json) -> TokenCount:
    """The count of `text` for what the body names; it also says which model and tokenizer that is."""
    target = body.model_dump(include=set(TARGETS), exclude_none=True)
    request = native.read({**target, "text": text, **fields})
    return counter.count(replace(request, warnings=(*warnings, *request.warnings)))


def head(count: TokenCount) -> dict[str, Json]:
    return {
        "model": count.model,
        "model_ref": count.model_ref,
        "model_match": count.model_match,
        "provider": count.provider,
        "tokenizer": count.tokenizer,
        "tokenizer_revision": count.tokenizer_revision,
        "warnings": warnings_of(count.warnings),
    }


def warnings_of(warnings: Warnings) -> list[Json]:
    return [{"code": warned.code, "path": warned.path} for warned in warnings]


def check_length(text: str, most: int, field: str, way_out: str) -> None:
    if len(text) > most:
        raise TooLarge(f"{field} is longer than {most} characters: {way_out}", field=field)


def spell_out(piece: bytes) -> dict[str, Json]:
    try:
        return {"text": piece.decode(), "bytes_hex": None}
    except UnicodeDecodeError:
        return {"text": None, "bytes_hex": piece.hex()}


def altered(tokens: Tokens, tokenizer: str) -> dict[str, Json]:
    return {"altered": tokens.altered, "normaliser": list(alteration_of(tokenizer).codes)}


def token_item(tokens: Tokens, number: int, offsets: Offsets) -> dict[str, Json]:
    item = {
        "id": None if tokens.ids is None else tokens.ids[number],
        **spell_out(tokens.pieces[number]),
        "start": offsets.out(tokens.starts[number]),
        "end": offsets.out(tokens.ends[number]),
    }
    return {**item, "special": True} if tokens.is_special(number) else item


# ---------------------------------------------------------------- tokenize


def tokenize(body: bodies.TokenizeBody, warnings: Warnings, counter: Counter) -> Json:
    check_length(body.text, bodies.MAX_TEXT, "text", "send it in parts.")
    if body.form == "tokens" and body.limit > bodies.MAX_PAGE:
        raise InvalidRequest(f"limit must be at most {bodies.MAX_PAGE} where form is tokens.", field="limit")
    if body.offset is not None and body.at is not None:
        raise InvalidRequest("Give one of offset and at, not both.", field="at")
    options = {"special_tokens": body.special_tokens, "engine": body.engine}
    count = counted(body, body.text, warnings, counter, **options)
    tokenizer = get_tokenizer(count.tokenizer, body.engine)
    tokens = tokens_of(tokenizer, body.text, parse_special=body.special_tokens == "parse")
    offsets = Offsets(body.text, body.unit)
    first = (body.offset or 0) if body.at is None else token_at(tokens, offsets.into(body.at))
    page = range(min(first, len(tokens)), min(first + body.limit, len(tokens)))
    return {
        **head(count),
        "method": count.method,
        "error_band": {"low": count.low, "high": count.high},
        "count": count.input_tokens,
        "characters": offsets.out(len(body.text)),
        "bytes": len(body.text.encode()),
        "has_ids": tokens.ids is not None,
        **altered(tokens, count.tokenizer),
        "offset": page.start,
        "next_offset": page.stop if page.stop < len(tokens) else None,
        "tokens": [token_item(tokens, number, offsets) for number in page] if body.form == "tokens" else None,
        "columns": _columns(tokens, page, offsets) if body.form == "columns" else None,
    }


def _columns(tokens: Tokens, page: range, offsets: Offsets) -> Json:
    numbers = slice(page.start, page.stop)
    pieces, starts, ends = tokens.pieces[numbers], tokens.starts[numbers], tokens.ends[numbers]
    known = {piece: spell_out(piece) for piece in set(pieces)}
    return {
        "ids": None if tokens.ids is None else list(tokens.ids[numbers]),
        "starts": [offsets.out(start) for start in starts],
        "ends": [offsets.out(end) for end in ends],
        "exceptions": [
            {"index": number, **known[piece]}
            for number, piece, start, end in zip(page, pieces, starts, ends, strict=True)
            if known[piece]["text"] is None or (tokens.altered and known[piece]["text"] != tokens.text[start:end])
        ],
    }


# ---------------------------------------------------------------- detokenize


def detokenize(body: bodies.DetokenizeBody, warnings: Warnings, counter: Counter) -> Json:
    most = bodies.MAX_STREAMED_IDS if body.pieces else bodies.MAX_IDS
    if len(body.ids) > most:
        raise TooLarge(f"ids holds more than {most} ids: send them in parts.", field="ids")
    count = counted(body, "", warnings, counter)
    tokenizer = get_tokenizer(count.tokenizer)
    if not isinstance(tokenizer, VocabularyTokenizer):
        field = next(name for name in TARGETS if getattr(body, name) is not None)
        raise InvalidRequest(f"{tokenizer.name} has no token ids: its vocabulary is not published.", field=field)
    pieces = _bytes_of(tokenizer, body.ids)
    whole = b"".join(pieces)
    decoder = StreamDecoder(alteration_of(tokenizer.name).prefix)
    if body.pieces:
        streamed = _streamed(decoder, tokenizer, body.ids, pieces)
        rest = decoder.close()
        text = "".join(piece["emit"] for piece in streamed) + rest
    else:
        text = decoder.feed(whole)
        rest = decoder.close()
        text += rest
    return {
        **head(count),
        "count": len(body.ids),
        "text": text,
        "valid": spell_out(whole)["text"] is not None,
        "pieces": streamed if body.pieces else None,
        "rest": rest,
    }


def _bytes_of(tokenizer: VocabularyTokenizer, ids: Sequence[int]) -> list[bytes]:
    known: dict[int, bytes] = {}
    for number, token in enumerate(ids):
        if token not in known:
            try:
                known[token] = tokenizer.decode_bytes([token])
            except InvalidRequest:
                field = f"ids[{number}]"
                raise InvalidRequest(f"{field} is no token of {tokenizer.name}.", field=field) from None
    return [known[token] for token in ids]


def _streamed(
    decoder: StreamDecoder, tokenizer: Tokenizer, ids: Sequence[int], pieces: Sequence[bytes]
) -> list[dict[str, Json]]:
    specials = set(tokenizer.specials.values()) if isinstance(tokenizer, Vocabulary) else set()
    streamed = []
    for token, piece in zip(ids, pieces, strict=True):
        item = {"id": token, **spell_out(piece), "emit": decoder.feed(piece), "held_hex": decoder.held.hex()}
        streamed.append({**item, "special": True} if token in specials else item)
    return streamed
