"""The counts of ctok, on a Python whose Unicode data gives the same classes as the tables."""

from __future__ import annotations

import unicodedata
from functools import cache

import ctok
import pytest

from scripts.make_claude_tables import GENERATIONS, make_record
from service.tokenizers.claude import tables

ALPHANUMERIC = 0x80


@cache
def difference() -> str:
    """Why ctok may count differently here; "" where it may not."""
    frozen = tables.characters()
    here = bytes(make_record(chr(code)) for code in range(0x10000))
    if here == frozen.records:
        return ""
    return f"ctok follows Unicode {unicodedata.unidata_version} here, the tables {frozen.unicode}"


def count(name: str, text: str) -> int:
    """Content tokens of a text by itself."""
    if difference():
        pytest.skip(difference())
    version, frame = GENERATIONS[name]
    return int(ctok.token_count(text, version)) - frame if text else 0
