"""The image: files that it copies exist, its command is a valid command line, and it refuses to start without keys."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from service.cli.main import make_parser
from tests.deploy.files import DOCKERFILE, SETTINGS, image_environment, instructions, of_image
from tests.support.live import ROOT, LiveServer
from tests.support.redis_server import free_port

BIN = Path(sys.executable).parent


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([BIN / "hadolint", "--no-color", DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def _copied() -> list[str]:
    """Paths of the build context that are copied into the image."""
    copies = [shlex.split(rest) for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    return [path for words in copies for path in words[:-1]]


def test_what_is_copied_is_there_and_let_through_by_dockerignore() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*", "nothing is sent to the builder unless it is named: keys and .git least of all"
    allowed = {line[1:] for line in lines if line[0] == "!"}
    assert set(_copied()) == allowed
    assert [path for path in allowed if not (ROOT / path).exists()] == []


def test_what_the_package_is_built_from_is_copied() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert needed | packages <= set(_copied())


def test_everything_that_is_fetched_has_its_hash() -> None:
    fetching = [command for word, rest in instructions() if word == "RUN" for command in rest.split("&&")
                if re.search(r"pip .*(install|wheel)", command)]
    assert len(fetching) == 4
    for command in fetching:
        assert "--require-hashes" in command or "--no-index" in command, command
    for lock in re.findall(r"--requirement (\S+)", " ".join(fetching)):
        packages = re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.M)[1:]
        assert packages
        assert [package.split()[0] for package in packages if "--hash=sha256:" not in package] == []


def test_it_is_built_by_the_setuptools_that_tests_use() -> None:
    pins = [re.findall(r"^setuptools==\S+", (ROOT / f"requirements/{name}.txt").read_text(), re.M)
            for name in ("build", "dev")]
    assert pins[0] == pins[1] != []


def test_it_is_nobody_and_gets_signals_itself() -> None:
    user, _, group = of_image("USER").partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert isinstance(of_image("ENTRYPOINT"), list), "a shell in between would keep SIGTERM to itself"
    assert of_image("STOPSIGNAL") == "SIGTERM"


def test_the_command_line_takes_its_arguments() -> None:
    program, *first = of_image("ENTRYPOINT")
    assert program == "tallystick"
    assert make_parser().parse_args([*first, *of_image("CMD")]).command.__name__ == "run_serve"


def test_its_environment_is_of_settings() -> None:
    named = {name for name in image_environment() if name.startswith("TALLYSTICK_")}
    assert named
    assert named <= SETTINGS
    assert of_image("EXPOSE") == image_environment()["TALLYSTICK_PORT"]


def test_without_keys_it_serves_nobody() -> None:
    environment = {**image_environment(), "PATH": str(BIN)}
    done = subprocess.run([*of_image("ENTRYPOINT"), *of_image("CMD")], env=environment, cwd=ROOT, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "refusing to listen on 0.0.0.0 without API keys" in done.stderr


def _health() -> list[str]:
    rest = of_image("HEALTHCHECK")
    command: list[str] = json.loads(rest[rest.index("CMD ") + 4 :])
    return command


@pytest.mark.parametrize("there", [True, False])
def test_the_health_check_tells_a_ready_server_from_none(live: LiveServer, there: bool) -> None:
    port = live.url.rpartition(":")[2] if there else str(free_port())
    program, *arguments = _health()
    assert program == "python"
    done = subprocess.run([sys.executable, *arguments], env={"TALLYSTICK_PORT": port}, capture_output=True,
                          check=False, timeout=60)
    assert (done.returncode == 0) is there, done.stderr
