"""Reads the files of deploy/ as the programs do for which they are."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from service.settings import Settings
from tests.support.live import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE_FILE = ROOT / "docker-compose.yml"
DOCKERFILE = DEPLOY / "Dockerfile"

SETTINGS = frozenset(f"TALLYSTICK_{name.upper()}" for name in Settings.model_fields)


def compose(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """docker-compose.yml with its variables replaced by those of `environment`, or by their defaults."""
    known = environment or {}

    def fill(match: re.Match[str]) -> str:
        return "$" if match[1] is None else known.get(match[1]) or match[2]

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(part) for key, part in value.items()}
        if isinstance(value, list):
            return [filled(part) for part in value]
        return re.sub(r"\$\$|\$\{([A-Z_]+):-([^}]*)\}", fill, value) if isinstance(value, str) else value

    loaded: dict[str, Any] = filled(yaml.safe_load(COMPOSE_FILE.read_text()))
    return loaded


def service_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"][name]
    return found


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile as (word, rest), with continued lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M))
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in text.splitlines() if line.strip()]


def image_environment() -> dict[str, str]:
    """The variables that ENV sets in the last stage, without PATH."""
    last = instructions()[_last_stage():]
    pairs = [pair for word, rest in last if word == "ENV" for pair in rest.split()]
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs) if name != "PATH"}


def of_image(word: str) -> Any:
    """The argument of an instruction of the last stage: parsed JSON (exec form), or its text."""
    rests = [rest for name, rest in instructions()[_last_stage():] if name == word]
    assert len(rests) == 1, (word, rests)
    return json.loads(rests[0]) if rests[0].startswith("[") else rests[0]


def _last_stage() -> int:
    return max(place for place, (word, _) in enumerate(instructions()) if word == "FROM")


def find(program: str) -> str:
    """The path of a program. The marker of the test makes sure that it is installed."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    assert found is not None, program
    return found


def rule_files() -> list[Path]:
    return sorted(DEPLOY.glob("prometheus/rules/*.yml"))


def rules() -> Iterator[dict[str, Any]]:
    for file in rule_files():
        for group in yaml.safe_load(file.read_text())["groups"]:
            yield from group["rules"]


def dashboards() -> dict[str, dict[str, Any]]:
    """The dashboards by the names of their files."""
    return {file.name: json.loads(file.read_text()) for file in sorted(DEPLOY.glob("grafana/dashboards/*.json"))}


def expressions() -> Iterator[tuple[str, str]]:
    """(place, PromQL) of all rules and panels, with Grafana's variables replaced."""
    for rule in rules():
        yield rule.get("alert") or rule["record"], rule["expr"]
    for name, board in dashboards().items():
        for panel in board["panels"]:
            for target in panel["targets"]:
                asked = target["expr"].replace("$__rate_interval", "1m").replace("$__range", "6h")
                yield f"{name}: {panel['title']}", asked
