"""What the fast path has read is handed on to the slow path: no body is read twice, and no request gets another's."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api import pipeline, routing
from service.dialects import json as json_module
from service.tokenizers import registry
from tests.media.media_files import png
from tests.support.served import read_answers, served
from tests.support.texts import unhurried
from tests.support.web import make_app

COUNT, MESSAGES = "/v1/countTokens", "/v1/messages/count_tokens"


def post(path: str, body: bytes, head: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def image(width: int = 3) -> dict[str, Any]:
    """A Messages request with an image."""
    data = base64.b64encode(png(width, 5)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
    return {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": content}]}


def text(words: int) -> dict[str, Any]:
    return {"tokenizer": "o200k_base", "text": "word " * words}


def chat(turns: int, last: Any = "And now?") -> dict[str, Any]:
    """A conversation that is long enough to be kept, and its last message."""
    turn = [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "word " * 200}]
    return {"model": "gpt-4o", "messages": [*turn * turns, {"role": "user", "content": last}]}


UNKNOWN = {"model": "no-such-model", "text": "x"}

READ_AT_ONCE: dict[str, tuple[bytes, int, int]] = {
    "a short text": (post(COUNT, as_json(text(3))), 200, 1),
    "an image": (post(MESSAGES, as_json(image())), 200, 1),
    "an image that cannot be read": (post(MESSAGES, as_json(image()).replace(b"iVBOR", b"AAAAA")), 200, 1),
    "an image in a refused request": (post(MESSAGES, as_json(image() | {"system": 7})), 400, 1),
    "a tokenizer that is not loaded": (post(COUNT, as_json({"tokenizer": "p50k_edit", "text": "x"})), 200, 1),
    "a model that nobody knows": (post(COUNT, as_json(UNKNOWN)), 404, 1),
    "no JSON": (post(COUNT, b"{"), 400, 1),
    "a wrong field": (post(COUNT, as_json({"model": "gpt-4o", "text": 7})), 400, 1),
    "a refused Messages request": (post(MESSAGES, as_json({"model": "claude-sonnet-4-5"})), 400, 1),
    "a batch": (post(f"{COUNT}:batch", as_json({"items": [text(1), UNKNOWN]})), 200, 1),
    "a batch with an image": (post(f"{COUNT}:batch", as_json({"items": [
        {"model": "claude-sonnet-4-5", "request": {"messages": image()["messages"]}},
    ]})), 200, 1),
    "a batch that is none": (post(f"{COUNT}:batch", as_json({"items": 7})), 400, 1),
    "a conversation": (post("/utils/token_counter", as_json(chat(4))), 200, 1),
    "a conversation with a wrong end": (post("/utils/token_counter", as_json(chat(4, 7))), 400, 1),
}
"""A request, its status, and how often its body is read. The fast path has read these."""

READ_LATER: dict[str, tuple[bytes, int, int]] = {
    "the type of a file": (post(COUNT, as_json(text(3)), "Content-Type: image/png\r\n"), 415, 0),
    "plain text": (post(f"{COUNT}?model=gpt-4o", b"hello", "Content-Type: text/plain\r\n"), 200, 0),
    "gzip": (post(COUNT, gzip.compress(as_json(text(3))), "Content-Encoding: gzip\r\n"), 200, 1),
    "a long text": (post(COUNT, as_json(text(20_000))), 200, 1),
    "a long text that is refused": (post(COUNT, as_json(text(20_000))[:-1]), 400, 1),
    "an operation of threads": (post("/tokenize", as_json({"model": "gpt-4o", "prompt": "hello"})), 200, 1),
    "an operation that is no count": (post("/v1/split", as_json({**text(3), "max_tokens": 2})), 200, 1),
    "one that is refused": (post("/v1/split", as_json(text(3))), 400, 1),
    "a path that is none": (post("/v1/nothing", as_json(text(3))), 404, 0),
}
"""The same of what the fast path leaves before it reads."""

REQUESTS = READ_AT_ONCE | READ_LATER


class Readings:
    """How often a body was read as JSON."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for module in (pipeline, routing):
            monkeypatch.setattr(module, "read_json", self._read)

    def _read(self, body: bytes) -> Any:
        self.count += 1
        return json_module.read_json(body)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    for name in ("o200k_base", "claude-v3"):
        registry.get_tokenizer(name)


@pytest.fixture
def not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(registry._REGISTRY._loaded, ("p50k_edit", "auto"), raising=False)


@pytest.mark.usefixtures("not_loaded")
@pytest.mark.parametrize("name", REQUESTS)
async def test_a_body_is_read_once(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sent, status, readings = REQUESTS[name]
    seen = Readings(monkeypatch)
    async with served(make_app(warm=())) as (connection, other_end):
        connection.data_received(sent)
        ((found, _),) = await read_answers(other_end, 1)
    assert (found, seen.count) == (status, readings)


@pytest.mark.usefixtures("not_loaded")
@pytest.mark.parametrize("name", REQUESTS)
async def test_a_body_that_comes_after_its_headers_is_read_once_too(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The fast path is not asked at all."""
    sent, status, readings = REQUESTS[name]
    head, _, body = sent.partition(b"\r\n\r\n")
    seen = Readings(monkeypatch)
    async with served(make_app(warm=())) as (connection, other_end):
        connection.data_received(head + b"\r\n\r\n")
        await asyncio.sleep(0)
        connection.data_received(body)
        ((found, _),) = await read_answers(other_end, 1)
    assert (found, seen.count) == (status, readings)


async def test_of_a_known_conversation_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the new part is refused, all of it is read, once, to say where."""
    seen = Readings(monkeypatch)
    async with served(make_app(warm=())) as (connection, other_end):
        for last, status, readings in (("first", 200, 1), ("second", 200, 1), (7, 400, 2)):
            connection.data_received(post("/utils/token_counter", as_json(chat(4, last))))
            ((found, _),) = await read_answers(other_end, 1)
            assert (found, seen.count) == (status, readings), last


# ---------------------------------------------------------------- one request and another


@pytest.fixture(scope="module")
def alone() -> dict[str, tuple[int, bytes]]:
    """What each request is answered over a connection of its own by an app of its own."""
    async def ask(sent: bytes) -> tuple[int, bytes]:
        async with served(make_app(warm=())) as (connection, other_end):
            connection.data_received(sent)
            (answer,) = await read_answers(other_end, 1)
        return answer

    return {name: without_id(asyncio.run(ask(sent))) for name, (sent, _, _) in REQUESTS.items()}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return make_app(warm=())


def without_id(answer: tuple[int, bytes]) -> tuple[int, bytes]:
    """Errors of some dialects have an id that is made up."""
    status, body = answer
    value = json.loads(body)
    if isinstance(value, dict):
        value.pop("request_id", None)
        if isinstance(value.get("error"), dict):
            value["error"].pop("request_id", None)
    return status, as_json(value)


@pytest.mark.parametrize("together", [False, True], ids=["one after the other", "in a pipeline"])
@settings(unhurried, max_examples=40)
@given(names=st.lists(st.sampled_from(sorted(REQUESTS)), min_size=2, max_size=6))
async def test_what_was_read_for_one_request_is_no_part_of_the_next(
    app: FastAPI, alone: dict[str, tuple[int, bytes]], names: list[str], together: bool
) -> None:
    async with served(app) as (connection, other_end):
        if together:
            connection.data_received(b"".join(REQUESTS[name][0] for name in names))
            answers = await read_answers(other_end, len(names))
        else:
            answers = []
            for name in names:
                connection.data_received(REQUESTS[name][0])
                answers += await read_answers(other_end, 1)
    assert [without_id(answer) for answer in answers] == [alone[name] for name in names]
