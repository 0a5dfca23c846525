"""Responses that are written together, over real connections: complete, in order, and on their own connection."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.server.http.connection import Connection
from service.tokenizers import registry
from tests.server.test_connections_live import COUNT, connect
from tests.server.test_workers_live import scrape, until, value
from tests.support.live import LiveServer, running_server
from tests.support.served import served
from tests.support.texts import unhurried
from tests.support.web import make_app

LONG = 20_000
"""Words of a body that is counted in a thread: 100 KB."""


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with running_server(warm="o200k_base") as server:
        yield server


def count(words: int, head: str = "", version: str = "1.1") -> bytes:
    """A request whose answer is so many tokens."""
    body = json.dumps({"tokenizer": "o200k_base", "text": ("word " * words).strip()}).encode()
    return f"POST {COUNT} HTTP/{version}\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def page(method: str, path: str = "/livez") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


@dataclass(frozen=True)
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def tokens(self) -> Any:
        return json.loads(self.body)["input_tokens"]

    @property
    def closes(self) -> bool:
        return b"\r\nconnection: close" in self.head


@dataclass
class Client:
    """A connection, and what came of the next answer already."""

    connection: socket.socket
    received: bytes = b""

    def send(self, *pieces: bytes) -> None:
        self.connection.sendall(b"".join(pieces))

    def read(self, *, bodiless: bool = False) -> Answer:
        """The next answer. Raises EOFError where the server closes before it is complete."""
        while b"\r\n\r\n" not in self.received:
            self._receive()
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
        assert status, head
        length = re.search(rb"\r\ncontent-length: (\d+)", head)
        size = int(length[1]) if length and not bodiless else 0
        while len(self.received) < size:
            self._receive()
        body, self.received = self.received[:size], self.received[size:]
        return Answer(int(status[1]), head, body)

    def _receive(self) -> None:
        piece = self.connection.recv(65_536)
        if not piece:
            raise EOFError(self.received)
        self.received += piece

    def ends(self) -> bool:
        """Whether nothing more comes until the server closes."""
        return self.received + self.connection.recv(65_536) == b""


def answered(server: LiveServer) -> float:
    """Counts that it gave."""
    return value(scrape(server.url), "tallystick_requests_total", route=COUNT, status="2xx")


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    with connect(server) as connection:
        yield Client(connection)


# ---------------------------------------------------------------- pipelines


@dataclass(frozen=True)
class Asked:
    """A request, and what its answer has to be."""

    sent: bytes
    status: int = 200
    tokens: int | None = None
    bodiless: bool = False

    def check(self, client: Client) -> None:
        answer = client.read(bodiless=self.bodiless)
        assert (answer.status, answer.closes) == (self.status, False)
        if self.tokens is not None:
            assert answer.tokens == self.tokens
        elif not self.bodiless:
            assert (b'"alive"' in answer.body) == (self.status == 200)


def short(words: int) -> Asked:
    return Asked(count(words), tokens=words)


PIECES = st.one_of(
    st.integers(1, 9).map(short),
    st.sampled_from([LONG, LONG + 1]).map(short),
    st.sampled_from([
        Asked(page("GET")), Asked(page("HEAD"), bodiless=True), Asked(page("GET", "/nothing"), 404),
        Asked(count(1).replace(b"o200k_base", b"no_tokens_"), 400), Asked(page("GET", COUNT), 405),
    ]),
)


@settings(unhurried, max_examples=40)
@given(asked=st.lists(PIECES, min_size=2, max_size=5))
def test_a_pipeline_is_answered_whole_and_in_order(server: LiveServer, asked: list[Asked]) -> None:
    with connect(server) as connection:
        client = Client(connection)
        for _ in range(2):
            client.send(*(one.sent for one in asked))
            for one in asked:
                one.check(client)
        assert client.received == b""


@settings(unhurried, max_examples=40)
@given(asked=st.lists(PIECES, min_size=2, max_size=4), data=st.data())
def test_wherever_a_pipeline_is_cut_it_is_answered_in_order(
    server: LiveServer, asked: list[Asked], data: st.DataObject
) -> None:
    """What is complete is answered before the rest is sent."""
    whole = b"".join(one.sent for one in asked)
    cut = data.draw(st.integers(1, len(whole) - 1))
    with connect(server) as connection:
        client = Client(connection)
        client.send(whole[:cut])
        rest, sent = list(asked), 0
        while sent + len(rest[0].sent) <= cut:
            sent += len(rest[0].sent)
            rest.pop(0).check(client)
        assert client.received == b""
        client.send(whole[cut:])
        for one in rest:
            one.check(client)
        assert client.received == b""


def test_the_first_of_a_pipeline_and_those_behind_it_are_answered_alike(client: Client) -> None:
    """The first takes the fast path, the others do not."""
    client.send(*3 * [count(3, "X-Request-Id: mine\r\n")])
    first, *others = [client.read() for _ in range(3)]
    for other in others:
        assert (without_date(other.head), other.body) == (without_date(first.head), first.body)


def without_date(head: bytes) -> bytes:
    found, changes = re.subn(rb"\r\ndate: [^\r]+", b"", head)
    assert changes == 1
    return found


@pytest.mark.parametrize("half", [1, 20, len(count(2)) - 1])
def test_a_request_and_the_half_of_the_next_are_two(client: Client, half: int) -> None:
    client.send(count(1), count(2)[:half])
    assert client.read().tokens == 1
    client.send(count(2)[half:], count(3))
    assert [client.read().tokens for _ in range(2)] == [2, 3]


def test_many_connections_at_once_each_have_their_own_answers(server: LiveServer) -> None:
    with ExitStack() as stack:
        clients = [Client(stack.enter_context(connect(server))) for _ in range(60)]
        for _ in range(3):
            for words, client in enumerate(clients, 1):
                client.send(count(words, f"X-Request-Id: {words}\r\n"))
            for words, client in enumerate(clients, 1):
                answer = client.read()
                assert answer.tokens == words
                assert b"\r\nx-request-id: %d\r\n" % words in answer.head


def test_a_client_that_reads_late_has_every_answer(server: LiveServer, client: Client) -> None:
    """More of them than the kernel keeps for it: the server stops answering until it reads."""
    client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    number = 20_000
    begun = [answered(server)]
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(client.send, *(count(words % 7 + 1) for words in range(number)))

        def has_stopped() -> bool:
            begun.append(answered(server))
            return begun[-1] == begun[-2] > begun[0]

        until(has_stopped)
        assert begun[-1] - begun[0] < number
        assert [client.read().tokens for _ in range(number)] == [words % 7 + 1 for words in range(number)]
        sending.result()


# ---------------------------------------------------------------- one round


Ends = tuple[Connection, socket.socket]


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    """A connection that is served in this process, and its other end."""
    registry.get_tokenizer("o200k_base")
    async with served(make_app(warm=())) as found:
        yield found


async def tokens_of(other_end: socket.socket, number: int) -> list[int]:
    """Of so many answers."""
    received = b""
    async with asyncio.timeout(20):
        while received.count(b'"input_tokens":') < number:
            piece = await asyncio.get_running_loop().sock_recv(other_end, 65_536)
            assert piece, received
            received += piece
    return [int(tokens) for tokens in re.findall(rb'"input_tokens":(\d+)', received)]


async def test_pieces_that_come_in_one_round_are_answered_in_order(ends: Ends) -> None:
    connection, other_end = ends
    for piece in (count(1), count(2), count(3) + count(4), count(5)[:30], count(5)[30:], count(6)):
        connection.data_received(piece)
    assert await tokens_of(other_end, 6) == [1, 2, 3, 4, 5, 6]


async def test_a_connection_is_idle_once_its_answer_is_sent_and_not_before(ends: Ends) -> None:
    """One that is idle is closed while the server stops."""
    connection, other_end = ends
    assert connection.is_idle
    connection.data_received(count(1))
    assert not connection.is_idle
    assert connection.deadline == math.inf
    await asyncio.sleep(0)
    assert connection.is_idle
    assert connection.deadline < math.inf
    assert await tokens_of(other_end, 1) == [1]


async def test_an_answer_to_nobody_is_let_go(ends: Ends) -> None:
    connection, other_end = ends
    connection.data_received(count(1))
    connection.transport.abort()
    await asyncio.sleep(0)
    with suppress(ConnectionResetError):
        assert await asyncio.get_running_loop().sock_recv(other_end, 65_536) == b""
    connection.write_pending_response()


# ---------------------------------------------------------------- what ends a connection

GARBAGE = [b"garbage\r\n\r\n", b"\x16\x03\x01", b"GET /livez HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\nA b: c\r\n\r\n"]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_request_with_garbage_behind_it_is_refused_as_a_whole(
    server: LiveServer, client: Client, garbage: bytes
) -> None:
    before = answered(server)
    client.send(count(1), garbage)
    answer = client.read()
    assert (answer.status, answer.closes, client.ends()) == (400, True, True)
    assert answered(server) == before


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_that_comes_after_an_answer_takes_none_of_it_away(client: Client, garbage: bytes) -> None:
    client.send(count(1))
    assert client.read().tokens == 1
    client.send(garbage)
    assert (client.read().status, client.ends()) == (400, True)


@pytest.mark.parametrize(
    "sent",
    [
        count(3, "Connection: close\r\n"), count(3, "connection: Close\r\n"), count(3, version="1.0"),
        count(3, "Connection: keep-alive\r\n", "1.0"),
    ],
    ids=["close", "another case", "1.0", "1.0 that would stay"],
)
def test_a_short_answer_that_is_the_last_says_so_and_closes(client: Client, sent: bytes) -> None:
    client.send(count(1))
    assert client.read().closes is False
    client.send(sent)
    answer = client.read()
    assert (answer.tokens, answer.closes, client.ends()) == (3, True, True)


def test_what_comes_after_the_last_request_has_no_answer(client: Client) -> None:
    client.send(count(1), count(2, "Connection: close\r\n"), count(3))
    assert client.read().tokens == 1
    last = client.read()
    assert (last.tokens, last.closes, client.ends()) == (2, True, True)


def test_a_connection_is_closed_in_time_after_short_answers_and_none_before_it() -> None:
    with running_server(warm="o200k_base", keep_alive_seconds=2) as server, ExitStack() as stack:
        alone, pipelined, mixed, kept = (Client(stack.enter_context(connect(server))) for _ in range(4))
        alone.send(count(1))
        pipelined.send(count(1), count(2))
        mixed.send(count(1), page("GET"))
        assert [alone.read().tokens, pipelined.read().tokens, pipelined.read().tokens] == [1, 1, 2]
        assert [mixed.read().status for _ in range(2)] == [200, 200]
        for words in range(1, 5):
            kept.send(count(words))
            answer = kept.read()
            assert (answer.tokens, answer.closes) == (words, False)
            time.sleep(1)
        assert [client.ends() for client in (alone, pipelined, mixed, kept)] == 4 * [True]
        assert value(scrape(server.url), "tallystick_connections_refused_total") == 0


# ---------------------------------------------------------------- clients that wait, or leave


def test_a_client_that_waits_for_our_word_is_told_to_go_on(client: Client) -> None:
    whole = count(3, "Expect: 100-continue\r\n")
    head, body = whole[:whole.index(b"{")], whole[whole.index(b"{"):]
    client.send(head)
    assert client.read().status == 100
    client.send(body, count(4))
    assert [client.read().tokens for _ in range(2)] == [3, 4]


def test_a_client_that_does_not_wait_for_our_word_has_its_answer(client: Client) -> None:
    client.send(count(1), count(2, "Expect: 100-continue\r\n"), count(3))
    answers: list[Answer] = []
    while len(answers) < 3:
        answer = client.read()
        answers += [answer] if answer.status != 100 else []
    assert [answer.tokens for answer in answers] == [1, 2, 3]


def test_a_client_that_has_said_all_it_has_to_say_still_hears_its_answer(client: Client) -> None:
    client.send(count(3))
    client.connection.shutdown(socket.SHUT_WR)
    assert (client.read().tokens, client.ends()) == (3, True)


@pytest.mark.parametrize("pieces", [1, 3])
def test_clients_that_leave_at_once_are_counted_and_leave_nothing_behind(server: LiveServer, pieces: int) -> None:
    before, number = answered(server), 40
    for words in range(number):
        with connect(server) as connection:
            Client(connection).send(*(count(words + 1) for _ in range(pieces)))
    until(lambda: answered(server) >= before + number)  # of a pipeline the first, at least
    until(lambda: value(scrape(server.url), "tallystick_requests_in_flight") == 1)  # the scrape itself
    assert "Traceback" not in server.story()
    assert '"error"' not in server.story()


def test_clients_that_break_off_leave_nothing_behind(server: LiveServer) -> None:
    """By a reset, which may come before, between or after the request and its answer."""
    for words in range(40):
        with connect(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            Client(connection).send(count(words + 1), count(LONG) if words % 4 == 0 else b"", count(2))
    until(lambda: value(scrape(server.url), "tallystick_requests_in_flight") == 1)
    until(lambda: value(scrape(server.url), "tallystick_held_body_bytes") == 0)
    assert "Traceback" not in server.story()
    with connect(server) as connection:
        client = Client(connection)
        client.send(count(1), count(2))
        assert [client.read().tokens for _ in range(2)] == [1, 2]


# ---------------------------------------------------------------- stopping


@dataclass
class Bursts:
    """A client that sends short requests in pipelines until nobody listens any more."""

    server: LiveServer
    answers: int = 0
    closed: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, size: int) -> None:
        while True:
            try:
                connection = connect(self.server)
            except ConnectionRefusedError:
                return
            with connection:
                if not self._use(Client(connection), size):
                    return

    def _use(self, client: Client, size: int) -> bool:
        """Burst after burst, until an answer says that it is the last."""
        while True:
            answered = 0
            try:
                client.send(*(count(words) for words in range(1, size + 1)))
                for words in range(1, size + 1):
                    answer = client.read()
                    assert (answer.status, answer.tokens) == (200, words)
                    answered += 1
                    if answer.closes:
                        self.answers, self.closed = self.answers + answered, self.closed + 1
                        assert client.ends()
                        return True
            except (OSError, EOFError, AssertionError) as error:
                self.failures.append(f"after {answered} of {size}: {error!r}")
                return False
            self.answers += answered


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_under_a_load_of_pipelines_cuts_no_answer(workers: int) -> None:
    """What follows an answer that says it is the last has none, and is not counted."""
    with running_server(workers=workers, warm="o200k_base", grace_seconds=1) as server:
        load = [Bursts(server) for _ in range(6)]
        with ThreadPoolExecutor(len(load)) as pool:
            for size, bursts in enumerate(load, 1):
                pool.submit(bursts.run, size)
            until(lambda: all(bursts.answers > 20 for bursts in load))
            server.process.terminate()
            server.process.wait(60)
        assert [failure for bursts in load for failure in bursts.failures] == []
        assert all(bursts.closed for bursts in load)
        told = sum('"route":"/v1/countTokens"' in line for line in server.log)
        assert told == sum(bursts.answers for bursts in load)
