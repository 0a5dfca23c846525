"""The inspecting routes as rows: path, what they take, who answers.

Examples are real exchanges, kept in inspection_examples.json; tests/api/test_inspection.py plays them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel

from service.api.routers import inspection, inspection_merges
from service.api.schemas import inspection_bodies
from service.counting.counter import Counter
from service.types import Json, Warned

EXAMPLES_FILE = "inspection_examples.json"


@dataclass(frozen=True, slots=True)
class Inspection[B: BaseModel]:
    """A route: `respond(body, warnings, counter)` is the answer to a valid body, or raises ServiceError."""

    name: str
    path: str
    summary: str
    body: type[B]
    respond: Callable[[B, tuple[Warned, ...], Counter], Json]


INSPECTIONS: tuple[Inspection[Any], ...] = (
    Inspection(
        "tokenize", "/v1/tokenize", "The tokens of a text: ids, bytes, and the characters that each holds",
        inspection_bodies.TokenizeBody, inspection.tokenize,
    ),
    Inspection(
        "detokenize", "/v1/detokenize", "The text of token ids, at once or as it would stream",
        inspection_bodies.DetokenizeBody, inspection.detokenize,
    ),
    Inspection(
        "explain", "/v1/explain", "How a text was cut: pre-tokens, bytes, and every merge in its order",
        inspection_bodies.ExplainBody, inspection_merges.explain_text,
    ),
    Inspection(
        "bpe_train", "/v1/bpe/train", "Train a byte-pair encoding on a small corpus, every step shown",
        inspection_bodies.TrainBody, inspection_merges.train_bpe,
    ),
)


@cache
def examples() -> dict[str, Any]:
    """By the name of a row: `request` and `response` of a real exchange."""
    found: dict[str, Any] = json.loads((resources.files("service.api.schemas") / EXAMPLES_FILE).read_text("utf-8"))
    return found
