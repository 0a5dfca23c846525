"""How far a count can be trusted: exact, calibrated or an estimate, with its error band.

A class of requests is (rule set, main feature). `make accuracy` measures each class on recorded requests whose bill is
known, and writes the table accuracy_classes.json. The table is committed; nobody edits it by hand. This module reads
it. docs/accuracy.md shows what was measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from service.types import Doubt, Feature, Method, Uncounted

ESTIMATE_LOW, ESTIMATE_HIGH = -0.05, 0.15
"""The narrowest band of an estimate, relative. It leans upwards, since an exceeded budget costs more than an
unused one."""

TABLE_FILE = "accuracy_classes.json"


@dataclass(frozen=True, slots=True)
class Trust:
    """A method and its relative band. The bill is expected from counted x (1 + low) to counted x (1 + high)."""

    method: Method
    low: float = 0.0
    high: float = 0.0


EXACT = Trust("exact")
ESTIMATE = Trust("estimate", ESTIMATE_LOW, ESTIMATE_HIGH)


@lru_cache(maxsize=1)
def read_class_table() -> Mapping[tuple[str, str], Trust]:
    """(rule set, feature) -> Trust, as measured. For bare texts the key is (tokenizer name, "content")."""
    rows = json.loads(resources.files("service.counting").joinpath(TABLE_FILE).read_text("utf-8"))["classes"]
    return {(row["rules"], row["feature"]): Trust(row["method"], row["low"], row["high"]) for row in rows}


def find_trust(rules: str, feature: Feature) -> Trust:
    """The measured trust of a class. A class that was not measured is an estimate."""
    return read_class_table().get((rules, feature), ESTIMATE)


def find_text_trust(tokenizer: str) -> Trust:
    """The trust in the count of a bare text. Published vocabularies are exact, reconstructed ones as measured."""
    return read_class_table().get((tokenizer, "content"), EXACT)


def weaken(trust: Trust, *, foreign: bool = False, guessed: bool = False) -> Trust:
    """Less trust when the class was not measured on quite this.

    `foreign`: the body came in another provider's dialect. Exact becomes calibrated. `guessed`: the tokenizer or the
    rules of the model are inferred. The count is an estimate then.
    """
    if guessed:
        return Trust("estimate", min(trust.low, ESTIMATE_LOW), max(trust.high, ESTIMATE_HIGH))
    if foreign and trust.method == "exact":
        return Trust("calibrated", trust.low, max(trust.high, 0.01))
    return trust


def band(
    tokens: int, trust: Trust, doubts: Iterable[Doubt] = (), uncounted: Iterable[Uncounted] = ()
) -> tuple[Method, int, int]:
    """(method, low, high) of a count. The band is in tokens, rounded outwards, never below 0.

    A doubt widens the band by its own range and makes an exact count calibrated. Anything uncounted makes the count an
    estimate: of the tokens assumed for it, the bill may have none, or half as many more.
    """
    method = trust.method
    low, high = math.floor(tokens * (1 + trust.low)), math.ceil(tokens * (1 + trust.high))
    for doubt in doubts:
        low, high = low + doubt.low, high + doubt.high
        method = "calibrated" if method == "exact" else method
    assumed = [item.assumed_tokens for item in uncounted]
    if assumed:
        method = "estimate"
        low = min(low - sum(assumed), math.floor(tokens * (1 + ESTIMATE_LOW)))
        high = max(high + math.ceil(sum(assumed) / 2), math.ceil(tokens * (1 + ESTIMATE_HIGH)))
    return method, max(0, min(low, tokens)), max(high, tokens)
