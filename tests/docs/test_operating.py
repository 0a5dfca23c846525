"""The operating guide speaks of what is there: settings, metrics, codes, messages, and figures that were printed."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.__main__ import PARTS
from benchmarks.figures import FIGURES, UNKNOWN, table
from service.metrics import Metrics, error_codes
from service.settings import Settings
from tests import markdown
from tests.live import ROOT

GUIDE = markdown.read(ROOT / "docs" / "operating.md")

SECTIONS = {section.title: section for section in markdown.sections(GUIDE)}

def test_every_setting_has_a_purpose() -> None:
    rows = SECTIONS["Settings by purpose"].rows
    named = [name for _, settings, _ in rows for name in re.findall(r"TALLYSTICK_(\w+)", settings)]
    assert sorted(named) == sorted(name.upper() for name in Settings.model_fields)


def test_a_metric_is_one() -> None:
    metrics = Metrics()
    metrics.sample()
    families = list(metrics.registry.collect())
    exported = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    named = set(re.findall(r"`((?:tallystick|process)_\w+)`", GUIDE))
    assert len(named) >= 10
    assert named <= exported


def test_a_code_is_one() -> None:
    rows = SECTIONS["When something is wrong"].rows
    named = {code for symptom, *_ in rows for code in re.findall(r"\b[45]\d\d `(\w+)`", symptom)}
    assert len(named) >= 8
    assert named <= error_codes()


def test_a_message_is_written_somewhere_in_the_source() -> None:
    source = "\n".join(file.read_text("utf-8") for file in sorted((ROOT / "service").rglob("*.py")))
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # strings over several lines
    rows = SECTIONS["When something is wrong"].rows[1:]
    for symptom, *_ in rows:
        for words in markdown.spans(symptom):
            assert words.strip("/") in source, words


def test_figures_are_those_that_were_printed_last() -> None:
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
    lines = "".join(table(results))
    assert lines in (ROOT / "docs" / "operating.md").read_text("utf-8")
    assert UNKNOWN not in lines
    assert {(figure.part, figure.title) for figure in FIGURES} <= PARTS.items()


def test_files_that_it_names_are_there() -> None:
    named = set(re.findall(r"(?:service|scripts|requirements|tokenizers_data)/[\w./]+\.\w+", GUIDE))
    modules = {name.replace(".", "/") + ".py" for name in re.findall(r"python -m (scripts\.\w+)", GUIDE)}
    assert len(named) >= 5
    for name in named | modules:
        assert Path(ROOT, name).exists(), name
