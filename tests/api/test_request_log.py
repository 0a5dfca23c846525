"""What is answered in one round of the event loop is written down once, and adds up as if each were alone."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from service import catalog
from service.api.context import RequestContext
from service.api.request_log import RequestLog
from service.counting.counter import Counter
from service.dialects import native
from service.ledger.ledger import Billed, _Counted
from service.observability.logs import REQUESTS, RequestRecord
from service.observability.metric_rows import MAX_MODELS
from service.observability.metrics import Metrics
from tests.support.texts import unhurried
from tests.support.twin import Rows, Sent, body_of, samples
from tests.support.web import client_of, make_app

TEXTS = ("", "hello", "Hello, world!", "hello")


@pytest.fixture
def app() -> FastAPI:
    app = make_app(warm=(), projects=("team-a",))
    app.state.services.counter.count(native.read({"model": "gpt-4o", "text": "x"}))  # its tokenizer is loaded
    return app


@pytest.fixture(scope="module", autouse=True)
def every_line() -> Iterator[None]:
    level = REQUESTS.level
    REQUESTS.setLevel(logging.INFO)
    yield
    REQUESTS.setLevel(level)


def records(caplog: pytest.LogCaptureFixture) -> list[list[dict[str, Any]]]:
    """The rows of each record: of requests that were written together."""
    return [[dict(row) for _, row in found.rows] for found in caplog.records if isinstance(found, RequestRecord)]


def metric(app: FastAPI, name: str, **labels: str) -> float | None:
    value: float | None = app.state.services.metrics.registry.get_sample_value(f"tallystick_{name}", labels)
    return value


def answer(app: FastAPI, text: str, *headers: tuple[bytes, bytes]) -> None:
    sent = Sent(body=body_of({"model": "gpt-4o", "text": text})).saying(*headers)
    assert app.state.pipeline.try_sync(sent.scope(), sent.body) is not None


# ---------------------------------------------------------------- rounds


async def test_a_round_is_written_once_and_together(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    before = samples(app)
    for number, text in enumerate(TEXTS):
        answer(app, text, (b"x-request-id", b"%d" % number), (b"x-tallystick-project", b"team-a"))
    assert records(caplog) == []
    assert list(app.state.services.ledger._notes) == []
    assert metric(app, "requests_total", route="/v1/countTokens", status="2xx") is None
    assert {name for name, value in samples(app).items() if value != before.get(name)} <= {
        ("tallystick_cache_lookups_total", ("outcome", outcome), ("tier", "memory")) for outcome in ("hit", "miss")
    }
    await asyncio.sleep(0)
    (rows,) = records(caplog)
    assert [row["request_id"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["tokens"] for row in rows] == [0, 1, 4, 1]
    assert {row["project"] for row in rows} == {"team-a"}
    assert [(note.whose[1:], note.tokens) for note in app.state.services.ledger._notes] == [
        (("team-a", "gpt-4o"), tokens) for tokens in (0, 1, 4, 1)
    ]
    assert metric(app, "requests_total", route="/v1/countTokens", status="2xx") == 4
    assert metric(app, "tokens_counted_total", provider="openai", model="gpt-4o", method="exact") == 6


async def test_the_next_round_is_written_by_itself(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    for texts in (TEXTS[:3], TEXTS[3:]):
        for text in texts:
            answer(app, text)
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [len(rows) for rows in records(caplog)] == [3, 1]
    assert metric(app, "requests_total", route="/v1/countTokens", status="2xx") == 4


async def test_a_request_that_waits_is_written_when_it_ends_and_is_in_flight_until_then(
    app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    log, context = app.state.pipeline.log, RequestContext("waits", "POST", "/v1/countTokens")
    with log.open(context):
        assert log.metrics.in_flight == 1
        answer(app, "hello", (b"x-request-id", b"short"))
        context.status = 200
    assert log.metrics.in_flight == 0
    await asyncio.sleep(0)
    assert [[row["request_id"] for row in rows] for rows in records(caplog)] == [["waits"], ["short"]]


async def test_a_request_that_fails_is_written_too(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    log = app.state.pipeline.log
    with pytest.raises(RuntimeError), log.open(RequestContext("broken", error="internal")):
        raise RuntimeError
    ((row,),) = records(caplog)
    assert (row["request_id"], row["error"], row["tokens"]) == ("broken", "internal", None)
    assert metric(app, "requests_total", route="other", status="5xx") == 1
    assert log.metrics.in_flight == 0


async def test_both_ways_are_in_the_scrape_of_the_next_round(app: FastAPI) -> None:
    async with client_of(app) as client:
        answer(app, "hello")
        posted = await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": "hello"})
        assert posted.status_code == 200
        await asyncio.sleep(0)
        text = (await client.get("/metrics")).text
    assert 'tallystick_requests_total{route="/v1/countTokens",status="2xx"} 2.0' in text
    assert "tallystick_requests_in_flight 1.0" in text


async def test_a_line_has_how_long_it_took_and_when_it_ended(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    context = RequestContext("id", route="/v1/countTokens", status=200, body_bytes=7)
    app.state.pipeline.log.note(context)
    assert context.seconds >= 0
    ended = context.ended
    await asyncio.sleep(0)
    (record,) = (found for found in caplog.records if isinstance(found, RequestRecord))
    ((at, row),) = record.rows
    assert at == ended == record.created
    assert row == {
        "request_id": "id", "method": "GET", "route": "/v1/countTokens", "status": 200, "ms": row["ms"], "bytes": 7,
        "tokens": None, "project": "default", "error": None,
    }
    assert row["ms"] == pytest.approx(context.seconds * 1_000, abs=0.006)
    assert json.loads(json.dumps(row["ms"])) == round(row["ms"], 2)


# ---------------------------------------------------------------- together and alone

COUNTER = Counter.in_memory()

COUNTS = [
    COUNTER.count(native.read({"text": text, **whose}))
    for text in ("", "hello", "Hello, world!")
    for whose in (
        {"model": "gpt-4o"}, {"model": "azure/gpt-4o"}, {"model": "gpt-5-nobody-knows-it"}, {"tokenizer": "o200k_base"},
        {"model": "gpt-4o", "engine": "reference"},
    )
]
"""Of a model, by another name of it, of its family alone, of none, by another engine."""

BILL = Billed(catalog.resolve("gpt-4o"), 61, 9, Decimal("0.0002425"), 60, "exact", at=1e9)

CONTEXTS = st.builds(
    RequestContext,
    st.text("ab", min_size=1, max_size=2),
    route=st.sampled_from(["/v1/countTokens", "/v1/countTokens:batch", "/livez", "other", "/made/up"]),
    status=st.sampled_from([0, 200, 204, 304, 400, 401, 499, 503]),
    body_bytes=st.sampled_from([0, 1, 1 << 14, (1 << 14) + 1, 1 << 18, 1 << 23]),
    counts=st.lists(st.sampled_from(COUNTS), max_size=4),
    booked=st.booleans(),
    billed=st.sampled_from([None, BILL]),
    error=st.sampled_from([None, "invalid_request", "unknown_model", "nobody_knows_it"]),
    project=st.sampled_from(["default", "team-a"]),
    seconds=st.sampled_from([0.0, 0.0004, 0.003, 1.5, 40.0]),
)


def written(contexts: Sequence[RequestContext], *, together: bool) -> tuple[dict[Any, float], list[Any], list[Any]]:
    """What metrics, ledger and log get of requests."""
    log: RequestLog = make_app(warm=()).state.pipeline.log
    rows = Rows()
    REQUESTS.addHandler(rows)
    try:
        for group in [contexts] if together else [[context] for context in contexts]:
            log.write(group)
    finally:
        REQUESTS.removeHandler(rows)
    notes = [(note.whose[1:], note.tokens, note.cost) if isinstance(note, _Counted) else note
             for note in log.ledger._notes]
    return everything(log.metrics), notes, rows.take()


def everything(metrics: Metrics) -> dict[Any, float]:
    """With times: they are those that were given. Sums of the same numbers in another order are nearly the same."""
    return {
        (sample.name, *sorted(sample.labels.items())): round(sample.value, 9)
        for family in metrics.registry.collect()
        for sample in family.samples
    }


@settings(unhurried, max_examples=80)
@given(contexts=st.lists(CONTEXTS, min_size=1, max_size=8))
def test_what_is_written_together_adds_up_as_if_each_were_alone(contexts: list[RequestContext]) -> None:
    assert written(contexts, together=True) == written(contexts, together=False)


def test_the_models_that_get_a_series_are_the_first_also_of_those_that_are_written_together() -> None:
    """By the order in which they were asked for."""
    one = COUNTS[0]
    contexts = [
        RequestContext("id", route="/livez", status=200, counts=[replace(one, model=f"m{number}", input_tokens=1)])
        for number in range(MAX_MODELS + 3)
    ]
    together, alone = (written(contexts, together=way) for way in (True, False))
    assert together == alone
    tokens = {labels[1][1] for (name, *labels) in together[0] if name == "tallystick_tokens_counted_total"}
    assert "other" in tokens
    assert f"m{MAX_MODELS}" not in tokens
