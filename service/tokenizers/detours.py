"""Texts that the fast engine would be slow or wrong on, and the way round for each vocabulary."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from service.tokenizers.runs import cut_blank_runs


@dataclass(frozen=True, slots=True)
class Detours:
    """`cut` splits a long text into parts that tokenize separately, where the engine would be slow on the whole; a
    text in which `strays` is found goes to the reference."""

    cut: Callable[[str], list[str]] | None = None
    strays: re.Pattern[str] | None = None


def nfkc_strays() -> re.Pattern[str]:
    """Matches a code point that the two engines normalise differently; made by `scripts/make_nfkc_strays.py`."""
    ranges = json.loads((files("service.tokenizers") / "nfkc_strays.json").read_bytes())
    return re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges) + "]")


def detours_of(name: str) -> Detours:
    if name == "claude":
        return Detours(strays=nfkc_strays())
    if name == "gemma3":
        return Detours(cut=cut_blank_runs)
    return Detours()
