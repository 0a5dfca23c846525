"""A Korean page says what its English twin says: the same code, tables, names and numbers, section by section.

Its commands are those of the English page, which test_examples.py runs.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

import pytest

from tests.docs.pages import TWINS, path
from tests.support import markdown
from tests.support.live import ROOT
from tests.support.markdown import Block, Section

ENGLISH = {name: markdown.read(path(name)) for name in TWINS}
KOREAN = {name: markdown.read(path(twin)) for name, twin in TWINS.items()}

PAIRS = [
    pytest.param(name, english, korean, id=f"{name}: {english.title}")
    for name in TWINS
    for english, korean in zip(markdown.sections(ENGLISH[name]), markdown.sections(KOREAN[name]), strict=False)
]


def without_comments(block: Block) -> Block:
    """What runs of a block; comments of a shell and of TOML are translated."""
    if block.language == "console":
        return block
    return Block(block.language, re.sub(r"[ \t]*#.*$", "", block.content, flags=re.MULTILINE))


@pytest.mark.parametrize("name", TWINS)
def test_both_have_the_same_code(name: str) -> None:
    english, korean = (list(map(without_comments, markdown.blocks(text))) for text in (ENGLISH[name], KOREAN[name]))
    for ours, theirs in zip(english, korean, strict=False):
        assert theirs == ours
    assert len(korean) == len(english)


def test_there_is_code_to_compare() -> None:
    assert sum(len(markdown.examples(text)) for text in ENGLISH.values()) >= 25


def outline(text: str) -> list[str]:
    """The marks of headings, and a word for each block of code, in order."""
    return re.findall(r"^(#+ |CODE$)", re.sub(r"^```.*?^```$", "CODE", text, flags=re.S | re.M), re.M)


@pytest.mark.parametrize("name", TWINS)
def test_both_have_the_same_sections_with_the_same_code(name: str) -> None:
    assert outline(KOREAN[name]) == outline(ENGLISH[name])
    assert outline(ENGLISH[name])[0] == "# "


@pytest.mark.parametrize(("name", "english", "korean"), PAIRS)
def test_a_section_has_the_same_names_and_numbers(name: str, english: Section, korean: Section) -> None:
    """Korean may say a number in digits that English spells out, and name a thing twice where English says `it`."""
    assert set(markdown.spans(korean.prose)) == set(markdown.spans(english.prose)), name
    assert Counter(markdown.numbers(english.prose)) <= Counter(markdown.numbers(korean.prose)), name


def targets(text: str, page: str) -> set[str]:
    """The files that its links lead to, an English page standing for its Korean twin, too; addresses as they are."""
    english = {korean: name for name, korean in TWINS.items()}
    found = set()
    for link in markdown.links(text):
        file, _, _ = link.partition("#")
        if re.match("[a-z]+:", link):
            found.add(link)
        elif file:
            target = str((path(page).parent / file).resolve().relative_to(ROOT))
            found.add(english.get(target, target))
        else:
            found.add(english.get(page, page))
    return found


@pytest.mark.parametrize(("name", "english", "korean"), PAIRS)
def test_a_section_leads_to_the_same_places_in_as_many_steps(name: str, english: Section, korean: Section) -> None:
    """Either may lead to its twin: the table of accuracy is in the English page alone."""
    ours, theirs = targets(english.prose, name), targets(korean.prose, TWINS[name])
    assert theirs - {name} == ours - {name}, name
    assert markdown.items(english.prose) <= markdown.items(korean.prose), name


@pytest.mark.parametrize(("name", "english", "korean"), PAIRS)
def test_a_section_has_the_same_rows(name: str, english: Section, korean: Section) -> None:
    for ours, theirs in zip(english.rows, korean.rows, strict=False):
        assert len(theirs) == len(ours), theirs
        for our, their in zip(ours, theirs, strict=True):
            assert sorted(markdown.spans(their)) == sorted(markdown.spans(our)), theirs
            assert sorted(markdown.numbers(their)) == sorted(markdown.numbers(our)), theirs
            assert targets(their, TWINS[name]) == targets(our, name), theirs
    assert len(korean.rows) == len(english.rows)


@pytest.mark.parametrize("name", TWINS)
def test_it_is_korean(name: str) -> None:
    """What is translated is: every section has a heading or a text with Hangul."""
    for section in markdown.sections(KOREAN[name]):
        assert re.search("[가-힣]", section.title + section.prose), section.title


@pytest.mark.parametrize("name", TWINS)
def test_each_leads_to_the_other(name: str) -> None:
    here, there = PurePosixPath(name), PurePosixPath(TWINS[name])
    assert str(there.relative_to(here.parent)) in markdown.links(ENGLISH[name])
    assert ("../../README.md" if name == "README.md" else f"../{here.name}") in markdown.links(KOREAN[name])
