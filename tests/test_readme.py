"""What the README shows is what a reader gets."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from service.settings import Settings
from tests.live import ROOT, LiveServer

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


@pytest.mark.parametrize(("command", "output"), [e for e in EXAMPLES if e[0].startswith("curl")])
def test_a_curl_answers_what_the_readme_says(live: LiveServer, command: str, output: str) -> None:
    answer = send(command, live.url)
    if output:
        assert answer.json() == json.loads(output), answer.text
    else:
        assert answer.status_code == 200, answer.text


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
