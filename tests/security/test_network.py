"""The service makes no connections: not at the start, not to count, not when a body names an address."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.security.alone import ELSEWHERE
from tests.support.live import ROOT, running_server

GUARD = """
import os, sys
def told(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen",
                 "os.exec", "os.posix_spawn", "os.system", "urllib.Request", "ctypes.dlopen_remote"):
        with open(os.environ["GUARD_FILE"], "a") as file:
            file.write(f"{event} {arguments!r}\\n")
sys.addaudithook(told)
"""
"""The sitecustomize of the server's process. It writes down every attempt to connect or to resolve a name."""

NO_QUESTION = "socket.getaddrinfo ('127.0.0.1',"
"""Events to ignore. The address to listen on is resolved, but it is a number, for which no name server is asked."""

NAMESPACE = ("unshare", "--net", "--user", "--map-root-user")


def bodies_that_name(url: str) -> Iterator[tuple[str, Any]]:
    """(path, body): an address in every place from which a provider would fetch something."""
    picture = {"type": "image", "source": {"type": "url", "url": url}}
    document = {"type": "document", "source": {"type": "url", "url": url}}
    part = {"type": "image_url", "image_url": {"url": url}}
    yield "/v1/messages/count_tokens", {
        "model": "claude-sonnet-4-5", "mcp_servers": [{"type": "url", "url": url, "name": "m"}],
        "messages": [{"role": "user", "content": [picture, document]}],
    }
    yield "/v1/responses/input_tokens", {"model": "gpt-5", "tools": [
        {"type": "mcp", "server_url": url, "server_label": "m"}, {"type": "web_search"},
    ], "input": [{"role": "user", "content": [
        {"type": "input_image", "image_url": url}, {"type": "input_file", "file_url": url},
    ]}]}
    yield "/v1beta/models/gemini-2.5-flash:countTokens", {"contents": [{"parts": [
        {"fileData": {"fileUri": url, "mimeType": "image/png"}}, {"text": url},
    ]}], "tools": [{"urlContext": {}}]}
    yield "/utils/token_counter", {"model": "gpt-4o", "messages": [{"role": "user", "content": [part]}]}
    yield "/tokenize", {"model": "gpt-4o", "messages": [{"role": "user", "content": [part]}]}
    for model in ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash"):
        yield "/v1/countTokens", {"model": model, "request": {"messages": [{"role": "user", "content": [
            part, {"type": "file", "file": {"file_data": url, "filename": url}},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": url}},
        ][:2 if model != "gpt-4o" else 1]}]}}
    yield "/v1/tokenize", {"tokenizer": "o200k_base", "text": url}
    yield "/v1/countTokens", {"model": url, "text": url}
    yield "/v1/countTokens", {"tokenizer": url, "text": url}


@contextmanager
def listening() -> Iterator[tuple[int, list[Any]]]:
    """A port, and the connections that it got."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def accept() -> None:
            while True:
                try:
                    connection, address = listener.accept()
                except OSError:
                    return
                connection.close()
                came.append(address)

        threading.Thread(target=accept, daemon=True).start()
        yield port, came
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the server's process records attempts to connect. Every Python loads `sitecustomize`."""
    tmp_path.joinpath("sitecustomize.py").write_text(GUARD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("GUARD_FILE", str(tmp_path / "told"))
    tmp_path.joinpath("told").touch()
    return tmp_path / "told"


def test_it_does_all_it_can_with_no_way_out(guard: Path) -> None:
    """From the start on, in a network namespace that has only a loopback interface. If the kernel does not allow
    one (some containers), only the sockets of the process are watched."""
    may = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    done = subprocess.run(
        [*(NAMESPACE if may else ()), sys.executable, "-m", "tests.security.alone", *(("--namespace",) if may else ())],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 80
    reached = [line for line in guard.read_text().splitlines() if line.startswith("socket.")]
    assert [line for line in reached if "'127.0.0.1'" not in line and ELSEWHERE[0] not in line] == []


def test_an_address_in_a_body_is_never_asked(guard: Path) -> None:
    with listening() as (port, came), running_server(warm="o200k_base,claude-v3,gemma3") as server:
        with socket.create_connection(("127.0.0.1", port)):
            pass
        statuses = []
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for url in (
                f"http://127.0.0.1:{port}/a.png", f"https://localhost:{port}/a.pdf", f"ftp://127.0.0.1:{port}/", "gs://b/a",
                f"//127.0.0.1:{port}/a", "file:///etc/passwd", f"http://[::1]:{port}/", "http://169.254.169.254/latest/",
            ):
                for path, body in bodies_that_name(url):
                    answer = client.post(path, content=json.dumps(body))
                    assert answer.status_code < 500
                    assert "root:" not in answer.text
                    statuses.append(answer.status_code)
        assert statuses.count(200) > 40
        assert len(came) == 1  # ours
    found = [line for line in guard.read_text().splitlines() if not line.startswith(NO_QUESTION)]
    assert found == []


def test_a_guarded_process_does_tell(guard: Path) -> None:
    """The counterpart of the test above: a connection is noticed when there is one."""
    code = "import socket; socket.getaddrinfo('localhost', 80); socket.socket().connect_ex(('127.0.0.1', 9))"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert guard.read_text().startswith("socket.getaddrinfo")
    assert "socket.connect" in guard.read_text()
