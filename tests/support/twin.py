"""Two apps of the same settings that are asked the same, one of them by the fast path first."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from hypothesis import strategies as st

from service.observability.logs import REQUESTS, RequestRecord
from tests.support.routes import count_routes
from tests.support.texts import odd_texts
from tests.support.web import make_app

COUNT, BATCH, MESSAGES = "/v1/countTokens", "/v1/countTokens:batch", "/v1/messages/count_tokens"
RESPONSES, GEMINI = "/v1/responses/input_tokens", "/v1beta/models/gemini-2.5-flash:countTokens"


Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class Sent:
    """A request, as a client sends it."""

    path: str = COUNT
    body: bytes = b'{"model":"gpt-4o","text":"Hello, world!"}'
    headers: Headers = ()
    query: bytes = b""
    method: str = "POST"

    def scope(self) -> dict[str, Any]:
        return {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
            "method": self.method, "scheme": "http", "path": self.path, "raw_path": quote(self.path).encode(),
            "query_string": self.query, "root_path": "", "server": ("127.0.0.1", 8080), "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"x"), (b"content-length", b"%d" % len(self.body)), *self.headers], "state": {},
        }

    def saying(self, *headers: tuple[bytes, bytes]) -> Sent:
        return replace(self, headers=(*self.headers, *headers))


async def run_slow_path(app: FastAPI, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
    """Status, and headers and body as the server writes them."""
    messages: list[Any] = []
    arriving = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return arriving.pop() if arriving else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    start, *rest = messages
    lines = [b"%b: %b\r\n" % row for row in start["headers"]]
    return start["status"], b"".join([*lines, b"\r\n", *(message["body"] for message in rest)])


class Rows(logging.Handler):
    """What was logged of requests, together and each by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[RequestRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record, RequestRecord):
            self.records.append(record)

    def take(self) -> list[dict[str, Any]]:
        rows = [dict(fields) for record in self.records for _, fields in record.rows]
        self.records.clear()
        return rows


TIMES = re.compile(r"\w+_seconds_(sum|bucket|total)|process_\w+")


def samples(app: FastAPI) -> dict[Any, float]:
    """What metrics say, but of times."""
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in app.state.services.metrics.registry.collect()
        for sample in family.samples
        if not TIMES.fullmatch(sample.name)
    }


class Twin:
    """Two apps of the same settings."""

    def __init__(self, **given: Any) -> None:
        self.fast, self.slow = make_app(warm=(), **given), make_app(warm=(), **given)
        self.rows = Rows()

    @property
    def apps(self) -> tuple[FastAPI, FastAPI]:
        return self.fast, self.slow

    async def ask(self, sent: Sent) -> bytes | None:
        """What the fast path answers. Whatever it is, in the end the same is answered, and the same is written down."""
        REQUESTS.addHandler(self.rows)
        try:
            return await self._ask(sent)
        finally:
            REQUESTS.removeHandler(self.rows)

    async def _ask(self, sent: Sent) -> bytes | None:
        scope = sent.scope()
        before = [samples(app) for app in self.apps]
        for app in self.apps:
            app.state.services.ledger._notes.clear()
        at_once: bytes | None = self.fast.state.pipeline.try_sync(scope, sent.body)
        fast = (200, at_once) if at_once is not None else await run_slow_path(self.fast, scope, sent.body)
        await asyncio.sleep(0)
        left = self._left(self.fast, fast[1], before[0])
        slow = await run_slow_path(self.slow, sent.scope(), sent.body)
        assert without_id(sent, *fast) == without_id(sent, *slow)
        assert at_once is None or slow[0] == 200
        assert left == self._left(self.slow, slow[1], before[1])
        return at_once

    def _left(self, app: FastAPI, answer: bytes, before: dict[Any, float]) -> Any:
        """What was written down of a request. The ledger's quarter of an hour may end in the meantime."""
        (row,) = self.rows.take()
        assert id_in(answer) == row.pop("request_id").encode()
        assert row.pop("ms") >= 0
        noted = [(note.whose[1:], note.tokens, note.cost) for note in app.state.services.ledger._notes]
        added = {name: round(value - before.get(name, 0), 12) for name, value in samples(app).items()}
        return row, noted, {name: value for name, value in added.items() if value}


def id_in(answer: bytes) -> bytes:
    (found,) = re.findall(rb"^x-request-id: (.*)\r$", answer.partition(b"\r\n\r\n")[0] + b"\r", re.MULTILINE)
    return bytes(found)


def without_id(sent: Sent, status: int, answer: bytes) -> tuple[int, bytes]:
    """The answer, without an id that was made up for it."""
    own = id_in(answer)
    return status, answer if (b"x-request-id", own) in sent.headers else answer.replace(own, b"its-id")


async def answer_slowly(app: FastAPI, sent: Sent) -> bytes:
    """A good answer, which the fast path did not give."""
    scope = sent.scope()
    assert app.state.pipeline.try_sync(scope, sent.body) is None
    status, answer = await run_slow_path(app, scope, sent.body)
    assert status == 200
    return answer


def body_of(value: Any) -> bytes:
    return json.dumps(value).encode()


# ---------------------------------------------------------------- what is asked

EXAMPLES = {
    each.path: body_of(each.request) for each in count_routes() if not each.route.operation.threaded
}
"""Path -> body, of all that counts and nothing else."""

PLAIN = [path for path in EXAMPLES if "tunedModels" not in path]
"""Nobody can count for a tuned model."""

HELLO: dict[str, Any] = {"model": "gpt-4o", "text": "Hello, world!"}

ANY_TEXTS = st.one_of(odd_texts(), st.text(max_size=8), st.text(st.characters(categories=["Cs"]), max_size=3))
"""Lone surrogates, too."""

MODELS = st.sampled_from([
    "gpt-4o", "gpt-4.1-mini", "o3", "gpt-5-x", "azure/gpt-4o", "claude-sonnet-4-5", "claude-opus-4-8", "claude-3-haiku",
    "gemini-2.5-flash", "models/gemini-2.0-flash", "llama-3.1-8b-instruct", "no-such-model", "", "\ud800",
])

WRONG = st.sampled_from([None, True, 0, -1.5, [], {}, "", [None], {"text": None}])


@st.composite
def bodies(draw: st.DrawFn, path: str) -> bytes:
    """By what a route takes; now and then with a wrong part in it, or in bytes that are no JSON."""
    text, model = draw(ANY_TEXTS), draw(MODELS)
    content: Any = draw(st.sampled_from([text, [{"type": "text", "text": text}], draw(WRONG)]))
    messages = [{"role": draw(st.sampled_from(["user", "assistant", "system", "x"])), "content": content}]
    parts = [{"parts": [{"text": text}]}, {"role": "model", "parts": draw(WRONG)}]
    natives: list[dict[str, Any]] = [{"text": text}, {"texts": [text, "x"]}, {"request": {"messages": messages}}]
    native = draw(st.sampled_from(natives))
    value: dict[str, Any] = {
        COUNT: {"model": model, **native}, BATCH: {"items": [{"model": model, **native}, draw(WRONG)]},
        MESSAGES: {"model": model, "messages": messages, "system": text},
        RESPONSES: {"model": model, "input": content, "instructions": text},
        GEMINI: {"contents": parts[:draw(st.integers(0, 2))], "systemInstruction": {"parts": [{"text": text}]}},
        "/utils/token_counter": {"model": model, "messages": messages},
    }[path]
    if draw(st.integers(0, 5)) == 0:
        value[draw(st.sampled_from([*value, "nobody"]))] = draw(WRONG)
    whole = json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from([whole] * 5 + [b"\xef\xbb\xbf" + whole, whole[:-1], whole + b"\0"]))


ROUTES = (COUNT, BATCH, MESSAGES, RESPONSES, GEMINI, "/utils/token_counter")
