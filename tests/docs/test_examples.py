"""What the pages show is what a reader gets: every command is run, and its output compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import ADDRESS, PAGES, TWINS, path
from tests.docs.shown import matches, parse
from tests.support import markdown
from tests.support.live import ROOT, LiveServer, running_server
from tests.support.markdown import Example

EXAMPLES = {name: markdown.examples(markdown.read(path(name))) for name in PAGES}

CURLS = {name: [e for e in found if e.command.startswith("curl ")] for name, found in EXAMPLES.items()}

COMMANDS = [(name, e) for name, found in EXAMPLES.items() for e in found if not e.command.startswith("curl ")]

PASSING = frozenset({"lease_id", "expires_at", "period_start", "period_end", "methods"})
"""Names of what differs in each answer, and of what `make accuracy` may change."""

CURL_SAYS = "application/x-www-form-urlencoded"
"""The type of a body after `curl -d`."""


def send(command: str, url: str, content_type: str | None = CURL_SAYS) -> httpx.Response:
    """What curl would send; `content_type` is that of a body where the command names none."""
    words = shlex.split(command)[1:]
    headers: dict[str, str] = {}
    address, body = "", None
    while words:
        word = words.pop(0)
        if word == "-d":
            body = words.pop(0).encode()
        elif word == "-H":
            name, _, value = words.pop(0).partition(":")
            headers[name.strip().lower()] = value.strip()
        elif word != "-s":
            assert not word.startswith("-"), f"{word} is not known here: {command}"
            address = word.replace(ADDRESS, url)
    if body is not None and content_type is not None:
        headers.setdefault("content-type", content_type)
    return httpx.request("GET" if body is None else "POST", address, content=body, headers=headers)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with the catalog file that docs/configuration.md shows."""
    configuration = markdown.read(path("docs/configuration.md"))
    (block,) = [block for block in markdown.blocks(configuration) if block.language == "toml"]
    file = tmp_path_factory.mktemp("docs") / "catalog.toml"
    file.write_text(block.content, encoding="utf-8")
    with running_server(catalog_file=file) as running:
        yield running


def test_the_pages_have_examples() -> None:
    assert len(CURLS["README.md"]) >= 1
    assert sum(map(len, CURLS.values())) >= 25
    assert len(COMMANDS) >= 4
    assert all(example.output for example in CURLS["README.md"])


@pytest.mark.parametrize("name", [name for name, found in CURLS.items() if found])
def test_curl_answers_what_a_page_shows(server: LiveServer, name: str) -> None:
    """One after the other: a lease that is shown stands for the one that was given."""
    leases: dict[str, str] = {}
    for command, output in map(with_output, CURLS[name]):
        for shown, given in leases.items():
            command = command.replace(shown, given)  # noqa: PLW2901
        answer = send(command, server.url)
        if not output:
            assert answer.status_code == 200, command
            continue
        expected, found = parse(output), answer.json()
        assert matches(expected, found, PASSING), f"{command}\n{answer.text}"
        if "/reserve" in command:
            leases[expected["lease_id"]] = found["lease_id"]


def with_output(example: Example) -> tuple[str, str]:
    return example.command, example.output


@pytest.mark.parametrize("content_type", ["application/json", "text/json; charset=utf-8", None])
@pytest.mark.parametrize("name", [name for name, found in CURLS.items() if found])
def test_curl_may_name_any_type_or_none(server: LiveServer, name: str, content_type: str | None) -> None:
    for example in CURLS[name]:
        if "lease_id" not in example.command:  # those are of an earlier answer
            usual, other = send(example.command, server.url), send(example.command, server.url, content_type)
            assert other.status_code == usual.status_code, example.command


def run(command: str, folder: Path, where: Path) -> str:
    """What a shell's command prints that runs in `where`; `tallystick` is on the PATH, from `folder`."""
    shim = folder / "bin" / "tallystick"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m service.cli "$@"\n')
    shim.chmod(0o755)
    environment = os.environ | {"PATH": f"{shim.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    shell = ["sh", "-c", command]
    return subprocess.run(shell, capture_output=True, cwd=where, env=environment, check=True, text=True).stdout


@pytest.mark.parametrize(("name", "example"), COMMANDS)
def test_a_command_prints_what_a_page_shows(tmp_path: Path, name: str, example: Example) -> None:
    assert run(example.command, tmp_path, ROOT) == example.output, name


def test_keys_are_made_listed_and_revoked_as_the_page_shows(tmp_path: Path) -> None:
    keys = markdown.blocks(markdown.read(path("docs/keys.md")))
    (block,) = [block for block in keys if block.language == "sh"]
    lines = [line.partition("#")[0].strip() for line in block.content.splitlines()]
    made = [run(line, tmp_path, tmp_path) for line in lines if line.startswith("tallystick keys")]
    assert [text[:4] for text in made[:2]] == ["tsk_", "tsk_"]
    assert {"team-a", "dashboard"} <= set(made[2].split())
    assert "dashboard" not in run("tallystick keys list --file keys.json", tmp_path, tmp_path)
    assert lines[-1].startswith("TALLYSTICK_KEYS_FILE=keys.json tallystick serve ")


WIDTH = 110
"""Columns that fit where code is shown."""


@pytest.mark.parametrize("name", [*TWINS, *TWINS.values()])
def test_code_is_not_wider_than_a_reader_sees(name: str) -> None:
    lines = [line for block in markdown.blocks(markdown.read(path(name))) for line in block.content.splitlines()]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize("name", [*TWINS, *TWINS.values()])
def test_a_page_says_what_the_three_dots_are(name: str) -> None:
    text = markdown.read(path(name))
    if any(re.search(r"\.\.\.\s*[}\]]", example.output) for example in markdown.examples(text)):
        assert "`...`" in text
