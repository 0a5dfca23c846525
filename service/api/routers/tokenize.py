"""The tokens of a text, and the text of token ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter
from pydantic import BaseModel

from service.answers.tokens import (
    altered_json,
    check_length,
    spell_out,
    token_json,
    tokenizer_json,
)
from service.api.auth import needs
from service.api.routing import BodyWarnings, ServiceRoute, Shared
from service.api.schemas import tokenize as bodies
from service.api.schemas.errors import describe_errors
from service.api.schemas.tokenize import DetokenizeAnswer, TokenizeAnswer
from service.dialects import native
from service.errors import InvalidRequest, TooLarge
from service.services import Services
from service.text.streaming import StreamDecoder
from service.text.tokens import Offsets, Tokens, find_token_at, locate_tokens
from service.tokenizers.base import Tokenizer, VocabularyTokenizer
from service.tokenizers.normalizers import get_normalizer
from service.tokenizers.registry import get_tokenizer
from service.types import Json, TokenCount, Warned

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("tokenize")], tags=["native"], responses=describe_errors(native.WIRE)
)

TARGETS = ("model", "tokenizer", "provider")


def count_text(
    body: bodies.Target, text: str, warnings: Sequence[Warned], services: Services, **fields: Json
) -> TokenCount:
    """The count of `text` for what the body names; it also says which model and tokenizer that is."""
    target = body.model_dump(include=set(TARGETS), exclude_none=True)
    request = native.read({**target, "text": text, **fields})
    return services.counter.count(replace(request, warnings=(*warnings, *request.warnings)))


def add_unknown_fields(body: BaseModel, warnings: Sequence[Warned]) -> tuple[Warned, ...]:
    """What was repaired in the JSON, and the fields that nobody reads."""
    return (*warnings, *(Warned("unknown_field_ignored", key[:64]) for key in body.model_extra or ()))


# ---------------------------------------------------------------- tokenize


@router.post(
    "/v1/tokenize", operation_id="tokenize", response_model=TokenizeAnswer,
    summary="The tokens of a text: ids, bytes, and the characters that each holds",
)
def tokenize(body: bodies.TokenizeBody, warnings: BodyWarnings, services: Shared) -> Json:
    """Shows a page of tokens, from a token's number or from a place in the text."""
    check_length(body.text, bodies.MAX_TEXT, "text", "send it in parts.")
    if body.form == "tokens" and body.limit > bodies.MAX_PAGE:
        raise InvalidRequest(f"limit must be at most {bodies.MAX_PAGE} where form is tokens.", field="limit")
    if body.offset is not None and body.at is not None:
        raise InvalidRequest("Give one of offset and at, not both.", field="at")
    options = {"special_tokens": body.special_tokens, "engine": body.engine}
    count = count_text(body, body.text, add_unknown_fields(body, warnings), services, **options)
    tokenizer = get_tokenizer(count.tokenizer, body.engine)
    tokens = locate_tokens(tokenizer, body.text, parse_special=body.special_tokens == "parse")
    offsets = Offsets(body.text, body.unit)
    first = (body.offset or 0) if body.at is None else find_token_at(tokens, offsets.to_code_point(body.at))
    page = range(min(first, len(tokens)), min(first + body.limit, len(tokens)))
    return {
        **tokenizer_json(count),
        "method": count.method,
        "error_band": {"low": count.low, "high": count.high},
        "count": count.input_tokens,
        "characters": offsets.to_unit(len(body.text)),
        "bytes": len(body.text.encode()),
        "has_ids": tokens.ids is not None,
        **altered_json(tokens, count.tokenizer),
        "offset": page.start,
        "next_offset": page.stop if page.stop < len(tokens) else None,
        "tokens": [token_json(tokens, number, offsets) for number in page] if body.form == "tokens" else None,
        "columns": _columns(tokens, page, offsets) if body.form == "columns" else None,
    }


def _columns(tokens: Tokens, page: range, offsets: Offsets) -> Json:
    numbers = slice(page.start, page.stop)
    pieces, starts, ends = tokens.pieces[numbers], tokens.starts[numbers], tokens.ends[numbers]
    known = {piece: spell_out(piece) for piece in set(pieces)}
    return {
        "ids": None if tokens.ids is None else list(tokens.ids[numbers]),
        "starts": [offsets.to_unit(start) for start in starts],
        "ends": [offsets.to_unit(end) for end in ends],
        "exceptions": [
            {"index": number, **known[piece]}
            for number, piece, start, end in zip(page, pieces, starts, ends, strict=True)
            if known[piece]["text"] is None or (tokens.altered and known[piece]["text"] != tokens.text[start:end])
        ],
    }


# ---------------------------------------------------------------- detokenize


@router.post(
    "/v1/detokenize", operation_id="detokenize", response_model=DetokenizeAnswer,
    summary="The text of token ids, at once or as it would stream",
)
def detokenize(body: bodies.DetokenizeBody, warnings: BodyWarnings, services: Shared) -> Json:
    """With `pieces`, each id shows what it adds, without ever showing half a character."""
    most = bodies.MAX_STREAMED_IDS if body.pieces else bodies.MAX_IDS
    if len(body.ids) > most:
        raise TooLarge(f"ids holds more than {most} ids: send them in parts.", field="ids")
    count = count_text(body, "", add_unknown_fields(body, warnings), services)
    tokenizer = get_tokenizer(count.tokenizer)
    if not isinstance(tokenizer, VocabularyTokenizer):
        field = next(name for name in TARGETS if getattr(body, name) is not None)
        raise InvalidRequest(f"{tokenizer.name} has no token ids: its vocabulary is not published.", field=field)
    pieces = _find_bytes(tokenizer, body.ids)
    whole = b"".join(pieces)
    decoder = StreamDecoder(get_normalizer(tokenizer.name).prefix)
    if body.pieces:
        streamed = _stream(decoder, tokenizer, body.ids, pieces)
        rest = decoder.close()
        text = "".join(piece["emit"] for piece in streamed) + rest
    else:
        text = decoder.feed(whole)
        rest = decoder.close()
        text += rest
    return {
        **tokenizer_json(count),
        "count": len(body.ids),
        "text": text,
        "valid": spell_out(whole)["text"] is not None,
        "pieces": streamed if body.pieces else None,
        "rest": rest,
    }


def _find_bytes(tokenizer: VocabularyTokenizer, ids: Sequence[int]) -> list[bytes]:
    known: dict[int, bytes] = {}
    for number, token in enumerate(ids):
        if token not in known:
            try:
                known[token] = tokenizer.decode_bytes([token])
            except InvalidRequest:
                field = f"ids[{number}]"
                raise InvalidRequest(f"{field} is no token of {tokenizer.name}.", field=field) from None
    return [known[token] for token in ids]


def _stream(
    decoder: StreamDecoder, tokenizer: Tokenizer, ids: Sequence[int], pieces: Sequence[bytes]
) -> list[dict[str, Json]]:
    specials = set(tokenizer.specials.values()) if isinstance(tokenizer, VocabularyTokenizer) else set()
    streamed = []
    for token, piece in zip(ids, pieces, strict=True):
        item = {"id": token, **spell_out(piece), "emit": decoder.feed(piece), "held_hex": decoder.pending.hex()}
        streamed.append({**item, "special": True} if token in specials else item)
    return streamed
