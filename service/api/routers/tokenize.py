"""The tokens of a text, the text of token ids, how a text was cut, and a byte-pair encoding trained step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastapi import APIRouter

from service.api.auth import needs
from service.api.routing import BodyWarnings, ServiceRoute, Shared
from service.api.schemas import tokenize as bodies
from service.api.schemas.errors import describe_errors
from service.api.schemas.merges import (
    MAX_CORPUS,
    MAX_ENCODED,
    MAX_EXPLAINED,
    ExplainAnswer,
    ExplainBody,
    TrainAnswer,
    TrainBody,
)
from service.api.schemas.tokenize import DetokenizeAnswer, TokenizeAnswer
from service.api.token_answers import (
    TARGETS,
    all_warnings,
    altered,
    check_length,
    counted,
    head,
    spell_out,
    token_item,
    warnings_of,
)
from service.dialects import native
from service.errors import InvalidRequest, TooLarge
from service.text.bpe_train import END_OF_WORD, Token, Training, train
from service.text.explain import Node, PreToken
from service.text.explain import explain as explain_text
from service.text.streaming import StreamDecoder
from service.text.tokens import Offsets, Tokens, find_token_at, locate_tokens
from service.tokenizers.base import Tokenizer, VocabularyTokenizer
from service.tokenizers.normalizers import get_normalizer
from service.tokenizers.registry import get_tokenizer
from service.types import Json

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("tokenize")], tags=["native"], responses=describe_errors(native.WIRE)
)

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
    count = counted(body, body.text, all_warnings(body, warnings), services, **options)
    tokenizer = get_tokenizer(count.tokenizer, body.engine)
    tokens = locate_tokens(tokenizer, body.text, parse_special=body.special_tokens == "parse")
    offsets = Offsets(body.text, body.unit)
    first = (body.offset or 0) if body.at is None else find_token_at(tokens, offsets.to_code_point(body.at))
    page = range(min(first, len(tokens)), min(first + body.limit, len(tokens)))
    return {
        **head(count),
        "method": count.method,
        "error_band": {"low": count.low, "high": count.high},
        "count": count.input_tokens,
        "characters": offsets.to_unit(len(body.text)),
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
    count = counted(body, "", all_warnings(body, warnings), services)
    tokenizer = get_tokenizer(count.tokenizer)
    if not isinstance(tokenizer, VocabularyTokenizer):
        field = next(name for name in TARGETS if getattr(body, name) is not None)
        raise InvalidRequest(f"{tokenizer.name} has no token ids: its vocabulary is not published.", field=field)
    pieces = _bytes_of(tokenizer, body.ids)
    whole = b"".join(pieces)
    decoder = StreamDecoder(get_normalizer(tokenizer.name).prefix)
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
    specials = set(tokenizer.specials.values()) if isinstance(tokenizer, VocabularyTokenizer) else set()
    streamed = []
    for token, piece in zip(ids, pieces, strict=True):
        item = {"id": token, **spell_out(piece), "emit": decoder.feed(piece), "held_hex": decoder.pending.hex()}
        streamed.append({**item, "special": True} if token in specials else item)
    return streamed


SHOWN_WORDS = 200
"""Distinct pre-tokens of a corpus that are listed."""


# ---------------------------------------------------------------- explain

ABOUT = {
    "ranks": "Any two neighbours merge whose bytes together are a token: the token of the lowest rank first, the "
    "leftmost among equals. A pre-token that is itself a token is taken whole.",
    "merge_list": "Only the pairs of a fixed list merge: the earliest in the list first, the leftmost among equals. "
    "That two neighbours together are a token of the vocabulary is not enough.",
    "tiling": "The vocabulary is not published. The text is covered with the fewest pieces of a measured one; shown is "
    "one such cover. It has no ids and no merges.",
    "bundled": "The vocabulary comes inside a library, without its merge rules: only the tokens can be shown.",
}


@router.post(
    "/v1/explain", operation_id="explain", response_model=ExplainAnswer,
    summary="How a text was cut: pre-tokens, bytes, and every merge in its order",
)
def explain(body: ExplainBody, warnings: BodyWarnings, services: Shared) -> Json:
    """Shows the steps where the vocabulary's merge rules are published; else only the tokens."""
    check_length(body.text, MAX_EXPLAINED, "text", "explain a part of it.")
    count = counted(body, body.text, all_warnings(body, warnings), services)
    found = explain_text(get_tokenizer(count.tokenizer), body.text)
    offsets = Offsets(body.text, "code_point")
    return {
        **head(count),
        "method": count.method,
        "count": count.input_tokens,
        **altered(found.tokens, count.tokenizer),
        "algorithm": found.algorithm,
        "about": ABOUT[found.algorithm],
        "steps_missing": found.missing,
        "pre_tokens": None if found.pre_tokens is None else [_pre_token(item) for item in found.pre_tokens],
        "tokens": [token_item(found.tokens, number, offsets) for number in range(len(found.tokens))],
    }


def _bare(node: Node) -> dict[str, Json]:
    return spell_out(node.spelled)


def _pre_token(found: PreToken, spelling: Callable[[Node], dict[str, Json]] = _bare) -> dict[str, Json]:
    other = found.other_rule
    return {
        **spell_out(found.spelled),
        "start": found.start,
        "end": found.end,
        "kind": "added" if found.added else "text",
        "whole": found.whole,
        "leaves": found.leaves,
        "nodes": [
            {
                "id": node.id, **spelling(node),
                "start": node.start, "end": node.end, "left": node.left, "right": node.right, "rank": node.rank,
            }
            for node in found.nodes
        ],
        "tokens": list(found.tokens),
        "other_rule": None if other is None else {
            "rule": other.rule,
            "same": other.same,
            "tokens": [{"id": token, **spell_out(piece)} for token, piece in other.tokens],
        },
    }


# ---------------------------------------------------------------- train


@router.post(
    "/v1/bpe/train", operation_id="bpe_train", response_model=TrainAnswer,
    summary="Train a byte-pair encoding on a small corpus, every step shown",
)
def train_bpe(body: TrainBody, warnings: BodyWarnings) -> Json:
    """Learns merges from a corpus, and encodes texts with them."""
    check_length(body.corpus, MAX_CORPUS, "corpus", "learn from a part of it.")
    if len(body.encode) > MAX_ENCODED or sum(map(len, body.encode)) > MAX_EXPLAINED:
        raise TooLarge(
            f"encode holds more than {MAX_ENCODED} texts or {MAX_EXPLAINED} characters.", field="encode"
        )
    training = train(body.corpus, body.merges, body.level, body.ties, body.top)
    words = training.words
    return {
        "level": body.level,
        "ties": body.ties,
        "end_of_word": END_OF_WORD if body.level == "character" else None,
        "warnings": warnings_of(all_warnings(body, warnings)),
        "corpus": {
            "characters": len(body.corpus),
            "pre_tokens": sum(words.values()),
            "distinct": len(words),
            "tokens": training.tokens,
            "words": [{"text": word, "count": words[word]} for word in [*words][:SHOWN_WORDS]],
        },
        "steps": _steps(training),
        "stopped": training.stopped,
        "vocabulary": [_entry(number, token) for number, token in enumerate(training.vocabulary)],
        "encoded": [_encoded(training, text) for text in body.encode],
    }


def _learnt(token: Token) -> dict[str, Json]:
    if not token.ends_word:
        return spell_out(token.spelled)
    return {"text": token.spelled.decode() + END_OF_WORD, "bytes_hex": None}


def _steps(training: Training) -> list[Json]:
    return [
        {
            "step": number,
            "left": step.pair[0],
            "right": step.pair[1],
            "count": step.count,
            "tied": step.tied,
            "id": step.new,
            **_learnt(training.vocabulary[step.new]),
            "pairs": [{"left": left, "right": right, "count": times} for (left, right), times in step.pairs],
            "distinct_pairs": step.distinct_pairs,
            "tokens": step.tokens,
        }
        for number, step in enumerate(training.steps, 1)
    ]


def _entry(number: int, token: Token) -> Json:
    left, right = token.pair or (None, None)
    return {"id": number, **_learnt(token), "left": left, "right": right}


def _encoded(training: Training, text: str) -> Json:
    def spelling(node: Node) -> dict[str, Json]:
        return spell_out(node.spelled) if node.id is None else _learnt(training.vocabulary[node.id])

    found = training.encode(text)
    return {
        "text": text,
        "ids": [token for word in found for token in word.ids],
        "pre_tokens": [_pre_token(word, spelling) for word in found],
    }
