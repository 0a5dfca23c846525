"""The service over real sockets: bodies that hurt, bursts, clients that misbehave, a stop in the middle."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.support.live import HTTP, LiveServer, running_server

COUNT = "/v1/countTokens"


@pytest.fixture
def client(live: LiveServer) -> Any:
    with httpx.Client(base_url=live.url, timeout=60) as client:
        yield client
    assert live.process.poll() is None, "the server died"


def body_of(text: str, tokenizer: str = "o200k_base") -> bytes:
    return json.dumps({"tokenizer": tokenizer, "text": text}).encode()


def tokens(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.json()["input_tokens"])


# ---------------------------------------------------------------- bodies that hurt


@pytest.mark.parametrize("tokenizer", ["o200k_base", "cl100k_base", "gemma3", "claude"])
def test_a_million_and_a_half_spaces_are_counted(client: httpx.Client, tokenizer: str) -> None:
    assert tokens(client.post(COUNT, content=body_of(" " * 1_500_000, tokenizer))) > 1_000


def test_a_body_of_20_mb_is_counted(client: httpx.Client) -> None:
    assert tokens(client.post(COUNT, content=body_of("word " * 4_000_000))) == 4_000_001


def test_a_lone_surrogate_is_counted_with_a_warning(client: httpx.Client) -> None:
    answer = client.post(COUNT, content=rb'{"tokenizer":"o200k_base","text":"a\ud800b"}')
    assert tokens(answer) == 3
    assert answer.json()["warnings"] == [{"code": "lone_surrogate_replaced", "path": "text"}]


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"text":' * 1_000, b'{"a":' + b"[" * 1_000 + b"]" * 1_000 + b"}"])
def test_deep_json_is_a_400(client: httpx.Client, body: bytes) -> None:
    assert client.post(COUNT, content=body).status_code == 400


def test_a_body_over_the_limit_is_a_413_that_its_sender_gets_to_see(client: httpx.Client) -> None:
    answer = client.post(COUNT, content=body_of("word " * 8_000_000))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    chunked = client.post(COUNT, content=(b"x" * 65_536 for _ in range(640)))
    assert chunked.status_code == 413


def test_a_413_comes_before_the_body_to_a_client_that_waits(live: LiveServer) -> None:
    with socket.create_connection(_address(live), timeout=60) as client:
        client.sendall(
            b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = client.makefile("rb").read()  # to the end: the server closes
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"100 Continue" not in answer


def test_an_endless_body_is_cut_off(live: LiveServer) -> None:
    sent = 0
    with socket.create_connection(_address(live), timeout=60) as client:
        client.sendall(b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        with suppress(OSError):  # reset or broken pipe
            while sent < 2_000:
                client.sendall(chunk)
                sent += 1
    assert 32 <= sent < 1_000


@pytest.mark.parametrize("text", [b" " * 100_000_000, os.urandom(20_000_000).hex().encode()], ids=["dense", "plain"])
def test_a_bomb_is_a_413(client: httpx.Client, text: bytes) -> None:
    bomb = gzip.compress(text, 1)
    assert client.post(COUNT, content=bomb, headers={"content-encoding": "gzip"}).status_code == 413


def test_a_compressed_body_is_counted(client: httpx.Client) -> None:
    packed = gzip.compress(body_of("Hello, world! 안녕하세요."))
    assert tokens(client.post(COUNT, content=packed, headers={"content-encoding": "gzip"})) == 7


def test_a_slow_body_is_a_408_and_holds_nobody_up() -> None:
    with running_server(body_seconds=0.5, warm="o200k_base") as server:
        slow = [socket.create_connection(_address(server), timeout=60) for _ in range(50)]
        for one in slow:
            one.sendall(b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert tokens(HTTP.post(server.url + COUNT, content=body_of("hello"))) == 1
        answers = [one.makefile("rb").read() for one in slow]
        for one in slow:
            one.close()
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}


def test_a_client_that_leaves_in_the_middle_is_no_fault(live: LiveServer, client: httpx.Client) -> None:
    with socket.create_connection(_address(live), timeout=60) as leaver:
        leaver.sendall(b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert tokens(client.post(COUNT, content=body_of("hello"))) == 1
    assert not [line for line in live.log if "request failed" in line or "Exception in ASGI" in line]


def _address(server: LiveServer) -> tuple[str, int]:
    url = httpx.URL(server.url)
    assert url.port is not None
    return url.host, url.port


# ---------------------------------------------------------------- many at once


def test_the_event_loop_answers_while_large_texts_are_counted(live: LiveServer) -> None:
    body = body_of("The quick brown fox jumps over 12 lazy dogs. " * 90_000)  # 4 MB
    done = threading.Event()
    probes = 0

    def probe() -> None:
        nonlocal probes
        with httpx.Client(base_url=live.url, timeout=60) as client:
            while not done.is_set():
                assert client.get("/livez").status_code == 200
                probes += 1

    with ThreadPoolExecutor(3) as pool:
        probing = pool.submit(probe)
        counts = [pool.submit(HTTP.post, live.url + COUNT, content=body, timeout=60) for _ in range(6)]
        assert len({tokens(count.result()) for count in counts}) == 1
        done.set()
        probing.result()
    assert probes > 9  # about a hundred on an idle machine; if the event loop counted, one after each of six


async def test_a_burst_is_answered(live: LiveServer) -> None:
    """A coding agent at start: 50 counts of 200 KB bodies that differ in their last message."""
    text = "def count(text: str) -> int:\n    return len(tokenizer.encode(text))\n" * 3_000
    bodies = [{"tokenizer": "o200k_base", "texts": [text, f"question {i}"]} for i in range(50)]
    async with httpx.AsyncClient(base_url=live.url, timeout=60, limits=httpx.Limits(max_connections=50)) as client:
        answers = await asyncio.gather(*(client.post(COUNT, json=body) for body in bodies))
    assert len({tokens(answer) for answer in answers}) == 1


async def test_beyond_the_queue_there_is_a_503_with_retry_after_and_probes_go_on() -> None:
    body = body_of("a" * 3_000_000)  # one word: it takes longer to count than twelve of them take to arrive
    with running_server(threads=1, queue=1, warm="o200k_base") as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            answers = await asyncio.gather(*(client.post(COUNT, content=body) for _ in range(12)))
            assert (await client.get("/readyz")).status_code == 200
            assert tokens(await client.post(COUNT, content=body)) > 0
    refused = [answer for answer in answers if answer.status_code == 503]
    assert refused
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert {answer.json()["error"]["code"] for answer in refused} == {"overloaded"}
    assert {answer.status_code for answer in answers} == {200, 503}


# ---------------------------------------------------------------- start and stop


def test_readiness_waits_for_the_tokenizers() -> None:
    with running_server(wait=False) as server:
        first = HTTP.get(server.url + "/readyz")
        assert HTTP.get(server.url + "/livez").status_code == 200
        while (ready := HTTP.get(server.url + "/readyz")).status_code == 503:
            assert ready.json()["status"] == "starting"
            time.sleep(0.05)
    assert (first.status_code, first.json()["status"]) == (503, "starting")
    assert set(ready.json()["tokenizers"]) == {
        "o200k_base", "cl100k_base", "gemma3", "claude-v3", "claude-v4.7", "claude-v4.8",
    }
    assert all(row["ready"] for row in ready.json()["tokenizers"].values())


def test_a_stop_answers_what_is_in_flight() -> None:
    body = body_of("The quick brown fox jumps over 12 lazy dogs. " * 90_000)
    with running_server(warm="o200k_base") as server, ThreadPoolExecutor(4) as pool:
        counts = [pool.submit(HTTP.post, server.url + COUNT, content=body, timeout=60) for _ in range(4)]
        while not all(count.done() for count in counts):
            if "requests_in_flight 5.0" in HTTP.get(server.url + "/metrics").text:  # all four, and this one
                break
        server.process.terminate()
        assert len({tokens(count.result()) for count in counts}) == 1
    assert server.process.returncode == 0


def test_logs_are_json_and_hold_nothing_of_a_request(live: LiveServer, client: httpx.Client) -> None:
    client.post(COUNT + "?key=hunter2", content=body_of("hunter2"), headers={"authorization": "Bearer hunter2"})
    client.post(COUNT + "?key=hunter2", content=b"hunter2")
    client.get("/hunter2")
    rows = [json.loads(line) for line in live.log]
    assert [row for row in rows if row["logger"] == "tallystick.request"]
    assert "hunter2" not in "\n".join(live.log)
