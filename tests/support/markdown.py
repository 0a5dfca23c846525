"""Reads Markdown files for tests: headings, code, tables, links. It knows as much of the format as our files use."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GENERATED = re.compile(r"<!-- (\w+): written by .*? -->\n.*?<!-- end of \1 -->\n", re.DOTALL)
"""A part of a file that a script writes, between two markers."""

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]*)`")
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\|(.*)\|$", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


@dataclass(frozen=True)
class Block:
    """A fenced code block. `language` is the word after the opening fence."""

    language: str
    content: str


@dataclass(frozen=True)
class Example:
    """A command and its output, which is empty when the page does not show it."""

    command: str
    output: str


@dataclass(frozen=True)
class Section:
    """The text below a heading, up to the next one. `prose` is the text without code blocks and tables."""

    level: int
    title: str
    prose: str
    rows: tuple[tuple[str, ...], ...]
    """The rows of its tables, each a tuple of cells, without the lines that separate headings from rows."""


def read(path: Path) -> str:
    """The text of a file without the parts that scripts write."""
    return GENERATED.sub("", path.read_text("utf-8"))


def blocks(text: str) -> list[Block]:
    return [Block(*match) for match in _FENCED.findall(text)]


def examples(text: str) -> list[Example]:
    """The commands of all `console` blocks, in order."""
    return [example for block in blocks(text) if block.language == "console" for example in _examples(block.content)]


def _examples(content: str) -> Iterator[Example]:
    """A command begins with `$ `. It continues while a quotation is open or a line ends with a backslash."""
    lines = content.splitlines(keepends=True)
    while lines:
        command = lines.pop(0).removeprefix("$ ")
        while not _is_whole(command):
            command += lines.pop(0)
        end = next((i for i, line in enumerate(lines) if line.startswith("$ ")), len(lines))
        output, lines = "".join(lines[:end]), lines[end:]
        yield Example(command.rstrip("\n"), output)


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:  # an open quotation
        return False
    return not command.endswith("\\\n")


def sections(text: str) -> list[Section]:
    plain = _FENCED.sub("", text)
    headings = list(_HEADING.finditer(plain))
    ends = [*(heading.start() for heading in headings[1:]), len(plain)]
    found = []
    for heading, end in zip(headings, ends, strict=True):
        body = plain[heading.end() : end]
        found.append(Section(len(heading[1]), heading[2], _ROW.sub("", body), tuple(rows(body))))
    return found


def rows(text: str) -> list[tuple[str, ...]]:
    """The rows of all tables in `text`, headings included. An escaped bar does not end a cell."""
    cells = [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)) for line in _ROW.findall(text)]
    return [row for row in cells if set("".join(row)) != {"-"}]


def spans(text: str) -> list[str]:
    """Inline code."""
    return _SPAN.findall(_FENCED.sub("", text))


def numbers(text: str) -> list[str]:
    """Numbers in digits, outside code."""
    return _NUMBER.findall(_SPAN.sub("", _LINK.sub("", text)))


def links(text: str) -> list[str]:
    """The targets of its links, outside code."""
    return _LINK.findall(_SPAN.sub("", _FENCED.sub("", text)))


def items(text: str) -> int:
    """The number of paragraphs and list items of `text`."""
    parts = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    return sum(max(1, len(re.findall("^- ", part, re.MULTILINE))) for part in parts)


def anchors(text: str) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    found: dict[str, int] = {}
    names = set()
    for section in sections(text):
        title = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", section.title)
        name = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names
