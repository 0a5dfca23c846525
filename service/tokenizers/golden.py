"""The self-check of a fast engine at load: committed answers for a small, difficult corpus, made by the references.

`golden.json` holds the texts once, and for each tokenizer the fingerprint of the data, who confirmed the answers, a
count for each text, and a digest of its ids (or, where there are no ids, the counts at the other edges).
Made by `scripts/make_golden.py`; reading it loads no reference. `golden_open.json` has the same for the open models,
which have no reference here: `scripts/confirm_open_models.py` makes it from other implementations.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from service.tokenizers.base import Tokenizer, VocabularyTokenizer
from service.types import Edge

EDGES: tuple[Edge, ...] = ("open", "inside", "end")


@dataclass(frozen=True, slots=True)
class GoldenAnswers:
    """`counts` has a list an edge. A tokenizer without ids has no `digests`, and its answers are of no fixed data
    (`fingerprint` is ""): its two engines share a vocabulary that is stored in two forms."""

    fingerprint: str
    confirmed_by: str
    counts: dict[Edge, list[int]]
    digests: list[str]


@cache
def load_golden_file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((files("service.tokenizers") / "golden.json").read_bytes())
    open_models = json.loads((files("service.tokenizers") / "golden_open.json").read_bytes())
    return {"texts": content["texts"], "answers": content["answers"] | open_models}


def load_golden_texts() -> list[str]:
    return [row["text"] * row.get("times", 1) for row in load_golden_file()["texts"]]


def find_golden_answers(name: str) -> GoldenAnswers | None:
    row = load_golden_file()["answers"].get(name)
    return None if row is None else GoldenAnswers(**row)


def digest_ids(ids: list[int]) -> str:
    """16 hex digits that identify a list of ids."""
    return blake2b(array("Q", ids).tobytes(), digest_size=8).hexdigest()


def compute_answers(tokenizer: Tokenizer, texts: list[str], confirmed_by: str) -> GoldenAnswers:
    """The answers of `tokenizer`, in the form that is committed."""
    if isinstance(tokenizer, VocabularyTokenizer):
        all_ids = [tokenizer.encode(text) for text in texts]
        return GoldenAnswers(
            tokenizer.fingerprint, confirmed_by, {"open": [len(ids) for ids in all_ids]}, list(map(digest_ids, all_ids))
        )
    counts = {edge: tokenizer.count_batch(texts, edge) for edge in EDGES}
    return GoldenAnswers("", confirmed_by, counts, [])


def find_golden_mismatch(tokenizer: Tokenizer) -> str | None:
    """The first difference between `tokenizer` and the golden answers, as a short reason without any text. None where
    there is no difference, and where there are no golden answers."""
    expected = find_golden_answers(tokenizer.name)
    if expected is None:
        return None
    if expected.fingerprint not in ("", tokenizer.fingerprint):
        return f"golden answers are of revision {expected.fingerprint}, the data is {tokenizer.fingerprint}"
    found = compute_answers(tokenizer, load_golden_texts(), expected.confirmed_by)
    for edge, counts in expected.counts.items():
        for number, (wanted, got) in enumerate(zip(counts, found.counts[edge], strict=True)):
            if wanted != got:
                return f"golden text {number} ({edge}) has {got} tokens instead of {wanted}"
    for number, (digest, other) in enumerate(zip(expected.digests, found.digests, strict=True)):
        if digest != other:
            return f"golden text {number} has other ids"
    return None
