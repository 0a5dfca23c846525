"""The load recognizes right, wrong and lost responses. The reports of the fault suite depend on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

from tests.chaos.kinds import Kind
from tests.chaos.load import Load, Record, Seen
from tests.chaos.spender import Spending

KIND = Kind("echo", "/", b'{"number": "000000000000"}', 1.0, 200, b"7", calls=2, tokens=14)


@contextmanager
def server(answers: list[tuple[int, bytes] | None]) -> Iterator[str]:
    """A server that gives these responses in turn, over and over. None closes the connection without a response."""
    numbers = count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            answer = answers[next(numbers) % len(answers)]
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.daemon_threads = True
        thread = threading.Thread(target=found.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_address[1]}"
        finally:
            found.shutdown()
            thread.join()


def seen_of(answers: list[tuple[int, bytes] | None], again: int = 0, clients: int = 2) -> Seen:
    with server(answers) as url:
        load = Load(url, [KIND], {}, a_second=200, clients=clients, again=again)
        load.start()
        time.sleep(0.5)
        return load.stop()


@pytest.mark.parametrize(("answer", "verdict"), [
    ((200, b"7"), "right"), ((200, b"8"), "wrong"), ((404, b"7"), "wrong"), ((503, b"7"), "lost"), (None, "lost"),
])
def test_each_answer_is_judged(answer: tuple[int, bytes] | None, verdict: str) -> None:
    seen = seen_of([answer])
    assert len(seen.records) > 20
    assert {record.verdict for record in seen.records} == {verdict}
    right = len(seen.records) if verdict == "right" else 0
    assert seen.ledger == (2 * right, 14 * right)
    assert sum(seen.reasons().values()) == len(seen.records) - right


def test_a_client_without_a_proxy_asks_again_where_its_connection_broke() -> None:
    seen = seen_of([None, (200, b"7")], again=1, clients=1)
    assert {record.verdict for record in seen.records} == {"right"}
    assert sum(record.again for record in seen.records) > 10


def test_what_was_answered_in_a_span_of_time() -> None:
    seen = Seen([Record(KIND, at, 0.5, "right") for at in (1.0, 2.0, 3.0)])
    assert seen.answered_between(2.4, 3.6) == (4, 28)
    assert seen.worst == 0.5
    assert Spending(settlements=[(1.0, 5), (2.0, 6)]).settled_between(1.5, 2.5) == 6
