from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from service.api.context import RequestContext
from service.observability import multiprocess
from service.observability.metric_rows import MAX_MODELS, error_codes
from service.observability.metrics import Metrics
from service.types import InputCost, TokenCount
from tests.support.web import client_of, make_app


def read(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(f"tallystick_{name}", labels)


def count_of(tokens: int = 1, **more: Any) -> TokenCount:
    given = {"model": "gpt-4o", "model_ref": "gpt-4o", "model_match": "known", "provider": "openai"} | more
    return TokenCount(tokens, "exact", tokens, tokens, "o200k_base", "r", {"messages": tokens}, engine="fast", **given)


def answered(route: str, seconds: float, body_bytes: int) -> RequestContext:
    return RequestContext("id", route=route, status=200, seconds=seconds, body_bytes=body_bytes)


async def test_latency_is_by_route_and_size() -> None:
    app = make_app()
    async with client_of(app) as client:
        for size in (10, 10, 20_000, 300_000):
            await client.post("/v1/countTokens", json={"tokenizer": "gpt2", "text": "x" * size})
        await client.get("/livez")
    registry = app.state.services.metrics.registry
    seen = {
        size: read(registry, "request_seconds_count", route="/v1/countTokens", size=size)
        for size in ("none", "to_16_kib", "to_256_kib", "to_4_mib", "over_4_mib")
    }
    assert seen == {"none": None, "to_16_kib": 2, "to_256_kib": 1, "to_4_mib": 1, "over_4_mib": None}
    assert read(registry, "request_seconds_count", route="/livez", size="none") == 1


async def test_tokens_and_cost_are_by_canonical_model() -> None:
    app = make_app()
    async with client_of(app) as client:
        for model in ("gpt-4o", "openai/gpt-4o", "azure/gpt-4o", "gpt-5-nobody-knows-it", "llama-3.1-8b-instruct"):
            answer = await client.post("/v1/countTokens", json={"model": model, "text": "word " * 99 + "word"})
            assert answer.json()["input_tokens"] == 100
        await client.post("/v1/countTokens", json={"tokenizer": "gpt2", "text": "word " * 99 + "word"})
    registry = app.state.services.metrics.registry
    assert read(registry, "tokens_counted_total", provider="openai", model="gpt-4o", method="exact") == 300
    assert read(registry, "cost_usd_total", provider="openai", model="gpt-4o") == pytest.approx(300 * 2.5e-6)
    assert read(registry, "tokens_counted_total", provider="openai", model="other", method="estimate") == 100
    assert read(registry, "tokens_counted_total", provider="none", model="none", method="exact") == 100
    assert read(registry, "cost_usd_total", provider="none", model="none") is None


def test_what_has_no_price_is_told_apart() -> None:
    metrics = Metrics()
    cost = InputCost(usd=Decimal("0.5"), price_status="known", prices_version="1")
    metrics.record_counts([count_of(5, cost=cost), count_of(7), count_of(11)])
    labels = {"provider": "openai", "model": "gpt-4o"}
    assert read(metrics.registry, "cost_usd_total", **labels) == 0.5
    assert read(metrics.registry, "unpriced_tokens_total", **labels) == 18
    assert read(metrics.registry, "tokens_counted_total", **labels, method="exact") == 23


def test_labels_are_of_closed_sets_whatever_a_count_says() -> None:
    metrics = Metrics()
    for i in range(3 * MAX_MODELS):
        metrics.record_counts([count_of(provider=f"maker-{i}", model=f"model-{i}", family=f"family-{i}")])
        metrics.record_rejection(f"code-{i}")
        metrics.record_requests([answered(f"/path/{i}", 0.1, i)])
    text = generate_latest(metrics.registry).decode()
    assert text.count("tallystick_tokens_counted_total{") <= MAX_MODELS + 1
    assert text.count("tallystick_counts_total{") == 1
    assert text.count("tallystick_rejections_total{") == 1
    assert text.count("tallystick_requests_total{") == 1


def test_every_error_has_its_code() -> None:
    assert {"rate_limited", "deadline_exceeded", "keys_unavailable", "forbidden", "internal"} <= error_codes()


async def test_tokenizers_tell_what_they_did() -> None:
    app = make_app()
    async with client_of(app) as client:
        for text in ("한글" * 2_000, "x" * 10_000):
            await client.post("/v1/countTokens", json={"tokenizer": "o200k_base", "text": text})
        text = (await client.get("/metrics")).text
    registry = app.state.services.metrics.registry
    assert read(registry, "tokenized_bytes_total", tokenizer="o200k_base") == 12_000 + 10_000
    assert read(registry, "tokenized_texts_total", tokenizer="o200k_base") == 2
    assert (read(registry, "tokenize_seconds_total", tokenizer="o200k_base") or 0) > 0
    assert 'tallystick_tokenizer_engine{engine="fast",tokenizer="o200k_base"} 1.0' in text
    assert 'tallystick_tokenizer_golden{outcome="ok",tokenizer="o200k_base"} 1.0' in text
    assert 'tallystick_tokenizer_fallbacks_total{tokenizer="o200k_base"} 0.0' in text
    assert read(registry, "workers") == 1
    for name, least in (("resident_memory_bytes", 1 << 20), ("open_fds", 3), ("cpu_seconds_total", 0.1)):
        found = registry.get_sample_value(f"process_{name}")
        assert found is not None
        assert found >= least


# ---------------------------------------------------------------- several processes


def work(tokens: int, die: bool) -> None:
    """What a worker does: counts, holds a gauge, ends in one way or the other."""
    multiprocess.use_own_files()
    metrics = Metrics()
    metrics.record_counts([count_of(tokens)])
    metrics.record_requests([answered("x", 0.003, 5)])
    metrics.sample()
    if die:
        os.kill(os.getpid(), 9)
    else:
        os._exit(0)


def in_process(tokens: int, *, die: bool = False) -> int:
    process = multiprocessing.get_context("fork").Process(target=work, args=(tokens, die))
    process.start()
    process.join(30)
    assert process.exitcode == (-9 if die else 0)
    assert process.pid is not None
    return process.pid


SCRIPT = "from tests.observability.test_metrics import several; several()"


def test_counters_of_the_dead_stay_their_gauges_go_and_their_files_are_one() -> None:
    """In a process of its own: the library's files are one for a process, chosen for good."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr


def several() -> None:
    folder = multiprocess.open_folder()
    try:
        expected, retired = 0, []
        for number in range(1, 8):
            process_id = in_process(number, die=number % 2 == 0)
            expected += number
            registry = multiprocess.read_all_workers()
            assert registry is not None
            labels = {"provider": "openai", "model": "gpt-4o", "method": "exact"}
            assert read(registry, "tokens_counted_total", **labels) == expected
            assert read(registry, "workers") == 1  # those before are retired
            multiprocess.merge_dead_worker(folder, process_id)
            retired.append(process_id)
            assert read(registry, "tokens_counted_total", **labels) == expected
            assert read(registry, "request_seconds_count", route="other", size="to_16_kib") == number
            assert read(registry, "request_seconds_bucket", route="other", size="to_16_kib", le="0.005") == number
            assert read(registry, "request_seconds_bucket", route="other", size="to_16_kib", le="0.0025") == 0
            assert read(registry, "workers") is None
            multiprocess.merge_dead_worker(folder, process_id)  # once more does nothing
            assert read(registry, "tokens_counted_total", **labels) == expected
        assert {path.name for path in folder.iterdir()} == {"lock", "counter_0.db", "histogram_0.db"}
    finally:
        multiprocess.close_folder(folder)
    assert not folder.exists()
    assert multiprocess.read_all_workers() is None
