"""How a text was cut into tokens, and a byte-pair encoding trained step by step."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from service.answers.tokens import (
    altered_json,
    check_length,
    spell_out,
    token_json,
    tokenizer_json,
    warnings_json,
)
from service.api.auth import needs
from service.api.routers.tokenize import add_unknown_fields, count_text
from service.api.routing import BodyWarnings, ServiceRoute, Shared
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
from service.dialects import native
from service.errors import TooLarge
from service.text.bpe_train import END_OF_WORD, Token, Training, train
from service.text.explain import Node, PreToken
from service.text.explain import explain as explain_text
from service.text.tokens import Offsets
from service.tokenizers.registry import get_tokenizer
from service.types import Json

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("tokenize")], tags=["native"], responses=describe_errors(native.WIRE)
)

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
    count = count_text(body, body.text, add_unknown_fields(body, warnings), services)
    found = explain_text(get_tokenizer(count.tokenizer), body.text)
    offsets = Offsets(body.text, "code_point")
    return {
        **tokenizer_json(count),
        "method": count.method,
        "count": count.input_tokens,
        **altered_json(found.tokens, count.tokenizer),
        "algorithm": found.algorithm,
        "about": ABOUT[found.algorithm],
        "steps_missing": found.missing,
        "pre_tokens": None if found.pre_tokens is None else [_pre_token(item) for item in found.pre_tokens],
        "tokens": [token_json(found.tokens, number, offsets) for number in range(len(found.tokens))],
    }


def _spell_node(node: Node) -> dict[str, Json]:
    return spell_out(node.spelled)


def _pre_token(found: PreToken, spelling: Callable[[Node], dict[str, Json]] = _spell_node) -> dict[str, Json]:
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
        "warnings": warnings_json(add_unknown_fields(body, warnings)),
        "corpus": {
            "characters": len(body.corpus),
            "pre_tokens": sum(words.values()),
            "distinct": len(words),
            "tokens": training.tokens,
            "words": [{"text": word, "count": words[word]} for word in [*words][:SHOWN_WORDS]],
        },
        "steps": _make_steps(training),
        "stopped": training.stopped,
        "vocabulary": [_vocabulary_item(number, token) for number, token in enumerate(training.vocabulary)],
        "encoded": [_encode(training, text) for text in body.encode],
    }


def _spell_learnt(token: Token) -> dict[str, Json]:
    if not token.ends_word:
        return spell_out(token.spelled)
    return {"text": token.spelled.decode() + END_OF_WORD, "bytes_hex": None}


def _make_steps(training: Training) -> list[Json]:
    return [
        {
            "step": number,
            "left": step.pair[0],
            "right": step.pair[1],
            "count": step.count,
            "tied": step.tied,
            "id": step.new,
            **_spell_learnt(training.vocabulary[step.new]),
            "pairs": [{"left": left, "right": right, "count": times} for (left, right), times in step.pairs],
            "distinct_pairs": step.distinct_pairs,
            "tokens": step.tokens,
        }
        for number, step in enumerate(training.steps, 1)
    ]


def _vocabulary_item(number: int, token: Token) -> Json:
    left, right = token.pair or (None, None)
    return {"id": number, **_spell_learnt(token), "left": left, "right": right}


def _encode(training: Training, text: str) -> Json:
    def spelling(node: Node) -> dict[str, Json]:
        return spell_out(node.spelled) if node.id is None else _spell_learnt(training.vocabulary[node.id])

    found = training.encode(text)
    return {
        "text": text,
        "ids": [token for word in found for token in word.ids],
        "pre_tokens": [_pre_token(word, spelling) for word in found],
    }
