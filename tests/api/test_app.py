from __future__ import annotations

import logging
import re
import subprocess
import sys
from typing import Any

import httpx
import pytest

from service.counting.counter import Counter
from service.errors import TokenizerUnavailable
from service.observability.logs import RequestRecord
from service.types import CountRequest, TokenCount
from tests.support.web import client_of, find_dialect, make_app


def test_a_started_service_has_imported_no_engine_and_nothing_that_only_some_requests_need() -> None:
    code = "import sys, service.server.run; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    late = {"genai_prices", "splintr", "tiktoken", "tokenizers", "ctok", "wasmtime", "pypdf", "rich", "redis", "limits"}
    assert not late & set(done.stdout.split())


# ---------------------------------------------------------------- headers


async def test_what_a_dialect_has_no_field_for_goes_into_headers() -> None:
    async with client_of(make_app()) as client:
        answer = await client.post("/v1/countTokens", json={"tokenizer": "o200k_base", "text": "hello"})
    assert {name: value for name, value in answer.headers.items() if name.startswith("x-tallystick")} == {
        "x-tallystick-method": "exact", "x-tallystick-error-band": "1-1", "x-tallystick-uncounted": "0",
        "x-tallystick-tokenizer": "o200k_base", "x-tallystick-cost": "unknown",
    }


@pytest.mark.parametrize("sent", ["abc-123", "req_0.1:2/3+4=", "x" * 128])
async def test_a_sane_request_id_is_kept(sent: str) -> None:
    async with client_of(make_app()) as client:
        assert (await client.get("/livez", headers={"x-request-id": sent})).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "a b", 'a"b', "x" * 129])
async def test_any_other_request_id_is_replaced(sent: str) -> None:
    async with client_of(make_app()) as client:
        found = [(await client.get("/livez", headers={"x-request-id": sent})).headers["x-request-id"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in found)
    assert found[0] != found[1]


# ---------------------------------------------------------------- refusals, in the caller's own dialect


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/countTokens", "native"),
        ("/v1/messages/count_tokens", "anthropic"),
        ("/v1/responses/input_tokens", "openai"),
        ("/v1beta/models/gemini-2.5-flash:countTokens", "google"),
    ],
)
async def test_every_refusal_is_written_in_the_dialect_of_its_path(path: str, dialect: str) -> None:
    async with client_of(make_app(max_body_bytes=2_000)) as client:
        answers = {
            404: await client.post(path + "/nothing/here", json={}),
            405: await client.get(path),
            413: await client.post(path, content=b" " * 3_000),
            415: await client.post(path, content=b"x", headers={"content-encoding": "br"}),
            400: await client.post(path, content=b"{"),
        }
    for status, answer in answers.items():
        assert (answer.status_code, find_dialect(answer.json())) == (status, dialect), answer.text
    assert answers[405].headers["allow"] == "POST"


async def test_a_fault_inside_is_a_500_in_the_dialect_that_says_nothing_of_the_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Panic(BaseException):
        """What a Rust panic looks like from Python."""

    def explode(*_: Any) -> None:
        raise Panic("hunter2")

    monkeypatch.setattr("service.counting.counter.Counter.count", explode)
    async with client_of(make_app()) as client:
        answer = await client.post(
            "/v1/messages/count_tokens",
            json={"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "hunter2"}]},
        )
        assert (await client.get("/livez")).status_code == 200
    assert (answer.status_code, find_dialect(answer.json())) == (500, "anthropic")
    assert "hunter2" not in answer.text
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == ["request failed"]


async def test_a_fault_in_one_item_leaves_the_others_their_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Counter.count

    def explode(counter: Counter, request: CountRequest) -> TokenCount:
        if request.texts == ("boom",):
            raise ZeroDivisionError
        return real(counter, request)

    monkeypatch.setattr("service.counting.counter.Counter.count", explode)
    items = [{"tokenizer": "gpt2", "text": text} for text in ("boom", "hello")]
    async with client_of(make_app()) as client:
        body = (await client.post("/v1/countTokens:batch", json={"items": items})).json()
    assert body["results"][0]["error"]["code"] == "internal"
    assert body["results"][1]["input_tokens"] == 1


async def test_a_tokenizer_that_does_not_load_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(*_: Any) -> None:
        raise TokenizerUnavailable("the file is damaged")

    monkeypatch.setattr("service.tokenizers.registry.get_tokenizer", unavailable)
    async with client_of(make_app()) as client:
        answer = await client.post("/v1/countTokens", json={"tokenizer": "o200k_base", "text": "hello"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "tokenizer_unavailable")


# ---------------------------------------------------------------- logs and metrics


async def test_a_request_is_one_log_line_without_a_word_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with client_of(make_app()) as client:
        await client.post(
            "/v1/countTokens?key=hunter2", json={"tokenizer": "gpt2", "text": "hunter2"},
            headers={"authorization": "Bearer hunter2", "x-request-id": "r1"},
        )
        await client.post("/v1/countTokens?key=hunter2", content=b'{"tokenizer": "hunter2", "text": hunter2}')
    records = [record for record in caplog.records if isinstance(record, RequestRecord)]
    lines = [fields for record in records for _, fields in record.rows]
    assert [(row["route"], row["status"], row["tokens"], row["error"]) for row in lines] == [
        ("/v1/countTokens", 200, 2, None), ("/v1/countTokens", 400, None, "invalid_request"),
    ]
    assert lines[0]["request_id"] == "r1"
    own = [record for record in caplog.records if not record.name.startswith("httpx")]
    assert not any("hunter2" in str(vars(record)) for record in own)


def series(text: str) -> set[str]:
    return {line.rpartition(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}


async def scrape(client: httpx.AsyncClient) -> str:
    return (await client.get("/metrics")).text


async def test_metrics_tell_what_was_counted() -> None:
    async with client_of(make_app()) as client:
        await client.post("/v1/countTokens", json={"model": "gpt-4o", "texts": ["hello"] * 5})
        await client.post("/v1/countTokens", json={"model": "gpt-4o"})
        text = await scrape(client)
    assert 'tallystick_requests_total{route="/v1/countTokens",status="2xx"} 1.0' in text
    assert 'tallystick_rejections_total{code="invalid_request"} 1.0' in text
    assert 'tallystick_tokens_counted_total{method="exact",model="gpt-4o",provider="openai"} 5.0' in text
    counted = [line for line in text.splitlines() if line.startswith("tallystick_counts_total{")]
    assert len(counted) == 1
    assert counted[0].endswith(" 1.0")
    for label in ('provider="openai"', 'tokenizer="o200k_base"', 'method="exact"', 'engine="fast"', 'family="'):
        assert label in counted[0]
    assert "tallystick_requests_in_flight 1.0" in text  # the scrape itself


async def test_no_path_and_no_model_name_adds_a_series() -> None:
    async with client_of(make_app()) as client:
        async def everything(name: str) -> None:
            await client.get(f"/{name}")
            await client.get(f"/v1/{name}/x?{name}={name}")
            await client.post(f"/v1beta/models/{name}:countTokens", json={"contents": []})
            await client.post("/v1/countTokens", json={"model": name, "text": "x"})
            await client.post("/v1/countTokens", json={"tokenizer": name, "text": "x"})
            await client.post("/v1/countTokens", json={"model": f"gpt-5-{name}", "text": "x"})
            await client.post("/v1/countTokens:batch", json={"items": [{"model": name, "text": "x"}]})

        await everything("first")
        await scrape(client)
        before = series(await scrape(client))
        for i in range(40):
            await everything(f"name-{i * 7919}")
        assert series(await scrape(client)) == before
