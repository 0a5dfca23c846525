"""What the README shows is what a reader gets."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.settings import Settings
from tests.support import markdown
from tests.support.live import ROOT, LiveServer, running_server

README = markdown.read(ROOT / "README.md")

ADDRESS = "http://127.0.0.1:8080"

BLOCKS = markdown.blocks(README)

SECTIONS = {section.title: section for section in markdown.sections(README)}

EXAMPLES = [
    (command, output)
    for block in BLOCKS if block.language == "console"
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.content, re.MULTILINE)
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
    (block,) = [block for block in BLOCKS if block.language == "toml"]
    file = tmp_path_factory.mktemp("readme") / "catalog.toml"
    file.write_text(block.content, encoding="utf-8")
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


def run(command: str, folder: Path, where: Path) -> str:
    """What a shell's command prints that runs in `where`; `tallystick` is on the PATH, from `folder`."""
    shim = folder / "bin" / "tallystick"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m service.cli "$@"\n')
    shim.chmod(0o755)
    environment = os.environ | {"PATH": f"{shim.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    shell = ["sh", "-c", command]
    return subprocess.run(shell, capture_output=True, cwd=where, env=environment, check=True, text=True).stdout


@pytest.mark.parametrize(("command", "output"), [e for e in EXAMPLES if not e[0].startswith("curl")])
def test_a_command_prints_what_the_readme_says(tmp_path: Path, command: str, output: str) -> None:
    assert run(command, tmp_path, ROOT) == output


def test_keys_are_made_listed_and_revoked_as_the_readme_says(tmp_path: Path) -> None:
    (block,) = [block for block in BLOCKS if block.language == "sh" and "keys add" in block.content]
    lines = [line.partition("#")[0].strip() for line in block.content.splitlines()]
    made = [run(line, tmp_path, tmp_path) for line in lines if line.startswith("tallystick keys")]
    assert [text[:4] for text in made[:2]] == ["tsk_", "tsk_"]
    assert {"team-a", "dashboard"} <= set(made[2].split())
    assert "dashboard" not in run("tallystick keys list --file keys.json", tmp_path, tmp_path)
    assert lines[-1].startswith("TALLYSTICK_KEYS_FILE=keys.json tallystick serve ")


def anthropic_count(code: str) -> int:
    from anthropic import Anthropic

    with eval(code, {"Anthropic": Anthropic}) as client:
        messages = [{"role": "user", "content": "Hello, Claude"}]
        return int(client.messages.count_tokens(model="claude-sonnet-4-5", messages=messages).input_tokens)


def openai_count(code: str) -> int:
    from openai import OpenAI

    with eval(code, {"OpenAI": OpenAI}) as client:
        return int(client.responses.input_tokens.count(model="gpt-5.4", input="Hello, world!").input_tokens)


def google_count(code: str) -> int:
    from google.genai import Client
    from google.genai.types import HttpOptions

    with eval(code, {"Client": Client, "HttpOptions": HttpOptions}) as client:
        return int(client.models.count_tokens(model="gemini-2.5-flash", contents="Hello, world!").total_tokens)


@pytest.mark.parametrize(
    ("name", "count", "tokens"),
    [("anthropic", anthropic_count, 10), ("openai", openai_count, 10), ("google-genai", google_count, 5)],
)
def test_a_client_of_the_table_counts(live: LiveServer, name: str, count: Callable[[str], int], tokens: int) -> None:
    (how,) = [how for client, how in SECTIONS["Point a client at it"].rows if client == f"`{name}`"]
    assert count(markdown.spans(how)[0].replace(ADDRESS, live.url)) == tokens


def test_every_setting_is_in_the_table_with_its_default() -> None:
    table = {name.strip("`"): default for name, default, _ in SECTIONS["Settings"].rows[1:]}
    rows = {name.removeprefix("TALLYSTICK_"): default for name, default in table.items()}
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        if field.default_factory is None:
            default = ",".join(field.default) if isinstance(field.default, tuple) else f"{field.default}"
            assert rows[name.upper()] == f"`{default.removesuffix('.0')}`"


def test_every_path_in_the_endpoint_table_is_served(live: LiveServer) -> None:
    served = set(httpx.get(f"{live.url}/openapi.json").json()["paths"])
    spans = [name for paths, _ in SECTIONS["Endpoints"].rows for name in markdown.spans(paths)]
    named = {re.sub("^(POST|GET) ", "", name) for name in spans} - {"/", "/anthropic", "/v1"}
    assert len(named) >= 20
    assert named <= served | {"/v1beta/models/{model}:countTokens"}
