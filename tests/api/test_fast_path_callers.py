"""The fast path and what a request says beside its body: headers, a query, a key. See test_fast_path.py."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.auth.key_store import FileStore
from service.auth.keys import Key, Scope, make_key
from tests.support.texts import unhurried
from tests.support.twin import (
    ANY_TEXTS,
    COUNT,
    EXAMPLES,
    GEMINI,
    HELLO,
    MESSAGES,
    RESPONSES,
    ROUTES,
    Sent,
    Twin,
    answer_slowly,
    bodies,
    body_of,
)
from tests.support.web import make_app

pytestmark = pytest.mark.usefixtures("warm")

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


# ---------------------------------------------------------------- settings


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
