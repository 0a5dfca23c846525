"""What the README shows is what a reader gets."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.settings import Settings
from tests.live import ROOT, LiveServer, running_server

README = (ROOT / "README.md").read_text("utf-8")

ADDRESS = "http://127.0.0.1:8080"

EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def send(command: str, url: str) -> httpx.Response:
    """What curl would send."""
    words = shlex.split(command)[1:]
    headers: dict[str, str] = {}
    address, body = "", None
    while words:
        word = words.pop(0)
        if word == "-d":
            body = words.pop(0).encode()
            headers.setdefault("content-type", "application/x-www-form-urlencoded")  # as curl does
        elif word == "-H":
            name, _, value = words.pop(0).partition(":")
            headers[name.strip().lower()] = value.strip()
        elif word != "-s":
            address = word.replace(ADDRESS, url)
    return httpx.request("GET" if body is None else "POST", address, content=body, headers=headers)


def test_there_are_examples_of_both_kinds() -> None:
    kinds = [command.split()[0] for command, _ in EXAMPLES]
    assert kinds.count("curl") >= 4
    assert "printf" in kinds


CURLS = [example for example in EXAMPLES if example[0].startswith("curl")]
BUDGETS = [example for example in CURLS if "/v1/budgets" in example[0]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with the README's own catalog file."""
    (content,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    file = tmp_path_factory.mktemp("readme") / "catalog.toml"
    file.write_text(content, encoding="utf-8")
    with running_server(catalog_file=file) as running:
        yield running


@pytest.mark.parametrize(("command", "output"), [example for example in CURLS if example not in BUDGETS])
def test_a_curl_answers_what_the_readme_says(server: LiveServer, command: str, output: str) -> None:
    answer = send(command, server.url)
    if output:
        assert without(answer.json(), MEASURED) == without(json.loads(output), MEASURED), answer.text
    else:
        assert answer.status_code == 200, answer.text


MEASURED = ("methods",)
"""What `make accuracy` may change in a row of the catalog."""

PASSING = ("lease_id", "expires_at", "period_start", "period_end")


def without(value: Any, names: tuple[str, ...]) -> Any:
    """`value` with only a word for what stands under one of `names`."""
    if isinstance(value, dict):
        return {key: "..." if key in names and item else without(item, names) for key, item in value.items()}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def test_budgets_answer_what_the_readme_says_one_after_the_other(server: LiveServer) -> None:
    leases: dict[str, str] = {}
    for command, output in BUDGETS:
        for shown, given in leases.items():
            command = command.replace(shown, given)  # noqa: PLW2901
        answer, expected = send(command, server.url).json(), json.loads(output)
        assert without(answer, PASSING) == without(expected, PASSING), command
        if "/reserve" in command:
            leases[expected["lease_id"]] = answer["lease_id"]
    assert len(BUDGETS) >= 6


@pytest.mark.parametrize(("command", "output"), [e for e in EXAMPLES if not e[0].startswith("curl")])
def test_a_command_prints_what_the_readme_says(tmp_path: Path, command: str, output: str) -> None:
    shim = tmp_path / "tallystick"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m service.cli "$@"\n')
    shim.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=environment, check=True, text=True)
    assert done.stdout == output


def test_every_setting_is_in_the_table_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `TALLYSTICK_(\w+)` \| (.*?) \|", README, re.MULTILINE))
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        if field.default_factory is None:
            default = ",".join(field.default) if isinstance(field.default, tuple) else f"{field.default}"
            assert rows[name.upper()] == f"`{default.removesuffix('.0')}`"


def test_every_path_in_the_endpoint_table_is_served(live: LiveServer) -> None:
    served = set(httpx.get(f"{live.url}/openapi.json").json()["paths"])
    table = README.split("## Endpoints")[1].split("##")[0]
    named = set(re.findall(r"`(?:POST |GET )?(/[^`]+)`", table)) - {"/anthropic", "/v1"}
    assert named <= served | {"/v1beta/models/{model}:countTokens"}
