"""The native routes that show merges: /v1/explain says how a text was cut, /v1/bpe/train learns a vocabulary."""

from __future__ import annotations

from collections.abc import Callable

from service.api.routers.inspection import (
    Warnings,
    altered,
    check_length,
    counted,
    head,
    spell_out,
    token_item,
    warnings_of,
)
from service.api.schemas import inspection_bodies as bodies
from service.counting.counter import Counter
from service.errors import TooLarge
from service.text.bpe_train import END_OF_WORD, Token, Training, train
from service.text.explain import PreToken, Spelled, explain
from service.text.tokens import Offsets
from service.tokenizers.registry import get_tokenizer
from service.types import Json

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


def explain_text(body: bodies.ExplainBody, warnings: Warnings, counter: Counter) -> Json:
    check_length(body.text, bodies.MAX_EXPLAINED, "text", "explain a part of it.")
    count = counted(body, body.text, warnings, counter)
    found = explain(get_tokenizer(count.tokenizer), body.text)
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


def _bare(node: Spelled) -> dict[str, Json]:
    return spell_out(node.spelled)


def _pre_token(found: PreToken, spelling: Callable[[Spelled], dict[str, Json]] = _bare) -> dict[str, Json]:
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


def train_bpe(body: bodies.TrainBody, warnings: Warnings, counter: Counter) -> Json:
    check_length(body.corpus, bodies.MAX_CORPUS, "corpus", "learn from a part of it.")
    if len(body.encode) > bodies.MAX_ENCODED or sum(map(len, body.encode)) > bodies.MAX_EXPLAINED:
        raise TooLarge(
            f"encode holds more than {bodies.MAX_ENCODED} texts or {bodies.MAX_EXPLAINED} characters.", field="encode"
        )
    training = train(body.corpus, body.merges, body.level, body.ties, body.top)
    words = training.words
    return {
        "level": body.level,
        "ties": body.ties,
        "end_of_word": END_OF_WORD if body.level == "character" else None,
        "warnings": warnings_of(warnings),
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
    def spelling(node: Spelled) -> dict[str, Json]:
        return spell_out(node.spelled) if node.id is None else _learnt(training.vocabulary[node.id])

    found = training.encode(text)
    return {
        "text": text,
        "ids": [token for word in found for token in word.ids],
        "pre_tokens": [_pre_token(word, spelling) for word in found],
    }
