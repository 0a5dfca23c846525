"""Data that no normal client sends. The server and a proxy in front of it must never read different requests in it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.server.test_workers_live import scrape, value
from tests.support.live import LiveServer, running_server

BODY = b'{"tokenizer":"o200k_base","text":"hello"}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
PROBE = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
"""The headers that Java's client sends with every request."""


def post(head: bytes, body: bytes = BODY, version: bytes = b"HTTP/1.1") -> bytes:
    return b"POST /v1/countTokens " + version + b"\r\nHost: x\r\n" + head + b"\r\n" + body


def get(target: bytes, head: bytes = b"Host: x\r\n", version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET " + target + b" " + version + b"\r\n" + head + b"\r\n"


REFUSED_AND_CLOSED = {
    "length and chunked": post(LENGTH + CHUNKED, CHUNKS + PROBE),
    "chunked and length": post(CHUNKED + LENGTH, CHUNKS + PROBE),
    "a short length and chunked": post(b"Content-Length: 4\r\n" + CHUNKED, b"0\r\n\r\n" + PROBE),
    "the same length twice": post(LENGTH + LENGTH),
    "two lengths": post(LENGTH + b"Content-Length: 5\r\n"),
    "a list of lengths": post(b"Content-Length: 41, 41\r\n"),
    "a length with a plus": post(b"Content-Length: +41\r\n"),
    "a negative length": post(b"Content-Length: -1\r\n"),
    "a length in hex": post(b"Content-Length: 0x29\r\n"),
    "a length beyond 64 bits": post(b"Content-Length: 99999999999999999999999\r\n"),
    "an empty length": post(b"Content-Length: \r\n"),
    "a length with a blank in it": post(b"Content-Length: 4 1\r\n"),
    "an unknown coding": post(b"Transfer-Encoding: xchunked\r\n", CHUNKS),
    "identity and a length": post(b"Transfer-Encoding: identity\r\n" + LENGTH),
    "chunked, and not last": post(b"Transfer-Encoding: chunked, gzip\r\n", CHUNKS),
    "chunked twice": post(CHUNKED + CHUNKED, CHUNKS),
    "chunked, then identity": post(b"Transfer-Encoding: chunked, identity\r\n", CHUNKS + PROBE),
    "a blank before the colon": post(b"Transfer-Encoding : chunked\r\n", CHUNKS),
    "a vertical tab before chunked": post(b"Transfer-Encoding:\x0bchunked\r\n", CHUNKS),
    "chunked in quotes": post(b'Transfer-Encoding: "chunked"\r\n', CHUNKS),
    "a folded line": post(b"X-A: a\r\n b\r\n" + LENGTH),
    "a folded coding": post(b"Transfer-Encoding:\r\n chunked\r\n", CHUNKS),
    "lines that end in LF": post(LENGTH).replace(b"\r\n", b"\n"),
    "lines that end in CR": post(LENGTH).replace(b"\r\n", b"\r"),
    "a CR in a value": post(b"X-A: a\rb\r\n" + LENGTH),
    "a NUL in a value": post(b"X-A: a\0b\r\n" + LENGTH),
    "a NUL in a name": post(b"X\0A: a\r\n" + LENGTH),
    "a NUL in the path": get(b"/live\0z"),
    "a blank in the path": get(b"/live z"),
    "bytes beyond ASCII in the path": get(b"/v1/models/\xff\xfe"),
    "a header without a name": post(b": a\r\n" + LENGTH),
    "a header without a colon": post(b"abc\r\n" + LENGTH),
    "an extension that holds a line end": post(CHUNKED, b"29;a\nb\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "a chunk size that is none": post(CHUNKED, b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "a negative chunk size": post(CHUNKED, b"-1\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "a chunk size beyond 64 bits": post(CHUNKED, b"1ffffffffffffffff\r\n" + BODY),
    "a chunk size with 0x": post(CHUNKED, b"0x29\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "a chunk longer than it says": post(CHUNKED, b"4\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "chunks that end in LF": post(CHUNKED, b"29\n" + BODY + b"\n0\n\n"),
    "a length among the trailers": post(CHUNKED, CHUNKS[:-2] + b"Content-Length: 5\r\n\r\n"),
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a whole URL without a path": get(b"http://evil.example"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "HTTP/1.9": get(b"/livez", version=b"HTTP/1.9"),
    "HTTP/3.0": get(b"/livez", version=b"HTTP/3.0"),
    "an unknown method": b"FOO /livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a method in lower case": b"get /livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 200,
    "the PROXY protocol": b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + PROBE,
    "a hundred kilobytes of path": get(b"/" + b"a" * 100_000),
    "all bytes there are": bytes(range(256)) * 10,
}
"""Each gets one response, 4xx, and the connection closes: what follows is never read as a request."""

ANSWERED = {
    "chunked": (post(CHUNKED, CHUNKS), [200]),
    "chunked after a tab": (post(b"Transfer-Encoding:\tchunked\r\n", CHUNKS), [200]),
    "a chunk extension": (post(CHUNKED, b'29;a=b;c="d"\r\n' + BODY + b"\r\n0\r\n\r\n"), [200]),
    "megabytes of chunk extension": (
        post(CHUNKED, b"29;" + b"a" * 3_000_000 + b"\r\n" + BODY + b"\r\n0\r\n\r\n"), [200],
    ),
    "a request in the place of a body": (post(b"Content-Length: 5\r\n", BODY[:5] + PROBE), [400, 200]),
    "a body on a GET": (get(b"/livez", b"Host: x\r\nContent-Length: 5\r\n") + b"hello" + PROBE, [200, 200]),
    "a whole URL of somewhere else": (get(b"http://evil.example/livez"), [200]),
    "an offer of HTTP/2": (get(b"/livez", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"), [200]),
    "an offer of HTTP/2 with a body, and more": (post(OFFER + LENGTH) + PROBE, [200, 200]),
    "an offer of HTTP/2 with chunks, and more": (post(OFFER + CHUNKED, CHUNKS) + PROBE, [200, 200]),
    "an offer of HTTP/2 with an empty body": (post(OFFER + b"Content-Length: 0\r\n", b"") + PROBE, [400, 200]),
    "an offer whose body is a request": (post(OFFER + b"Content-Length: %d\r\n" % len(PROBE), PROBE), [400]),
    "an offer of a websocket": (
        get(b"/livez", b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"), [200],
    ),
    "a path of dots": (get(b"/web/../../etc/passwd"), [404]),
    "a path of encoded dots": (get(b"/web/x/%2e%2e/%2e%2e/%2e%2e/etc/passwd"), [404]),
    "a path of encoded slashes": (get(b"/web/x/..%2f..%2fapp.py"), [404]),
    "a path of backslashes": (get(b"/web/x/..%5c..%5capp.py"), [404]),
    "two slashes": (get(b"//livez"), [404]),
    "an encoded NUL": (get(b"/livez%00"), [404]),
    "an encoded line end": (get(b"/v1/models/a%0d%0aX-Evil:%201"), [404]),
    "bytes that are no UTF-8": (get(b"/v1/models/%ff%fe"), [400]),
    "an encoded surrogate": (get(b"/v1/models/%ed%a0%80"), [400]),
    "TRACE": (b"TRACE /livez HTTP/1.1\r\nHost: x\r\nX-Secret: canary\r\n\r\n", [405]),
    "OPTIONS of everything": (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", [404]),
    "an empty body that says it is gzip": (post(b"Content-Encoding: gzip\r\nContent-Length: 0\r\n", b""), [400]),
    "a thousand line ends first": (b"\r\n" * 1_000 + PROBE, [200]),
    "nine thousand in a pipeline": (PROBE * 9_000, [200] * 9_000),
    "headers that are no text": (
        post(b"Authorization: Bearer \xff\xfe\r\nContent-Type: \xff/\xfe\r\nX-Forwarded-For: \xff,;\r\n" + LENGTH),
        [200],
    ),
    "an encoded slash in a model": (
        b"POST /v1beta/models/openai%2fgpt-4o:countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: 31\r\n\r\n"
        b'{"contents":[{"parts":[{}]}]}  ', [200],
    ),
}
"""The statuses of the responses, in order."""


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with running_server(warm="o200k_base", cors_origins="https://app.example") as server:
        yield server


def talk(server: LiveServer, data: bytes, answers: int = 1) -> bytes:
    """All that the server sends until it closes the connection, or until this many responses have come."""
    url = httpx.URL(server.url)
    received = b""
    with socket.create_connection((url.host, url.port), timeout=60) as connection:
        try:
            connection.sendall(data)
            while piece := connection.recv(65_536):
                received += piece
                if received.count(b"HTTP/1.1 ") >= answers:
                    connection.settimeout(0.1)
        except (ConnectionError, TimeoutError):  # closed while we were still sending, or open and quiet
            pass
    return received


def statuses(answer: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


@pytest.mark.parametrize("name", sorted(REFUSED_AND_CLOSED))
def test_what_could_be_read_in_two_ways_is_refused_and_the_connection_closed(server: LiveServer, name: str) -> None:
    answer = talk(server, REFUSED_AND_CLOSED[name])
    assert [status // 100 for status in statuses(answer)] == [4]
    assert b"connection: close" in answer


@pytest.mark.parametrize("name", sorted(ANSWERED))
def test_what_is_odd_and_plain_has_its_answers(server: LiveServer, name: str) -> None:
    data, wanted = ANSWERED[name]
    answer = talk(server, data, len(wanted))
    assert statuses(answer) == wanted
    assert b"canary" not in answer
    assert b"evil" not in answer.lower()


@pytest.mark.parametrize("framing", [LENGTH, CHUNKED], ids=["length", "chunks"])
def test_the_body_of_an_offer_is_never_a_request_however_it_comes(server: LiveServer, framing: bytes) -> None:
    """The parser itself assumes that such a request has no body. Its body was once read as the next request."""
    url = httpx.URL(server.url)
    body = BODY if framing == LENGTH else CHUNKS
    whole = post(OFFER + framing, body)
    for cut in (len(whole) - len(body), len(whole) - 10, 30):
        with socket.create_connection((url.host, url.port), timeout=60) as connection:
            connection.sendall(whole[:cut])
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                connection.recv(65_536)
            connection.settimeout(20)
            connection.sendall(whole[cut:] + PROBE)
            received = b""
            while received.count(b"HTTP/1.1 ") < 2:
                piece = connection.recv(65_536)
                assert piece, received
                received += piece
        assert statuses(received) == [200, 200]
        assert b'"input_tokens":1' in received


def test_trailers_are_no_headers(server: LiveServer) -> None:
    """A proxy that removes X-Forwarded-For and keys from headers does not remove them from trailers."""
    trailers = b"X-Request-Id: from-a-trailer\r\nOrigin: https://app.example\r\nX-Tallystick-Project: evil\r\n"
    answer = talk(server, post(CHUNKED, CHUNKS[:-2] + trailers + b"\r\n"))
    assert statuses(answer) == [200]
    assert b"from-a-trailer" not in answer
    assert b"access-control-allow-origin" not in answer
    assert b"access-control-allow-origin" in talk(server, post(b"Origin: https://app.example\r\n" + LENGTH))


def test_trailers_without_end_fill_no_memory(server: LiveServer) -> None:
    """A hundred megabytes of trailers once took a gigabyte of memory."""
    before = _memory(server)
    answer = talk(server, post(CHUNKED, CHUNKS[:-2] + b"X-T: 1234567890\r\n" * 2_000_000 + b"\r\n"))
    assert statuses(answer) == [200]
    assert _memory(server) - before < 30_000_000


def test_large_headers_that_come_at_once_are_refused(server: LiveServer) -> None:
    before = value(scrape(server.url), "tallystick_connections_refused_total", reason="large_headers")
    for head in (b"X-A: " + b"a" * 70_000 + b"\r\n", b"X-A: a\r\n" * 9_000):
        assert statuses(talk(server, post(head + LENGTH))) == [431]
    assert statuses(talk(server, post(b"X-A: " + b"a" * 60_000 + b"\r\n" + LENGTH))) == [200]
    after = value(scrape(server.url), "tallystick_connections_refused_total", reason="large_headers")
    assert after == before + 2


def _memory(server: LiveServer) -> int:
    return int(value(scrape(server.url), "process_resident_memory_bytes"))
