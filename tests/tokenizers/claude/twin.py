"""The slow, obvious twin of the Claude tokenizers: one whole text, no units, no cuts, no memory.

It writes the marked stream of the text from left to right, run by run, and then tiles all of it at once over a plain
set of pieces. It reads the same frozen tables as the service, so it holds on every Python, unlike ctok.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from service.tokenizers.claude import tables
from service.tokenizers.claude.normalize import normalize

BOW, EOW, SHIFT, CAPS = tables.BOW, tables.EOW, tables.SHIFT, tables.CAPS
GROUPS = {"W": "word", "M": "word", "D": "digits", "A": "digits", "P": "punctuation", "S": "blanks",
          "L": "letters", "N": "numbers", "Q": "symbols"}  # V rides on what is before it
HARD = ("letters", "numbers", "symbols")


@dataclass
class Run:
    group: str
    text: str


def split(text: str) -> list[Run]:
    """Runs of one group; marks that no word carries are runs of their own, `stray marks`."""
    runs: list[Run] = []
    for char in text:
        kind = tables.characters().kind(char)
        last = runs[-1].group if runs else ""
        if kind == "V":
            group = last if last in HARD else "letters"
        elif kind == "M" and last != "word":
            group = "stray marks"
        else:
            group = GROUPS[kind]
        if group == last:
            runs[-1].text += char
        else:
            runs.append(Run(group, char))
    return runs


def is_marked_number(run: Run) -> bool:
    """Digits and numbers take borders when they are all decimal or all not."""
    chars = tables.characters()
    if run.group == "digits":
        return True
    return (run.group == "numbers" and not any(chars.kind(c) == "V" for c in run.text)
            and len({chars.is_decimal(c) for c in run.text}) == 1)


def borders(run: Run) -> tuple[bool, bool]:
    """Whether the run takes ⟨bow⟩ beside a space on its left, and ⟨eow⟩ on its right."""
    chars = tables.characters()
    kinds = [chars.kind(char) for char in run.text]
    if run.group == "punctuation":
        return True, True
    if is_marked_number(run):
        return kinds[0] != "D", kinds[-1] != "D"
    if run.group in HARD:
        return kinds[0] in "QV", kinds[-1] in "QV"
    return False, False


def seals(run: Run) -> bool:
    """Whether the run keeps an apostrophe after it from joining a contraction."""
    chars = tables.characters()
    if run.group in ("word", "stray marks"):
        return chars.seals(run.text[-1])
    return borders(run)[1]


@cache
def lower() -> dict[int, str]:
    return tables.characters().lower()


def mark_word(word: str, family: tables.Family) -> str:
    case = [tables.characters().case(char) for char in word]
    lowered = "".join(lower().get(ord(char), char) for char in word)
    if "ẞ" in word:
        return BOW + word + EOW
    capitals = "upper" in case and "lower" not in case and "caseless" not in case and "İ" not in word
    if capitals and 0 < family.caps_from <= len(word):
        return CAPS + BOW + lowered + EOW
    others = [c for char, c in zip(word, case, strict=True) if char != "İ"]
    if word[0] != "İ" and case[0] == "upper" and others.count("upper") == 1:
        return SHIFT + BOW + lowered + EOW
    return BOW + word + EOW


def stream(text: str, family: tables.Family) -> str:
    """The marked stream of a normalized text without its last newlines."""
    runs = split(text)
    out = []
    for i, run in enumerate(runs):
        before, after = (runs[i - 1] if i else None), (runs[i + 1] if i + 1 < len(runs) else None)
        space_left = before.text[-1] == " " if before else family.frame_bow
        space_right = after is not None and after.text[0] == " " and after.text[:2] != "  "
        opens_word = run.text == "'" and after is not None and after.group in ("word", "stray marks")
        if i == 0 and family.frame_bow:
            owns = run.group in ("word", "stray marks") or run.text[0] == " " or (borders(run)[0] and not opens_word)
            out.append("" if owns else " " if opens_word else BOW)
        if run.group == "stray marks":
            out.append(BOW + run.text + ("" if after and after.group == "word" else EOW))
        elif run.group == "word" and before and before.group == "stray marks":
            out.append(run.text + EOW)
        elif run.group == "word":
            joined = (before is not None and before.text == "'" and (i < 2 or not seals(runs[i - 2]))
                      and run.text in ("s", "t", "d", "m", "ll", "re", "ve"))
            out.append(run.text + EOW if joined else mark_word(run.text, family))
        else:
            takes_bow, takes_eow = borders(run)
            bow = BOW if takes_bow and space_left and not opens_word else ""
            out.append(bow + run.text + (EOW if takes_eow and space_right else ""))
    return re.sub(f"{EOW} (?=[{SHIFT}{CAPS}]*{BOW})", EOW, "".join(out))


@cache
def pieces(name: str) -> frozenset[str]:
    """Every piece of two or more characters of a vocabulary, read back out of its double array."""
    words = tables.vocabulary(name)
    children = defaultdict(list)
    for at, cell in enumerate(words.cells):
        children[at - (cell & 0xFFF)].append(cell)
    found, stack = set(), [("", words.root)]
    while stack:
        tail, base = stack.pop()
        for cell in children[base]:
            if cell:
                piece = words.symbols[(cell & 0xFFF) - 1] + tail
                stack.append((piece, cell >> 13))
                if cell & 0x1000:
                    found.add(piece)
    return frozenset(found)


@cache
def pieces_with_blanks(name: str) -> frozenset[str]:
    blanks = {blank * n for blank in " \t" for n in range(2, 17)}
    return pieces(name) | blanks | {"\n" * n for n in tables.vocabulary(name).newlines if n > 1}


@cache
def lengths(name: str) -> dict[str, list[int]]:
    """Last character -> lengths of the pieces that end in it."""
    found = defaultdict(set)
    for piece in pieces_with_blanks(name):
        found[piece[-1]].add(len(piece))
    return {char: sorted(some) for char, some in found.items()}


def tile(text: str, name: str) -> int:
    """Fewest pieces that spell the stream; a character without a piece costs its floor."""
    vocabulary, known, lengths_by_end = tables.vocabulary(name), pieces_with_blanks(name), lengths(name)
    best = [0]
    for end in range(1, len(text) + 1):
        least = best[end - 1] + vocabulary.floor(text[end - 1])
        for length in lengths_by_end.get(text[end - 1], ()):
            if length <= end and text[end - length : end] in known:
                least = min(least, best[end - length] + 1)
        best.append(least)
    return best[-1]


def count(text: str, family: tables.Family) -> int:
    """What `ClaudeTokenizer.count(text, "open")` must say."""
    if not text:
        return 0
    normal = normalize(text, family.fold_quotes)
    body = normal.rstrip("\n")
    newlines = len(normal) - len(body)
    tail = tile("\n" * (newlines + 2), family.vocabulary) - 1 if newlines else 0
    if family.frame_bow and text.startswith(" ") and body.startswith(" ") and not body.startswith("  "):
        body = body[1:]
    marked = stream(body, family) if body else BOW * family.frame_bow
    return tile(marked, family.vocabulary) + tail
