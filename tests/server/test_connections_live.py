"""Clients that are slow, too many, or never finish, against a real server on loopback."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from service.server.http.connection import LARGE_HEADERS
from tests.server.test_workers_live import scrape, until, value
from tests.support.live import HTTP, PATIENCE_SECONDS, LiveServer, running_server

COUNT = "/v1/countTokens"
BODY = json.dumps({"tokenizer": "o200k_base", "text": "hello"}).encode()
HEAD = b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"


def connect(server: LiveServer) -> socket.socket:
    url = httpx.URL(server.url)
    assert url.port is not None
    return socket.create_connection((url.host, url.port), timeout=PATIENCE_SECONDS)


@contextmanager
def connections(server: LiveServer, number: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(connect(server)) for _ in range(number)]


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def drip(slow: dict[socket.socket, Iterator[int]], done: dict[socket.socket, bytes]) -> None:
    """A byte a second to each, until the server has closed them all."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while slow and time.monotonic() < deadline:
        began = time.monotonic()
        for connection, bytes_left in list(slow.items()):
            try:
                connection.send(bytes([next(bytes_left)]))
            except OSError:
                slow.pop(connection)
                done.setdefault(connection, b"")
        while (left := began + 1 - time.monotonic()) > 0:
            for connection in select.select(list(slow), [], [], left)[0]:
                try:
                    piece = connection.recv(65_536)
                except ConnectionResetError:  # by a byte that we sent after it had closed
                    piece = b""
                done[connection] = done.get(connection, b"") + piece
                if not piece:
                    slow.pop(connection)
            if not slow:
                break


def test_two_hundred_slow_clients_are_let_go_and_keep_nobody_waiting() -> None:
    """Half of them send their headers a byte a second, half their bodies."""
    settings = {"warm": "o200k_base", "header_seconds": 2.5, "body_seconds": 2.5}  # not when a byte is sent
    with running_server(**settings) as server, ExitStack() as stack:
        began = time.monotonic()
        of_headers, of_bodies = (stack.enter_context(connections(server, 100)) for _ in range(2))
        for connection in of_bodies:
            connection.sendall(HEAD)
        slow = {connection: iter(HEAD) for connection in of_headers}
        slow |= {connection: iter(b" " * 5_000) for connection in of_bodies}
        done: dict[socket.socket, bytes] = {}
        drip(slow, done)
        assert not slow
        assert time.monotonic() - began >= 2.5
        for clients in (of_headers, of_bodies):  # some lose the answer to the byte that they send after it
            answers = {done[connection].partition(b"\r\n")[0] for connection in clients}
            assert b"HTTP/1.1 408 Request Timeout" in answers
            assert answers <= {b"HTTP/1.1 408 Request Timeout", b""}
        metrics = scrape(server.url)
        assert value(metrics, "tallystick_connections_refused_total", reason="slow_headers") == 100
        assert value(metrics, "tallystick_rejections_total", code="body_timeout") == 100


def test_headers_that_begin_behind_a_request_have_no_more_time_than_others() -> None:
    short = b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
    large = json.dumps({"tokenizer": "o200k_base", "text": "hello " * 20_000}).encode()
    long = b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(large), large)
    with running_server(warm="o200k_base", header_seconds=1, keep_alive_seconds=60) as server, ExitStack() as stack:
        for request in (short, long):
            connection = stack.enter_context(connect(server))
            connection.sendall(request + b"POST /v1/countTok")
            first, _, rest = answer_of(connection).partition(b"}HTTP/1.1 ")
            assert first.startswith(b"HTTP/1.1 200 ")
            assert rest.startswith(b"408 ")


def test_others_are_answered_while_two_hundred_are_slow() -> None:
    with running_server(warm="o200k_base", header_seconds=60) as server, connections(server, 200) as slow:
        for connection in slow:
            connection.sendall(b"POST /v1/count")
        with httpx.Client(base_url=server.url) as client:
            for _ in range(100):
                assert client.post(COUNT, content=BODY).json()["input_tokens"] == 1
        refused = value(scrape(server.url), "tallystick_connections_refused_total", reason="slow_headers")
        assert refused == 0, "the slow ones are still there"


def test_a_connection_too_many_is_told_so_and_there_is_room_again_later() -> None:
    with running_server(warm="o200k_base", max_connections=20) as server:
        with connections(server, 20):
            with connect(server) as one_more:
                answer = answer_of(one_more)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "overloaded"
        until(lambda: status_of(server) == 200)
        assert value(scrape(server.url), "tallystick_connections_refused_total", reason="full") >= 1


def status_of(server: LiveServer) -> int:
    try:
        return HTTP.post(server.url + COUNT, content=BODY).status_code
    except httpx.HTTPError:
        return 0


@pytest.mark.parametrize("head", [b"X-Long: " + b"x" * 100_000, b"X-Many: y\r\n" * 20_000], ids=["long", "many"])
def test_headers_without_end_are_a_431(live: LiveServer, head: bytes) -> None:
    def refused() -> float:
        return value(scrape(live.url), "tallystick_connections_refused_total", reason="large_headers")

    before = refused()
    with connect(live) as connection:
        try:
            connection.sendall(b"GET /livez HTTP/1.1\r\n" + head)
            answer = answer_of(connection)
        except OSError:
            answer = b""  # closed while we were still sending
    assert answer in (b"", LARGE_HEADERS)
    assert refused() == before + 1


def test_long_headers_within_bounds_are_taken(live: LiveServer) -> None:
    assert HTTP.get(live.url + "/livez", headers={"x-long": "x" * 40_000}).status_code == 200


def test_what_a_refused_client_still_sends_is_let_go() -> None:
    """A page answers at once; a body without end behind it does not keep the connection."""
    settings: dict[str, Any] = {"warm": "o200k_base", "keep_alive_seconds": 60}
    with running_server(**settings) as server, connect(server) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        began = time.monotonic()
        closed = False
        while not closed and time.monotonic() - began < PATIENCE_SECONDS:
            try:
                connection.sendall(b"1\r\nx\r\n")
                time.sleep(0.2)
            except OSError:
                closed = True
        assert closed
        assert value(scrape(server.url), "tallystick_connections_refused_total", reason="slow_rest") == 1


def test_an_idle_connection_is_closed_in_time_and_none_before_it() -> None:
    with (
        running_server(warm="o200k_base", keep_alive_seconds=3) as server,
        connect(server) as silent,
        connect(server) as kept,
    ):
        began = time.monotonic()
        for _ in range(3):
            kept.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            while b"alive" not in (piece := kept.recv(65_536)):
                assert piece
            time.sleep(1)
        assert answer_of(silent) == b""
        assert time.monotonic() - began >= 3
        assert answer_of(kept) == b""
        assert time.monotonic() - began >= 5


def test_pipelined_requests_are_answered_in_order(live: LiveServer) -> None:
    with connect(live) as connection:
        post = b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
        connection.sendall((post + b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n") * 20)
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < 40:
            piece = connection.recv(65_536)
            assert piece
            received += piece
    assert received.count(b'"input_tokens":1') == 20
