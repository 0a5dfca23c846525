"""Every link in the documents leads somewhere, and what they name is there: make targets, commands, settings."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from service.cli.main import make_parser
from service.settings import Settings
from tests.support import markdown
from tests.support.live import ROOT

FOLDERS = ("docs", "deploy", "examples", "benchmarks", "tokenizers_data")

DOCUMENTS = sorted(
    {*ROOT.glob("*.md"), *(file for folder in FOLDERS for file in (ROOT / folder).glob("**/[!.]*.md"))}
    - {*ROOT.glob("*/.*/**/*.md")}
)

NOT_SETTINGS = {"TALLYSTICK_NO_SKIPS"}
"""Of the tests' own."""


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def code_of(text: str) -> str:
    """All code of a document, that within lines and that in blocks."""
    return "\n".join([*markdown.spans(text), *(block.content for block in markdown.blocks(text))])


def test_the_documents_are_there() -> None:
    assert {"README.md", "CHANGELOG.md", "docs/operating.md", "docs/ko/README.md"} <= set(map(name_of, DOCUMENTS))


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_a_link_leads_to_a_file_and_a_heading(file: Path) -> None:
    for link in markdown.links(file.read_text("utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in markdown.anchors(target.read_text("utf-8")), link


def makefile_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_a_make_target_is_one(file: Path) -> None:
    """A command is code that begins with it, or follows another one: `make` is an English word, too."""
    named = re.findall(r"(?:^|\n|; |&& |\$ )(?:[A-Z_]+=\S+ )*make ([a-z][\w-]*)", code_of(file.read_text("utf-8")))
    assert set(named) <= makefile_targets()


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {
        name: child
        for action in parser._actions if isinstance(action, argparse._SubParsersAction)
        for name, child in action.choices.items()
    }


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_a_command_has_the_subcommand_and_the_options(file: Path) -> None:
    commands = subcommands(make_parser())
    assert {"serve", "count", "verify-data", "keys"} <= set(commands)
    for line in re.findall(r"(?:^|[\s/(])tallystick ([a-z][^\n#|&;>]*)", code_of(file.read_text("utf-8"))):
        word, *rest = line.split()
        if not re.fullmatch(r"[a-z-]+", word):
            continue
        assert word in commands, line
        parser, nested = commands[word], subcommands(commands[word])
        if nested and rest and re.fullmatch(r"[a-z]+", rest[0]):
            assert rest[0] in nested, line
            parser = nested[rest[0]]
        known = {option for one in (parser, *nested.values()) for action in one._actions
                 for option in action.option_strings}
        assert set(re.findall(r"(?<!\S)\[?(--[a-z-]+)", line)) <= known, line


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_a_variable_is_a_setting(file: Path) -> None:
    named = set(re.findall(r"TALLYSTICK_[A-Z_]*[A-Z]", file.read_text("utf-8"))) - NOT_SETTINGS
    assert named <= {f"TALLYSTICK_{name.upper()}" for name in Settings.model_fields}
