"""The units of a text and their marked form: the rules of the stream, one unit at a time.

A unit is what one match of `unit_pattern` takes: a word with the single space after it, a punctuation run with the
single space after it, an apostrophe with its word, blanks, up to three digits, one lone character, or a stretch of
symbols and numbers. Its marked form depends on nothing but the unit and on which of four contexts stands on its left,
so its price may be remembered (the package's docstring says why this is exact).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from service.tokenizers.claude.tables import BOW, CAPS, EOW, SHIFT, Characters, Family, characters

NO_SPACE, SPACE, OPTIONAL_SPACE, FRAME = range(4)
"""What stands on the left of a unit: no space; a space that is counted; a space after ⟨eow⟩ that is counted only if
the unit does not begin with ⟨bow⟩; the frame's ⟨bow⟩."""

CONTRACTIONS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})


@dataclass(frozen=True, slots=True)
class Marked:
    """A unit as it is tiled.

    `body` is the text with its markers, but without the ⟨bow⟩ that only a space or the frame gives. `opening` says
    what happens on the left: `word` the body brings its own ⟨bow⟩; `border` it takes one from a space or the frame;
    `bare` it takes none, so the frame's stands before it; `quote` none, and the frame's becomes a space; `blank` none
    is needed. `right` is the context of the next unit; with SPACE or NO_SPACE the body holds all that counts.
    """

    body: str
    opening: str
    right: int


@cache
def unit_pattern() -> re.Pattern[str]:
    """Matches the units of a normalized text, one after the other, leaving nothing out."""
    table = characters()
    word, mark, punctuation, number = (table.charset(kind) for kind in "WMPN")
    letters, exotic, stretch = table.charset("WM"), table.charset("QNVA"), table.charset("PQNVA")
    one_space = "(?: (?! ))?+"
    return re.compile(
        "|".join(
            (
                rf"[{word}][{letters}]*+{one_space}",
                rf"(?<![{table.sealing_charset()}])'[{letters}]++{one_space}",
                rf"[{punctuation}]++{one_space}",
                r"[ \t\n\u3000]++",
                r"[0-9]{1,3}+",
                rf"[{table.charset('L')}]",
                rf"[{exotic}][{stretch}]*+(?:(?<=[{number}]')[{letters}]++)?+{one_space}",
                rf"[{mark}]++(?:[{word}][{letters}]*+)?+{one_space}",
            )
        )
    )


class Marker:
    """Marks the units of one family."""

    def __init__(self, family: Family) -> None:
        self._characters: Characters = characters()
        self._lower = self._characters.lower()
        self._caps_from = family.caps_from

    def mark(self, unit: str) -> Marked:
        """The marked form of one match of `unit_pattern`."""
        kind = self._characters.kind(unit[0])
        if kind == "S":
            return Marked(unit, "blank" if unit[0] == " " else "bare", SPACE if unit[-1] == " " else NO_SPACE)
        if kind in "DL":
            return Marked(unit, "bare", NO_SPACE)
        text, spaced = (unit[:-1], True) if unit[-1] == " " else (unit, False)
        if kind == "W":
            return Marked(self.word(text), "word", OPTIONAL_SPACE if spaced else NO_SPACE)
        if kind == "M":
            return Marked(BOW + text + EOW, "word", OPTIONAL_SPACE if spaced else NO_SPACE)
        return self._stretch(text, spaced)

    def word(self, word: str) -> str:
        """A word between its ⟨bow⟩ and ⟨eow⟩, lowered behind a case marker where the whole word is of one case."""
        lowered = word.translate(self._lower)
        if lowered != word and "ẞ" not in word:
            case = [self._characters.case(char) for char in word]
            uppers = case.count("upper")
            if "İ" in word:  # transparent to the title case, literal in the body, and never all capitals
                if case[0] == "upper" and word[0] != "İ" and uppers == 1 + word.count("İ"):
                    return SHIFT + BOW + lowered + EOW
            elif self._is_all_capitals(case):
                return CAPS + BOW + lowered + EOW
            elif case[0] == "upper" and uppers == 1:
                return SHIFT + BOW + lowered + EOW
        return BOW + word + EOW

    def _is_all_capitals(self, case: list[str]) -> bool:
        return 0 < self._caps_from <= len(case) and "upper" in case and "lower" not in case and "caseless" not in case

    def _stretch(self, text: str, spaced: bool) -> Marked:
        """Punctuation, symbols, numbers: marked only beside a space. Perhaps an apostrophe and a word at the end."""
        kinds = [self._characters.kind(char) for char in text]
        end = next((i for i, kind in enumerate(kinds) if kind in "WM"), len(text))
        stretch, word = text[:end], text[end:]
        opening = "border" if self._takes_bow(text, kinds) else "bare"
        if word:
            opening = "quote" if stretch == "'" else opening
            body = self._apostrophe(stretch, kinds[:end], word)
            return Marked(body, opening, OPTIONAL_SPACE if spaced else NO_SPACE)
        if not spaced:
            return Marked(text, opening, NO_SPACE)
        if self._takes_eow(text, kinds):
            return Marked(text + EOW, opening, OPTIONAL_SPACE)
        return Marked(text + " ", opening, SPACE)

    def _apostrophe(self, stretch: str, kinds: list[str], word: str) -> str:
        """A stretch that ends in a lone apostrophe, and its word, which takes no ⟨bow⟩ as a contraction."""
        joins = len(stretch) == 1 or not self._takes_eow(stretch[:-1], kinds[:-1])
        if word in CONTRACTIONS and joins:
            return stretch + word + EOW
        if self._characters.kind(word[0]) == "M":
            return stretch + BOW + word + EOW
        return stretch + self.word(word)

    def _takes_bow(self, text: str, kinds: list[str]) -> bool:
        if kinds[0] != "N":
            return True
        end = next((i for i, kind in enumerate(kinds) if kind not in "NV"), len(kinds))
        return self._is_uniform(text[:end], kinds[:end])

    def _takes_eow(self, text: str, kinds: list[str]) -> bool:
        if kinds[-1] != "N":
            return True
        start = len(kinds)
        while start and kinds[start - 1] in "NV":
            start -= 1
        while kinds[start] == "V":  # a selector rides on what is before it, or stands alone, but begins no number run
            start += 1
        return self._is_uniform(text[start:], kinds[start:])

    def _is_uniform(self, text: str, kinds: list[str]) -> bool:
        """Whether a number run is all decimal digits or all other numbers, with no selector in it."""
        first = self._characters.is_decimal(text[0])
        return "V" not in kinds and all(self._characters.is_decimal(char) == first for char in text)
