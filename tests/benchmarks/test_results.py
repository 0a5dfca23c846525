"""RESULTS.md keeps the sections that were not measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.__main__ import PARTS
from tests import markdown


def test_a_section_takes_the_place_of_its_older_self_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "FILE", tmp_path / "RESULTS.md")
    titles = list(PARTS.values())
    for title in titles:
        results.write(title, f"{title}: first\n")
    for title in titles:
        results.write(title, f"{title}: again")
        text = results.FILE.read_text("utf-8")
        assert [section.title for section in markdown.sections(text)[1:]] == titles
    assert [block.content for block in markdown.blocks(text)] == [f"{title}: again\n" for title in titles]
