"""The facts that counting unit by unit depends on, asserted over every piece of a vocabulary.

The counter cuts a text where no piece can span the cut (`service/tokenizers/claude/__init__.py` lists the facts). A
new vocabulary that breaks one stops here, loudly, and never reaches a count.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Sequence

from ctok.constants import BOW_G, CAPS_G, DIGIT, EOW_G, PUNCT, SHIFT_G, SPACE, WORDY

rules = importlib.import_module("ctok.normalize")  # `ctok.normalize` names a function, too

KERNEL_RING = 256
"""How far back kernel.c looks: pieces must be shorter."""


class BrokenFact(AssertionError):
    """A vocabulary piece or a character that the decomposition does not allow for."""


def fact(holds: bool, what: str, where: str) -> None:
    if not holds:
        raise BrokenFact(f"{what}: {where!a}")


def classify(char: str) -> str:
    """One of KINDS (see `tables.Characters`). Astral characters are all lone: asserted in `check_astral`."""
    if ord(char) > 0xFFFF or 0xD800 <= ord(char) <= 0xDFFF:
        return "L"
    cls = rules.classify(char)
    if cls == SPACE:
        return "S"
    if cls == WORDY:
        return "M" if rules._stray_mark(char) else "W"
    if cls == DIGIT:
        return "D" if char.isascii() else "A"
    if cls == PUNCT:
        return "P"
    if rules._is_selector(char):
        return "V"
    return {"letter": "L", "number": "N", "punct": "Q"}[rules._hard_kind(char)]


def check_facts(pieces: Iterable[str]) -> None:
    """Assert the facts that every cut depends on (listed in `service/tokenizers/claude/__init__.py`)."""
    pieces = frozenset(pieces)
    for piece in pieces:
        for left, right in itertools.pairwise(piece):
            check_pair(left, right, piece)
    digits = {str(n).zfill(width) for width in (1, 2, 3) for n in range(10**width)}
    fact(digits == {p for p in pieces if p.isascii() and p.isdigit()}, "digit pieces are all of one to three", "")
    for blank in " \t":
        lengths = {len(p) for p in pieces if set(p) == {blank}}
        fact(lengths == set(range(1, 17)), "blank pieces are one to sixteen long", blank)
    fact(max(map(len, pieces)) < KERNEL_RING - 1, "pieces fit in the ring of kernel.c", "")
    fact("\u3000" in pieces and "\n" in pieces, "U+3000 and the newline are pieces", "")


def check_pair(left: str, right: str, piece: str) -> None:
    fact(left != EOW_G, "nothing follows <eow>", piece)
    fact(right not in (SHIFT_G, CAPS_G), "nothing precedes a case marker", piece)
    if right == BOW_G:
        fact(left in (SHIFT_G, CAPS_G), "only a case marker precedes <bow>", piece)
    elif left in (SHIFT_G, CAPS_G):
        fact(False, "only <bow> follows a case marker", piece)
    elif left == BOW_G:
        fact(classify(right) in "WMPQN" and right != EOW_G, "<bow> opens words, punctuation and numbers", piece)
    elif right == EOW_G:
        fact(classify(left) in "WMPQN", "<eow> closes words, punctuation and numbers", piece)
    else:
        check_kinds(left, right, piece)


def check_kinds(left: str, right: str, piece: str) -> None:
    a, b = classify(left), classify(right)
    if a in "WM":
        fact(b in "WM", "a word joins only itself", piece)
    elif a == "P":
        contraction = b == "W" and left == "'" == piece[0]
        fact(b == "P" or contraction, "punctuation joins punctuation and contraction suffixes", piece)
    elif a in "QN":
        fact(b in "PQN", "symbols and numbers join punctuation, symbols and numbers", piece)
    elif a == "D":
        fact(b == "D", "ASCII digits join only themselves", piece)
    elif a == "S":
        fact(left == right, "a blank piece repeats one character", piece)
    else:
        fact(False, "selectors, Arabic-Indic digits and lone letters join nothing", piece)


def run_lengths(pieces: Iterable[str], char: str) -> list[int]:
    return sorted({len(piece) for piece in pieces if set(piece) == {char}})


def periodic_from(lengths: Sequence[int]) -> int:
    """From which run length on one more longest piece costs exactly one more token.

    Found by computing costs up to the square of the longest length; beyond it the coin argument holds (any
    `longest` shorter coins contain a subset that sums to a multiple of it).
    """
    longest = lengths[-1]
    costs = [0]
    for n in range(1, longest * longest + 2 * longest):
        costs.append(1 + min(costs[n - k] for k in lengths if k <= n))
    return max((n + 1 for n in range(len(costs) - longest) if costs[n + longest] != costs[n] + 1), default=0)


def long_runs(pieces: Iterable[str]) -> dict[str, list[int]]:
    """Characters with pieces of eight or more repeats: [longest, periodic_from]."""
    pieces = frozenset(pieces)
    runs = {}
    for char in sorted({p[0] for p in pieces if len(p) >= 8 and len(set(p)) == 1 and p[0] not in " \t"}):
        lengths = run_lengths(pieces, char)
        fact(lengths[0] == 1, "a repeated character is a piece by itself", char)
        inner = max(longest_run(piece, char) for piece in pieces)
        fact(inner == lengths[-1], "no piece holds a longer run than the piece of the run alone", char)
        runs[char] = [lengths[-1], periodic_from(lengths)]
    return runs


def longest_run(piece: str, char: str) -> int:
    return max((len(list(run)) for key, run in itertools.groupby(piece) if key == char), default=0)
