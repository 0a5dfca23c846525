"""The files that `make generate` writes are up to date."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from scripts.deploy_files import FILES
from service.settings import Settings
from tests.deploy.files import COMPOSE_FILE, DEPLOY, SETTINGS
from tests.support.live import ROOT


@pytest.mark.parametrize("path", FILES)
def test_it_is_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text() == FILES[path](), "make generate"


def test_the_check_says_so() -> None:
    done = subprocess.run([sys.executable, "-m", "scripts.deploy_files", "--check"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def _example() -> dict[str, str]:
    text = (DEPLOY / ".env.example").read_text()
    assert all(line.startswith("#") for line in text.splitlines() if line), "nothing is set but by whoever wants it"
    return dict(re.findall(r"^#([A-Z_]+)=(.*)$", text, re.M))


def test_every_setting_is_in_the_example_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    example = _example()
    assert set(example) >= SETTINGS
    defaults = Settings()
    for name, value in example.items():
        monkeypatch.setenv(name, value)
    said = Settings()
    for name in Settings.model_fields:
        if name != "threads":  # the cores of this machine
            assert getattr(said, name) == getattr(defaults, name), name


def test_every_setting_that_is_named_is_one() -> None:
    """In all files of deploy/, comments included."""
    files = [path for path in (*DEPLOY.rglob("*"), COMPOSE_FILE) if path.is_file()]
    named = {(path.name, name) for path in files for name in re.findall(r"TALLYSTICK_[A-Z_]*[A-Z]", path.read_text())}
    assert len(named) > 60
    assert {(path, name) for path, name in named if name not in SETTINGS} == set()
