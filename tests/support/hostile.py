"""Texts that have killed, hung or slowed down tokenizers, by name. Each generator takes a size in UTF-8 bytes."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit.encode()))


def _mixed(units: str | list[str]) -> Callable[[int], str]:
    def text(size: int) -> str:
        chosen = random.Random(7).choices(units, k=size)
        width = sum(len(unit.encode()) for unit in chosen[:2_000]) / 2_000
        return "".join(chosen[:int(size / width)])
    return text


def _base64(size: int) -> str:
    return base64.b64encode(random.Random(7).randbytes(size * 3 // 4)).decode()


HOSTILE: dict[str, Callable[[int], str]] = {
    "letters": _repeated("a"),
    "spaces": _repeated(" "),
    "tabs": _repeated("\t"),
    "newlines": _repeated("\n"),
    "equals signs": _repeated("="),
    "emoji": _repeated("🙂"),
    "ideographs": _repeated("中"),
    "mixed blanks": _mixed([" ", "\t", "\n", "\r\n", "  ", "    ", "\u3000", "\u00a0", "\u2028"]),
    "spaces and newlines": _repeated("\n "),
    "combining marks": _mixed([chr(code) for code in range(0x300, 0x370)]),
    "one base, many marks": lambda size: "e" + "\u0301" * (size // 2),
    "base64": _base64,
    "two letters": _mixed("ab"),
    "random scalars": _mixed([chr(code) for code in range(0x20, 0xD7FF, 7)]),
    "NUL": _repeated("\0"),
}
