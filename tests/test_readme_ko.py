"""The Korean README says what the English one says: the same code, tables, names and numbers, section by section.

Its commands are those of the English one, which tests/test_readme.py runs.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.support import markdown
from tests.support.live import ROOT
from tests.support.markdown import Block, Section

ENGLISH = markdown.read(ROOT / "README.md")
KOREAN = markdown.read(ROOT / "README.ko.md")

PAIRS = list(zip(markdown.sections(ENGLISH), markdown.sections(KOREAN), strict=False))


def without_comments(block: Block) -> Block:
    """What runs of a block; a shell's or TOML's comments are translated."""
    if block.language == "console":
        return block
    return Block(block.language, re.sub(r"[ \t]*#.*$", "", block.content, flags=re.MULTILINE))


def test_both_have_the_same_code() -> None:
    english, korean = (list(map(without_comments, markdown.blocks(text))) for text in (ENGLISH, KOREAN))
    for ours, theirs in zip(english, korean, strict=False):
        assert theirs == ours
    assert len(korean) == len(english)
    assert sum(block.language == "console" for block in english) >= 10


def test_both_have_the_same_outline() -> None:
    english, korean = (markdown.sections(text) for text in (ENGLISH, KOREAN))
    assert [section.level for section in korean] == [section.level for section in english]
    assert len(english) >= 10


def test_a_code_block_is_in_the_same_section_in_both() -> None:
    def places(text: str) -> list[int]:
        headings = re.sub(r"^```.*?^```$", "CODE", text, flags=re.DOTALL | re.MULTILINE)
        outline = re.findall(r"^(#+ |CODE$)", headings, re.MULTILINE)
        return [len(mark) for mark in outline]

    assert places(KOREAN) == places(ENGLISH)


@pytest.mark.parametrize(("english", "korean"), PAIRS, ids=[english.title for english, _ in PAIRS])
def test_a_section_has_the_same_names_and_numbers(english: Section, korean: Section) -> None:
    """Korean may say a number in digits that English spells out, and name a thing twice where English says `it`."""
    assert set(markdown.spans(korean.prose)) == set(markdown.spans(english.prose))
    assert Counter(markdown.numbers(english.prose)) <= Counter(markdown.numbers(korean.prose))


@pytest.mark.parametrize(("english", "korean"), PAIRS, ids=[english.title for english, _ in PAIRS])
def test_a_section_leads_to_the_same_places_in_as_many_steps(english: Section, korean: Section) -> None:
    """Korean explains the table of accuracy, which stands in the English one alone."""
    ours, theirs = (set(markdown.links(section.prose)) - {"README.md", "README.ko.md"} for section in (english, korean))
    assert ours <= theirs
    assert markdown.items(english.prose) <= markdown.items(korean.prose)


@pytest.mark.parametrize(("english", "korean"), PAIRS, ids=[english.title for english, _ in PAIRS])
def test_a_section_has_the_same_rows(english: Section, korean: Section) -> None:
    for ours, theirs in zip(english.rows, korean.rows, strict=False):
        assert len(theirs) == len(ours), theirs
        for our, their in zip(ours, theirs, strict=True):
            assert sorted(markdown.spans(their)) == sorted(markdown.spans(our)), theirs
            assert sorted(markdown.numbers(their)) == sorted(markdown.numbers(our)), theirs
    assert len(korean.rows) == len(english.rows)


def test_it_is_korean() -> None:
    """What is translated is: every section has a heading or a text with Hangul."""
    for section in markdown.sections(KOREAN):
        assert re.search("[가-힣]", section.title + section.prose), section.title


def test_each_leads_to_the_other() -> None:
    assert "README.ko.md" in markdown.links(ENGLISH)
    assert "README.md" in markdown.links(KOREAN)
