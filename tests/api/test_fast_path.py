"""The fast path answers what the slow path would have answered, byte for byte, and leaves the same behind; or nothing.

Two apps of the same settings are asked the same: one as the server asks it, by the fast path first and by the slow path
where that gives nothing, the other by the slow path alone.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from service import catalog
from service.api import operations
from service.api.request_log import RequestLog
from service.api.routing import RawRoute, ServiceRoute
from service.api.schemas.examples import get_example
from service.auth.key_store import FileStore
from service.auth.keys import Key, Scope, make_key
from service.counting.counter import Counter
from service.observability.logs import REQUESTS, RequestRecord
from service.settings import DEFAULT_WARM
from service.tokenizers import registry
from tests.support.routes import count_routes
from tests.support.texts import odd_texts, unhurried
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


@pytest.fixture(scope="module", autouse=True)
def warm() -> Iterator[None]:
    """Everything is loaded, and every request has its line."""
    for name in (*DEFAULT_WARM, "gpt2", catalog.resolve("llama-3.1-8b-instruct").family.tokenizer):
        registry.get_tokenizer(name)
    level = REQUESTS.level
    REQUESTS.setLevel(logging.INFO)
    yield
    REQUESTS.setLevel(level)


@pytest.fixture(scope="module")
def twin() -> Twin:
    return Twin()


# ---------------------------------------------------------------- every route


EXAMPLES = {
    each.path: body_of(each.request) for each in count_routes() if not each.route.operation.threaded
}
"""Path -> body, of all that counts and nothing else."""

PLAIN = [path for path in EXAMPLES if "tunedModels" not in path]
"""Nobody can count for a tuned model."""


@pytest.mark.parametrize("path", PLAIN)
async def test_the_example_of_a_count_is_answered_at_once_also_the_second_time(twin: Twin, path: str) -> None:
    for _ in range(2):
        answer = await twin.ask(Sent(path, EXAMPLES[path]))
        assert answer is not None
        assert json.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("path", sorted(EXAMPLES.keys() - set(PLAIN)))
async def test_a_count_that_nobody_can_give_is_refused_on_the_slow_path(twin: Twin, path: str) -> None:
    assert await twin.ask(Sent(path, EXAMPLES[path])) is None


@pytest.mark.parametrize("name", ["vllm_tokenize", "vllm_detokenize"])
async def test_what_asks_the_tokenizer_for_more_than_a_count_takes_the_slow_path(twin: Twin, name: str) -> None:
    each = next(each for each in count_routes() if each.name == name)
    assert await twin.ask(Sent(each.path, body_of(each.request))) is None


async def test_no_other_route_is_answered_at_once(twin: Twin) -> None:
    """Their examples might have been, by their size."""
    asked = 0
    for route in twin.fast.state.pipeline.routes.routes:
        assert isinstance(route, ServiceRoute | RawRoute)
        path = re.sub(r"{[\w:]+}", "gemini-2.5-flash", route.path)
        for method in sorted(route.methods or ()):
            if method == "POST" and path in EXAMPLES:
                assert isinstance(route, RawRoute)
                continue
            example = get_example(route.operation_id or "").request
            body = b"" if example is None else body_of(example)
            sent = Sent(path, body, method=method)
            assert twin.fast.state.pipeline.try_sync(sent.scope(), body) is None, (method, path)
            asked += 1
    assert asked > 25


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", COUNT), ("HEAD", COUNT), ("OPTIONS", COUNT), ("PUT", COUNT), ("POST", "/v1/nothing"),
        ("POST", "/livez"), ("GET", "/livez"), ("HEAD", "/livez"), ("GET", "/"), ("POST", "/web/x"),
        ("POST", f"{COUNT}/"), ("POST", f"/{COUNT}"), ("POST", "/v1beta/models/:countTokens"),
        ("POST", "/v1beta/models/\ufffd:countTokens"),
    ],
)
async def test_what_leads_to_no_count_is_left_to_the_slow_path(twin: Twin, method: str, path: str) -> None:
    assert await twin.ask(Sent(path, method=method)) is None


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o", "models/gemini-2.5-flash", "gemini-2.5-pro", "a b", "한", "gemini-2.5-flash:countTokens"]
)
async def test_a_model_in_the_path_is_read_alike(twin: Twin, model: str) -> None:
    await twin.ask(Sent(f"/v1beta/models/{model}:countTokens", EXAMPLES[GEMINI]))


# ---------------------------------------------------------------- bodies

HELLO: dict[str, Any] = {"model": "gpt-4o", "text": "Hello, world!"}

ANSWERED_BODIES: dict[str, Any] = {
    "a tokenizer": {"tokenizer": "gpt2", "text": "x"},
    "texts": {"model": "gpt-4o", "texts": ["a", "b c", ""]},
    "an empty text": {"model": "gpt-4o", "text": ""},
    "a lone surrogate": b'{"model":"gpt-4o","text":"a\\ud800b"}',
    "a pair in halves": b'{"model":"gpt-4o","text":"\\ud83d\\ude42"}',
    "a byte order mark": b'\xef\xbb\xbf{"model":"gpt-4o","text":"x"}',
    "a field that nobody knows": HELLO | {"nobody": 1},
    "the same field twice": b'{"model":"gpt-4o","text":"a","text":"b b"}',
    "blanks around": b' \n {"model":"gpt-4o","text":"x"} \n',
    "a model known by its family alone": {"model": "gpt-5-nobody-knows-it", "text": "x"},
    "a model of somebody's host": {"model": "azure/gpt-4o", "text": "x"},
    "a model of open weights": {"model": "llama-3.1-8b-instruct", "text": "x"},
    "a whole request": {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": "hi"}]}},
    "tools": {"model": "gpt-4o", "request": {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
    }},
    "special tokens": {"tokenizer": "o200k_base", "text": "<|endoftext|>", "special_tokens": "parse"},
}

REFUSED_BODIES: dict[str, Any] = {
    "nothing": b"", "no JSON": b"{", "half of a field": b'{"model":"gpt-4o","text":"', "no UTF-8": b'{"text":"\xff"}',
    "NaN": b'{"model":"gpt-4o","text":NaN}', "a list": [], "a number": 7, "null": None, "no model": {"text": "x"},
    "no text": {"model": "gpt-4o", "input": 7, "messages": 7, "contents": 7},
    "a model that nobody knows": {"model": "no-such-model", "text": "x"},
    "a tokenizer that nobody knows": {"tokenizer": "nothing", "text": "x"}, "a number for a text": HELLO | {"text": 7},
    "a list for a model": HELLO | {"model": ["gpt-4o"]}, "a model with a line end": HELLO | {"model": "gpt-4o\r\nx: y"},
    "a deep one": b"[" * 200 + b"]" * 200, "a deeper one": b"[" * 20_000,
    "a number of too many digits": b'{"model":"gpt-4o","text":' + b"1" * 5_000 + b"}",
    "special tokens of a tokenizer that has none": HELLO | {"model": "claude-opus-4-8", "special_tokens": "parse"},
}


def as_sent(body: Any) -> bytes:
    return body if isinstance(body, bytes) else body_of(body)


@pytest.mark.parametrize("name", ANSWERED_BODIES)
async def test_an_odd_body_that_can_be_counted_is_answered_at_once(twin: Twin, name: str) -> None:
    for _ in range(2):
        assert await twin.ask(Sent(body=as_sent(ANSWERED_BODIES[name]))) is not None


@pytest.mark.parametrize("path", [COUNT, MESSAGES, RESPONSES, GEMINI, "/utils/token_counter"])
@pytest.mark.parametrize("name", REFUSED_BODIES)
async def test_what_is_refused_is_refused_on_the_slow_path_once(twin: Twin, path: str, name: str) -> None:
    assert await twin.ask(Sent(path, as_sent(REFUSED_BODIES[name]))) is None


async def test_the_refused_items_of_a_batch_are_answered_once(twin: Twin) -> None:
    unknown = {"model": "no-such-model", "text": "x"}
    items: list[Any] = [HELLO, unknown, {"text": "x"}, 7, HELLO | {"text": "\ud800"}, HELLO]
    assert await twin.ask(Sent(BATCH, body_of({"items": items}))) is not None
    refused: list[Any] = [[], 7, None, [[]] * 1_001]
    for items in refused:
        await twin.ask(Sent(BATCH, body_of({"items": items})))


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


@pytest.mark.parametrize("path", ROUTES)
@settings(unhurried, max_examples=60)
@given(data=st.data())
async def test_whatever_the_body_both_paths_answer_alike(twin: Twin, path: str, data: st.DataObject) -> None:
    await twin.ask(Sent(path, data.draw(bodies(path))))


async def test_counts_that_are_alike_are_answered_in_the_words_of_each_route(twin: Twin) -> None:
    """One count is one object, whoever asks for it."""
    message = [{"role": "user", "content": "hi"}]
    chat = body_of({"model": "gpt-4o", "messages": message})
    native = body_of({"model": "gpt-4o", "request": {"messages": message}})
    answers = [
        await twin.ask(Sent(path, body))
        for _ in range(2) for path, body in ((COUNT, native), ("/utils/token_counter", chat), (RESPONSES, chat))
    ]
    assert answers[0] is not None
    assert answers[1] is not None
    assert answers[0].partition(b"\r\n\r\n")[2] != answers[1].partition(b"\r\n\r\n")[2]


# ---------------------------------------------------------------- headers and queries

TEXT = Sent(body=b"Hello, world!", headers=((b"content-type", b"text/plain"),), query=b"model=gpt-4o")

ANSWERED_REQUESTS = {
    "an id": Sent().saying((b"x-request-id", b"mine-1")),
    "an id that is none": Sent().saying((b"x-request-id", b'a"b')),
    "an empty id": Sent().saying((b"x-request-id", b"")),
    "an id that is too long": Sent().saying((b"x-request-id", b"a" * 129)),
    "two ids, the first none": Sent().saying((b"x-request-id", b"{}"), (b"x-request-id", b"second")),
    "JSON": Sent().saying((b"content-type", b"application/json; charset=utf-8")),
    "a form": Sent().saying((b"content-type", b"application/x-www-form-urlencoded")),
    "two types": Sent().saying((b"content-type", b"application/json"), (b"content-type", b"image/png")),
    "plain text": TEXT,
    "plain text with a mark": replace(TEXT, body=b"\xef\xbb\xbfx"),
    "plain text in ASCII": replace(TEXT, headers=((b"content-type", b'Text/Plain; charset="US-ASCII"'),)),
    "plain text for a tokenizer": replace(TEXT, query=b"tokenizer=gpt2"),
    "plain text that is a JSON of another route": replace(TEXT, path=MESSAGES, body=EXAMPLES[MESSAGES]),
    "a key in the query where none is asked for": replace(TEXT, query=b"key=tsk_x&model=gpt-4o"),
    "a query that nobody reads": Sent(query=b"a=b&&=&%"),
    "a project": Sent().saying((b"x-tallystick-project", b"team-a")),
    "a page of its own": Sent().saying((b"sec-fetch-site", b"same-origin"), (b"origin", b"http://x")),
    "an origin that says no more": Sent().saying((b"origin", b"https://evil.example")),
    "bytes that are no text": Sent().saying((b"content-type", b"\xff/\xfe"), (b"authorization", b"\xff")),
}

LEFT_REQUESTS = {
    "another site": Sent().saying((b"sec-fetch-site", b"cross-site")),
    "a neighbour of a site": Sent().saying((b"sec-fetch-site", b"same-site"), (b"origin", b"http://a.example")),
    "plain text without a model": replace(TEXT, query=b""),
    "plain text for nobody's model": replace(TEXT, query=b"model=no-such-model"),
    "plain text in another charset": replace(TEXT, headers=((b"content-type", b"text/plain; charset=latin-1"),)),
    "plain text that is none": replace(TEXT, body=b"\xff"),
    "plain text where it is not taken": replace(TEXT, path=MESSAGES),
    "an image": Sent().saying((b"content-type", b"image/png")),
    "a form of parts": Sent().saying((b"content-type", b"multipart/form-data; boundary=x")),
    "gzip": Sent(body=gzip.compress(body_of(HELLO)), headers=((b"content-encoding", b"gzip"),)),
    "gzip that is none": Sent().saying((b"content-encoding", b"gzip")),
    "what says that it is not encoded": Sent().saying((b"content-encoding", b"identity")),
    "an encoding that nobody knows": Sent().saying((b"content-encoding", b"br")),
}


@pytest.mark.parametrize("name", ANSWERED_REQUESTS)
async def test_an_odd_request_that_can_be_answered_is_answered_at_once(twin: Twin, name: str) -> None:
    assert await twin.ask(ANSWERED_REQUESTS[name]) is not None


@pytest.mark.parametrize("name", LEFT_REQUESTS)
async def test_what_has_to_be_unpacked_or_refused_is_left_to_the_slow_path(twin: Twin, name: str) -> None:
    assert await twin.ask(LEFT_REQUESTS[name]) is None


HEADERS = st.lists(
    st.sampled_from(sorted({
        row for sent in (*ANSWERED_REQUESTS.values(), *LEFT_REQUESTS.values()) for row in sent.headers
    })),
    max_size=4,
).map(tuple)

QUERIES = st.lists(
    st.sampled_from([b"model=gpt-4o", b"tokenizer=gpt2", b"key=tsk_x", b"engine=reference", b"a", b"", b"model=%ff"]),
    max_size=3,
).map(b"&".join)


@settings(unhurried, max_examples=150)
@given(data=st.data())
async def test_whatever_a_request_says_both_paths_answer_alike(twin: Twin, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(ROUTES))
    body = data.draw(st.one_of(st.just(EXAMPLES[path]), bodies(path), ANY_TEXTS.map(body_of)))
    await twin.ask(Sent(path, body, data.draw(HEADERS), data.draw(QUERIES)))


# ---------------------------------------------------------------- keys


class Keyring:
    """Keys of every kind, by what is wrong with them."""

    def __init__(self, file: Path) -> None:
        self.store = FileStore(file)
        self.rows: dict[str, Key] = {}
        past, later = (datetime.now(UTC) + timedelta(days=days) for days in (-1, 1))
        self.good = self._make("count")
        self.texts = {
            "good": self.good, "admin": self._make("admin"), "fresh": self._make("count", expires=later),
            "of another scope": self._make("usage"), "expired": self._make("count", expires=past),
            "of a rate": self._make("count", requests_per_minute=1_000),
            "of a token rate": self._make("count", tokens_per_minute=1_000_000),
            "unknown": make_key("x", ["count"])[0], "empty": "", "no key": "한",
        }
        self.store.change(lambda keys: keys.update(self.rows))

    def _make(self, scope: Scope, **more: Any) -> str:
        text, key = make_key(f"team-{len(self.rows)}", [scope], **more)
        self.rows[key.id] = key
        return text


AT_ONCE_WITH = ("good", "admin", "fresh")


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Keyring:
    return Keyring(tmp_path_factory.mktemp("keys") / "keys.json")


@pytest.fixture(scope="module")
def keyed(keyring: Keyring) -> Twin:
    return Twin(keys_file=keyring.store.path, projects=("team-b",))


WAYS = ("authorization", "x-api-key", "x-goog-api-key", "query")


def with_key(sent: Sent, text: str, way: str) -> Sent:
    key = text.encode()
    if way == "query":
        return replace(sent, query=b"&".join(filter(None, (b"key=" + key, sent.query))))
    return sent.saying((way.encode(), b"Bearer " + key if way == "authorization" else key))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind",
    [*AT_ONCE_WITH, "of another scope", "expired", "unknown", "empty", "no key"],
)
async def test_a_good_key_is_answered_at_once_and_any_other_is_left_to_the_slow_path(
    keyed: Twin, keyring: Keyring, kind: str, way: str
) -> None:
    for sent in (Sent(), Sent(MESSAGES, EXAMPLES[MESSAGES]), Sent(GEMINI, EXAMPLES[GEMINI])):
        sent = sent.saying((b"x-tallystick-project", b"team-b"))  # noqa: PLW2901  its key says more
        answer = await keyed.ask(with_key(sent, keyring.texts[kind], way))
        assert (answer is not None) == (kind in AT_ONCE_WITH)


@pytest.mark.parametrize("kind", ["of a rate", "of a token rate"])
async def test_a_key_of_a_rate_is_left_to_the_slow_path(keyed: Twin, keyring: Keyring, kind: str) -> None:
    for way in WAYS:
        sent = with_key(Sent(), keyring.texts[kind], way)
        assert b"\r\nratelimit: " in await answer_slowly(keyed.fast, sent)


async def test_without_a_key_nothing_is_answered_at_once(keyed: Twin) -> None:
    for sent in (*ANSWERED_REQUESTS.values(), Sent("/v1/nothing"), Sent("/livez", method="GET")):
        assert await keyed.ask(sent) is None


@pytest.mark.parametrize("query", [b"", b"model=gpt-4o", b"a=b&model=gpt-4o"])
@pytest.mark.parametrize("path", [COUNT, MESSAGES, "/v1/nothing"])
async def test_a_key_in_the_query_is_there_for_the_slow_path_too(
    keyed: Twin, keyring: Keyring, path: str, query: bytes
) -> None:
    sent = with_key(replace(LEFT_REQUESTS["gzip"], path=path, query=query), keyring.good, "query")
    assert await keyed.ask(sent) is None


@pytest.mark.parametrize("other", [b"api_key=x", b"monkey=", b"a=key=b"])
async def test_a_key_in_the_query_is_found_beside_what_ends_like_it(
    keyed: Twin, keyring: Keyring, other: bytes
) -> None:
    sent = with_key(replace(LEFT_REQUESTS["gzip"], query=other), keyring.good, "query")
    assert await keyed.ask(sent) is None


async def test_a_path_that_needs_no_key_is_answered_at_once_without(keyring: Keyring) -> None:
    twin = Twin(keys_file=keyring.store.path, public=(COUNT, "/v1/messages"), projects=("team-b",))
    for path, answered in ((COUNT, True), (MESSAGES, True), (RESPONSES, False)):
        for key in ("", keyring.good, keyring.texts["of another scope"]):
            sent = with_key(Sent(path, EXAMPLES[path]), key, "x-api-key").saying((b"x-tallystick-project", b"team-b"))
            assert (await twin.ask(sent) is not None) == (answered or key == keyring.good)


async def test_a_key_that_is_taken_back_is_refused_at_once(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "keys.json")
    twin = Twin(keys_file=keyring.store.path)
    sent = with_key(Sent(), keyring.good, "x-api-key")
    assert await twin.ask(sent) is not None
    keyring.store.change(lambda keys: keys.clear())
    for app in twin.apps:
        app.state.services.keys.refresh()
    assert await twin.ask(sent) is None


# ---------------------------------------------------------------- settings and states


@pytest.mark.parametrize("said", [b"team-b", b"team-c", b"", "팀".encode(), b"\xff"])
async def test_a_project_is_written_down_alike(said: bytes) -> None:
    twin = Twin(projects=("team-a", "team-b", "팀"))
    sent = Sent().saying((b"x-tallystick-project", said), (b"x-tallystick-project", b"team-a"))
    assert await twin.ask(sent) is not None


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
async def test_a_request_of_a_caller_with_a_rate_is_left_to_the_slow_path(limit: str) -> None:
    assert b"\r\nratelimit: " in await answer_slowly(make_app(warm=(), **{limit: 100_000}), Sent())


@pytest.mark.parametrize("origin", ["https://a.example", "*"])
async def test_where_pages_of_other_origins_may_call_everything_is_left_to_the_slow_path(origin: str) -> None:
    twin = Twin(cors_origins=(origin,))
    page = ((b"origin", b"https://a.example"), (b"sec-fetch-site", b"cross-site"))
    for sent in (Sent(), Sent().saying(*page), Sent().saying((b"origin", b"https://b.example"), page[1])):
        assert await twin.ask(sent) is None


async def test_while_it_is_stopping_every_answer_takes_the_slow_path_and_closes() -> None:
    twin = Twin()
    assert await twin.ask(Sent()) is not None
    for app in twin.apps:
        app.state.services.readiness.draining = True
    assert await twin.ask(Sent()) is None


@pytest.mark.parametrize("path", ROUTES)
async def test_a_body_of_the_largest_size_is_answered_at_once_and_no_larger_one(path: str) -> None:
    body = EXAMPLES[path]
    for most, answered in ((len(body), True), (len(body) - 1, False), (0, False)):
        assert (await Twin(inline_bytes=most).ask(Sent(path, body)) is not None) == answered


@pytest.mark.parametrize("bytes_", [(1 << 16) - 1, 1 << 16, (1 << 16) + 1])
async def test_a_body_whose_answer_is_remembered_takes_the_slow_path(bytes_: int) -> None:
    twin = Twin(inline_bytes=1 << 20)
    body = body_of(HELLO)
    sent = Sent(body=body + b" " * (bytes_ - len(body)))
    for _ in range(2):
        assert (await twin.ask(sent) is not None) == (bytes_ < 1 << 16)


async def test_a_body_that_is_too_large_is_refused_on_the_slow_path() -> None:
    body = body_of(HELLO)
    twin = Twin(max_body_bytes=1_024)
    assert await twin.ask(Sent(body=body + b" " * (1_024 - len(body)))) is not None
    assert await twin.ask(Sent(body=body + b" " * (1_025 - len(body)))) is None


async def test_where_other_bodies_hold_all_there_is_it_is_refused_on_the_slow_path() -> None:
    twin = Twin(max_body_bytes=1_024, inflight_bytes=1_024)
    body = body_of(HELLO)
    for free, answered in ((len(body), True), (len(body) - 1, False)):
        shares = [app.state.services.body_budget.reserve() for app in twin.apps]
        for share in shares:
            share.take(1_024 - free)
        assert (await twin.ask(Sent(body=body)) is not None) == answered
        for share in shares:
            share.__exit__()
    assert await twin.ask(Sent(body=body)) is not None


@pytest.mark.parametrize("path", [COUNT, BATCH])
async def test_a_tokenizer_that_is_not_loaded_is_waited_for_the_slow_path(
    twin: Twin, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = {"tokenizer": "gpt2", "text": "x"}
    sent = Sent(path, body_of(item if path == COUNT else {"items": [HELLO, item]}))
    assert await twin.ask(sent) is not None
    monkeypatch.delitem(registry._REGISTRY._loaded, ("gpt2", "auto"))
    assert await twin.ask(sent) is None
    assert await twin.ask(sent) is not None


async def test_a_file_in_a_request_takes_the_slow_path(twin: Twin) -> None:
    described = {"type": "base64", "media_type": "application/pdf", "data": {"_media": {"pages": 1}}}
    content = [{"type": "document", "source": described}, {"type": "text", "text": "?"}]
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": content}]}
    assert await twin.ask(Sent(MESSAGES, body_of(body))) is None


class Panic(BaseException):
    """As Rust raises it."""


@pytest.mark.parametrize("fault", [RuntimeError, Panic])
async def test_a_fault_inside_is_answered_on_the_slow_path(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Counter, "count", fail)
    assert await twin.ask(Sent()) is None
    monkeypatch.undo()
    assert await twin.ask(Sent()) is not None


async def test_an_answer_that_cannot_be_noted_is_given_on_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(RequestLog, "note", fail)
    assert b'"input_tokens":4' in await answer_slowly(make_app(warm=()), Sent())


# ---------------------------------------------------------------- over time


async def test_counts_without_end_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is made again."""
    monkeypatch.setattr(operations, "MAX_REPLIES", 3)
    twin = Twin()
    for words in (*range(10), *range(10)):
        assert await twin.ask(Sent(body=body_of({"model": "gpt-4o", "text": "word " * words}))) is not None
    (route,) = [route for route in twin.fast.state.pipeline.routes.routes if route.path == COUNT]
    assert 0 < len(route.operation.replies._known) <= 3


@settings(unhurried, max_examples=20)
@given(numbers=st.lists(st.integers(0, len(PLAIN) - 1), min_size=2, max_size=12))
async def test_any_order_of_requests_adds_up_alike(twin: Twin, numbers: list[int]) -> None:
    for number in numbers:
        assert await twin.ask(Sent(PLAIN[number], EXAMPLES[PLAIN[number]])) is not None


async def test_what_the_operator_changes_is_answered_by_at_once(tmp_path: Path) -> None:
    """An answer made before is not given again."""
    file = tmp_path / "catalog.toml"
    file.write_text('[aliases]\nour-chat = "gpt-4o"\n')
    twin = Twin(catalog_file=file)
    sent = Sent(body=body_of({"model": "our-chat", "text": "Hello, world!"}))
    try:
        before = await twin.ask(sent)
        file.write_text('[aliases]\nour-chat = "claude-opus-4-8"\n')
        assert [app.state.services.reload() for app in twin.apps] == [True, True]
        after = await twin.ask(sent)
        file.write_text("")
        assert [app.state.services.reload() for app in twin.apps] == [True, True]
        assert await twin.ask(sent) is None
    finally:
        make_app()
    assert before is not None
    assert after is not None
    assert b'"gpt-4o"' in before
    assert b'"claude-opus-4-8"' in after
