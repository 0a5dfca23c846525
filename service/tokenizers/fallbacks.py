"""Texts that the fast engine would be slow or wrong on, and the way round for each vocabulary."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from service.tokenizers.splitting import cut_ascii_apart, cut_blank_runs


@dataclass(frozen=True, slots=True)
class Detours:
    """`cut` splits a long text into parts that tokenize separately, where the engine would be slow on the whole; a
    text in which `strays` is found goes to the reference."""

    cut: Callable[[str], list[str]] | None = None
    strays: Callable[[str], bool] | None = None


_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def nfkc_strays(last: int = 0x10FFFF) -> re.Pattern[str]:
    """Matches a code point, up to `last`, that the two engines normalize differently; made by
    `scripts/make_nfkc_differences.py`."""
    ranges = json.loads((files("service.tokenizers") / "nfkc_differences.json").read_bytes())
    return re.compile("[" + "".join(f"{chr(start)}-{chr(end)}" for start, end in ranges if end <= last) + "]")


def finder_of_strays() -> Callable[[str], bool]:
    """Whether a text has one. Python searches for a class within the BMP by a table, at 250 MB/s, and for one beyond
    it range by range, at 2 MB/s (2-core machine, 2026-11): of astral characters only the different ones are tried."""
    below, anywhere = nfkc_strays(0xFFFF).search, nfkc_strays().search

    def found(text: str) -> bool:
        if below(text):
            return True
        has_astral = len(text.encode("utf-16-le", "surrogatepass")) > 2 * len(text)
        return has_astral and anywhere("".join(set(_ASTRAL.findall(text)))) is not None

    return found


def detours_of(name: str) -> Detours:
    if name == "claude":
        return Detours(cut=cut_ascii_apart, strays=finder_of_strays())
    if name == "gemma3":
        return Detours(cut=cut_blank_runs)
    return Detours()
