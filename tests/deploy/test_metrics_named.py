"""A running service has every metric, label and value of a label that a rule or a panel names. A rule with a wrong name
would never fire, and nobody would notice."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from service.observability.metric_rows import SIZE_CLASSES, STATUS_CLASSES, error_codes
from service.server.http.connection import Reason
from tests.deploy.files import DEPLOY, dashboards, expressions, rules
from tests.deploy.promql import Selector, grouped_by, selectors
from tests.support.live import running_server
from tests.support.redis_server import RedisServer, free_port

JOBS = {job["job_name"] for job in yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"]}

ADDED = {"job", "instance"}
"""Labels that Prometheus adds."""

SELDOM: Mapping[str, set[str]] = {"tallystick_connections_refused_total": {"reason"}}
"""Labels of metrics that the traffic of this test does not cause."""

VALUES: Mapping[tuple[str, str], set[str]] = {
    ("tallystick_requests_total", "status"): set(STATUS_CLASSES),
    ("tallystick_request_seconds_bucket", "size"): set(SIZE_CLASSES),
    ("tallystick_rejections_total", "code"): set(error_codes()),
    ("tallystick_connections_refused_total", "reason"): set(get_args(Reason)),
    ("tallystick_cache_lookups_total", "outcome"): {"hit", "miss", "skipped", "garbage", "failed"},
    ("tallystick_ledger_rows_total", "outcome"): {"written", "failed", "dropped"},
    ("tallystick_tokenizer_golden", "outcome"): {"ok", "unconfirmed", "not_checked", "mismatch"},
    ("tallystick_tokens_counted_total", "method"): {"exact", "calibrated", "estimate"},
    ("tallystick_tokens_counted_total", "model"): {"none"},
    ("tallystick:request_seconds:p99_5m", "size"): set(SIZE_CLASSES),
    ("up", "job"): JOBS,
}
"""The values that a label may have, by the code. The values of other labels must have been seen."""

LONG = "The quick brown fox jumps over the lazy dog, again and again. " * 2_000


def _send(url: str, body: Any = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as answer:
        content: bytes = answer.read()
    return content


def _refused(url: str, body: Any) -> None:
    with pytest.raises(urllib.error.HTTPError):
        _send(url, body)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[set[str], set[tuple[str, str]]]]]:
    """Name of a metric -> its labels, and the (label, value) pairs that it had after some traffic of all kinds."""
    redis = RedisServer(free_port(), tmp_path_factory.mktemp("redis"), ())
    redis.start()
    catalog = redis.folder / "catalog.toml"
    catalog.write_text('[models."without-a-price"]\nlike = "gpt-4o"\n')
    try:
        with running_server(
            redis_url=redis.url, cache_secret="x" * 32, ask_redis="always", warm="o200k_base", requests_per_minute=1000,
            catalog_file=catalog,
        ) as server:
            count, usage = f"{server.url}/v1/countTokens", f"{server.url}/v1/usage"
            for _ in range(2):
                _send(count, {"model": "gpt-4o", "text": "hello"})
                _send(count, {"model": "gpt-4o", "text": LONG})
                _send(count, {"tokenizer": "o200k_base", "text": "hello"})
            _send(count, {"model": "without-a-price", "text": "hello"})
            _refused(count, {"model": "no-such-model", "text": "hello"})
            _send(usage, {"model": "gpt-4o", "counted_tokens": 11, "usage": {"prompt_tokens": 12,
                                                                            "completion_tokens": 3}})
            for path in ("/livez", "/metrics"):
                _send(server.url + path)
            ledger = _send(f"{usage}?format=prometheus")
            yield _named(_families(ledger) + _families(_scrape(f"{server.url}/metrics")))
    finally:
        redis.stop()


def _scrape(url: str) -> bytes:
    """Wait until counts are written to Redis, which is done in the background."""
    deadline = time.monotonic() + 60
    while b"tallystick_redis_writes_total{" not in (text := _send(url)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return text


def _families(text: bytes) -> list[Metric]:
    return list(text_string_to_metric_families(text.decode()))


def _named(families: list[Metric]) -> dict[str, tuple[set[str], set[tuple[str, str]]]]:
    named: dict[str, tuple[set[str], set[tuple[str, str]]]] = {"up": ({*ADDED}, set())}
    for family in families:
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        for ending in endings:
            named[family.name + ending] = (SELDOM.get(family.name + ending, set()) | ADDED, set())
        for sample in family.samples:
            labels, seen = named[sample.name]
            labels.update(sample.labels)
            seen.update(sample.labels.items())
    return named


def _recorded() -> dict[str, set[str]]:
    """Names of the recording rules, and the labels of their results."""
    return {rule["record"]: grouped_by(rule["expr"]) - {"le"} for rule in rules() if "record" in rule}


CASES = pytest.mark.parametrize(("where", "expression"), [*expressions()], ids=lambda text: text[:60])

Shown = dict[str, tuple[set[str], set[tuple[str, str]]]]


def _labels(selector: Selector, shown: Shown) -> set[str]:
    recorded = _recorded()
    if selector.metric in recorded:
        return recorded[selector.metric]
    assert selector.metric in shown, f"{selector.metric} is shown by no service"
    return shown[selector.metric][0]


@pytest.mark.redis
@CASES
def test_what_is_asked_for_is_there(where: str, expression: str, shown: Shown) -> None:
    found = list(selectors(expression))
    assert found, "nothing is asked for"
    there = set().union(*(_labels(selector, shown) for selector in found))
    assert grouped_by(expression) - {"le"} <= there
    for selector in found:
        for label, value in selector.matchers:
            assert label in _labels(selector, shown), (selector.metric, label)
            closed = VALUES.get((selector.metric, label))
            if closed is None and label == "job":
                closed = JOBS
            seen = shown[selector.metric][1] if closed is None else {(label, one) for one in closed}
            assert (label, value) in seen, (selector.metric, label, value)


@pytest.mark.redis
def test_legends_and_annotations_name_labels_that_are_left(shown: Shown) -> None:
    checked = 0
    for board in dashboards().values():
        for panel in board["panels"]:
            for target in panel["targets"]:
                left = _left(target["expr"], shown)
                assert set(re.findall(r"{{\s*(\w+)\s*}}", target["legendFormat"])) <= left, panel["title"]
                checked += 1
    for rule in rules():
        left = _left(rule["expr"], shown)
        assert set(re.findall(r"\$labels\.(\w+)", str(rule.get("annotations")))) <= left, rule
        checked += 1
    assert checked > 60


def _left(expression: str, shown: Shown) -> set[str]:
    """The labels of the result: those by which it is grouped, or all labels of the metric."""
    if grouped_by(expression) or re.match(r"\s*(?:sum|max|count)\s*\(", expression):
        return grouped_by(expression)
    return set().union(*(_labels(selector, shown) for selector in selectors(expression)))


@pytest.mark.redis
def test_traffic_brought_about_what_panels_are_of(shown: Shown) -> None:
    """Without it, this file would only check names."""
    labelled = {name: seen for name, (labels, seen) in shown.items() if labels - ADDED and name != "up"}
    assert {name for name, seen in labelled.items() if not seen} <= set(SELDOM)
    assert ("status", "2xx") in labelled["tallystick_requests_total"]
    assert ("outcome", "hit") in labelled["tallystick_cache_lookups_total"]
    assert ("model", "gpt-4o") in labelled["tallystick_usage_cost_usd"]


def test_the_reader_of_promql_reads() -> None:
    asked = 'sum by (a, le) (rate(x_total{b="1", c=~"u|v"}[5m])) / on (d) (y:z > 1e3) and absent(up == 1)'
    assert grouped_by(asked) == {"a", "le", "d"}
    assert [*selectors(asked)] == [
        Selector("x_total", (("b", "1"), ("c", "u"), ("c", "v"))), Selector("y:z", ()), Selector("up", ()),
    ]
    with pytest.raises(ValueError, match="rat is no function"):
        [*selectors("rat(x[5m])")]
