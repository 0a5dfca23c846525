"""The operating guide speaks of what is there: settings, metrics, codes, messages, and figures that were printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import PARTS
from benchmarks.figures import FIGURES, UNKNOWN, make_table
from service import __version__
from service.observability.metric_rows import error_codes
from service.observability.metrics import Metrics
from service.settings import Settings
from tests.support import markdown
from tests.support.live import ROOT

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
    lines = "".join(make_table(results))
    assert lines in (ROOT / "docs" / "operating.md").read_text("utf-8")
    assert UNKNOWN not in lines
    assert {(figure.part, figure.title) for figure in FIGURES} <= PARTS.items()


def test_files_that_it_names_are_there() -> None:
    named = set(re.findall(r"(?:service|scripts|requirements|tokenizers_data)/[\w./]+\.\w+", GUIDE))
    modules = {name.replace(".", "/") + ".py" for name in re.findall(r"python -m (scripts\.\w+)", GUIDE)}
    assert len(named) >= 5
    for name in named | modules:
        assert Path(ROOT, name).exists(), name


SCRIPTS = sorted(set(re.findall(r"\.venv/bin/python (-m scripts\.\w+|scripts/\w+\.py)", GUIDE)))


def test_scripts_are_run_by_the_python_that_has_what_they_need() -> None:
    assert len(SCRIPTS) >= 6
    assert re.findall(r"(?<!\.venv/bin/)python (?:-m )?scripts[/.]\w+", GUIDE) == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_asked_for_help_a_script_gives_it_and_does_nothing_else(script: str) -> None:
    done = subprocess.run(
        [sys.executable, *script.split(), "--help"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_what_is_carried_over_is_what_is_committed_and_nothing_of_an_earlier_time() -> None:
    (block,) = (block.content for block in markdown.blocks(GUIDE) if "pip wheel" in block.content)
    commands = [line.partition(" #")[0].strip() for line in block.splitlines()]
    wheelhouse, source = "wheelhouse", "build/source"
    assert commands[0] == f"rm -rf {wheelhouse} {source} && mkdir -p {wheelhouse} {source}"
    (packed, built) = (next(line for line in commands if word in line) for word in ("git archive", "pip wheel"))
    assert packed == f"git archive HEAD | tar -x -C {source}"
    assert built.endswith(f" ./{source}")
    assert commands.index(packed) < commands.index(built)
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {f"{wheelhouse}/", "build/"} <= set(ignored)


def test_versions_that_it_names_are_these() -> None:
    assert re.findall(r"tallystick:(\d[\w.]*)", GUIDE) == [__version__]
    (least,) = re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert f"`python3` is at least {least} on" in GUIDE
