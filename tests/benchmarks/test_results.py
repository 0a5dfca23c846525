"""RESULTS.md keeps the sections that were not measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.__main__ import PARTS
from benchmarks.figures import MARKERS, UNKNOWN, write_figures
from tests.support import markdown


def test_a_section_takes_the_place_of_its_older_self_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "FILE", tmp_path / "RESULTS.md")
    monkeypatch.setattr(results, "write_figures", lambda _: None)
    titles = list(PARTS.values())
    for title in titles:
        results.write_section(title, f"{title}: first\n")
    for title in titles:
        results.write_section(title, f"{title}: again")
        text = results.FILE.read_text("utf-8")
        assert [section.title for section in markdown.sections(text)[1:]] == titles
    assert [block.content for block in markdown.blocks(text)] == [f"{title}: again\n" for title in titles]


def test_the_guide_quotes_what_was_printed(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text(f"before\n{MARKERS[0]}old\n{MARKERS[1]}after\n")
    lines = "memory, workers: 10   3 MiB\nmemory, workers: 1    1,087 MiB, (in each: 114)\n"
    write_figures(f"\n## What an instance needs\n\n{lines}", guide)
    text = guide.read_text()
    assert text.startswith(f"before\n{MARKERS[0]}| what |")
    assert text.endswith(f"{MARKERS[1]}after\n")
    assert "| 1,087 MiB | `make bench PARTS=sizing` | `memory, workers: 1` |" in text
    assert f"| {UNKNOWN} | `make bench PARTS=sizing` | `each more worker` |" in text
    assert "old" not in text


def test_a_guide_without_its_marks_is_left_alone(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text("before\n")
    with pytest.raises(ValueError, match="marks"):
        write_figures("", guide)
    assert guide.read_text() == "before\n"
