"""test_network.py runs this in a network namespace that has a loopback interface alone.

It starts the service, calls all that it can do, and prints how many responses were right. A wrong one raises an
exception.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from scripts.make_api_examples import FILES
from tests.security.parser_fuzz import targets
from tests.support.live import running_server
from tests.support.routes import count_routes

SIOCSIFFLAGS, UP = 0x8914, 1

ELSEWHERE = ("192.0.2.1", 443)
"""An address that nobody has (RFC 5737)."""


def bring_up_loopback() -> None:
    """Enable the loopback interface, which is down in a new namespace. Raises AssertionError for another one."""
    assert [name for _, name in socket.if_nameindex() if name not in ("lo", "tunl0", "sit0")] == []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        fcntl.ioctl(plain, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP))


def check_that_there_is_no_way_out() -> None:
    with socket.socket() as probe:
        probe.settimeout(5)
        try:
            probe.connect(ELSEWHERE)
        except OSError:
            return
    raise AssertionError("there is a way out of here")


def ask_everything(client: httpx.Client) -> int:
    """How many responses were right, of all examples, rich bodies and pages."""
    answers = 0
    for each in count_routes():
        if "tunedModels" not in each.path:
            answer = client.post(each.path, json=each.request)
            assert answer.json() == each.response, answer.text
            answers += 1
    for target in targets():
        if "{" not in target.path:
            for body in target.bodies:
                answer = client.post(target.path, json=body)
                assert answer.status_code in (200, 404), f"{target.path}: {answer.text}"  # 404: a model of an example
                answers += answer.status_code == 200
    for path in ("/", "/v1/models", "/v1/models/gpt-4o", "/v1/tokenizers", "/openapi.json", "/metrics", "/readyz"):
        assert client.get(path).status_code == 200
        answers += 1
    tokenizers = client.get("/v1/tokenizers").json()["tokenizers"]
    for tokenizer in tokenizers:
        for engine in tokenizer["engines"]:
            body = {"tokenizer": tokenizer["name"], "text": "hello, world", "engine": engine}
            assert client.post("/v1/countTokens", json=body).json()["input_tokens"] >= 2
            answers += 1
    return answers


def main() -> int:
    if "--namespace" in sys.argv:
        bring_up_loopback()
        check_that_there_is_no_way_out()
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, Any] = {name: Path(folder, name) for name in FILES}
        for name, file in files.items():
            file.write_text(FILES[name], encoding="utf-8")
        with running_server(**files) as server, httpx.Client(base_url=server.url, timeout=60) as client:
            print(ask_everything(client))
    return 0


if __name__ == "__main__":
    sys.exit(main())
