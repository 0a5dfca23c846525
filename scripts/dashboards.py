"""Grafana's dashboards, one row a panel: its title, its description and its Prometheus queries.

`make generate` writes deploy/grafana/dashboards/*.json from them (scripts.deploy_files).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}

WIDTH = 24
"""Columns of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. `queries` are pairs of a PromQL expression and the legend of its series. `kind` is Grafana's panel type.

    A table has a row for each series and a column for each expression, with the legend as its heading.
    """

    title: str
    description: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12
    height: int = 8
    stacked: bool = False
    bars: bool = False
    step: str | None = None
    axis_min: float | None = 0
    axis_max: float | None = None
    """Ends of the axis. None leaves them to Grafana."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    uid: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    shown_from: str = "now-6h"


RATE = "[$__rate_interval]"


def make_stat(title: str, description: str, ask: str, unit: str = "short", width: int = 6) -> Panel:
    return Panel(title, description, ((ask, ""),), unit, "stat", width, 4)


def make_rate_by(label: str, metric: str, more: str = "") -> tuple[tuple[str, str], ...]:
    """A query for the rate of a counter by one of its labels."""
    return ((f"sum by ({label}) (rate({metric}{more}{RATE}))", "{{" + label + "}}"),)


TRAFFIC = Dashboard("tallystick-traffic", "Tallystick: traffic", "Requests, errors, and the resources they need.", (
    make_stat("Replicas", "Replicas that Prometheus can scrape.", 'sum(up{job="tallystick"})'),
    make_stat("Requests", "Requests a second, over five minutes.", "sum(tallystick:requests:rate5m)", "reqps"),
    make_stat("Failed", "Share of requests with a 5xx response, without probes, over five minutes.",
         "tallystick:errors:ratio_rate5m", "percentunit"),
    make_stat("Tokens", "Input tokens counted a second, over five minutes.", "sum(tallystick:tokens_counted:rate5m)"),
    Panel("Requests by route", "Requests a second.", make_rate_by("route", "tallystick_requests_total"), "reqps",
          stacked=True),
    Panel("Requests by status", "4xx: the request was wrong or refused. 5xx: the service failed.",
          make_rate_by("status", "tallystick_requests_total"), "reqps", stacked=True),
    Panel("Errors", "By error code, a second. Items of batches are included.",
          make_rate_by("code", "tallystick_rejections_total"), "reqps"),
    Panel("Connections refused", "Connections that were closed before they had a request: too many, or too slow.",
          make_rate_by("reason", "tallystick_connections_refused_total"), "cps"),
    Panel("In flight", "Requests being answered, and large ones that are counted or wait for a thread.", (
        ("sum(tallystick_requests_in_flight)", "being answered"),
        ("sum(tallystick_worker_queue_depth)", "large: counted or waiting"),
    )),
    Panel("Bodies", "Bytes a second, decompressed, and bytes in memory now. The limit for a worker is "
          "TALLYSTICK_INFLIGHT_BYTES.", (
              (f"sum(rate(tallystick_request_body_bytes_total{RATE}))", "received a second"),
              ("sum(tallystick_held_body_bytes)", "held"),
          ), "bytes"),
    Panel("Processor time", "Cores that a replica uses.",
          ((f'sum by (instance) (rate(process_cpu_seconds_total{{job="tallystick"}}{RATE}))', "{{instance}}"),)),
    Panel("Memory", "Resident memory of all workers of a replica. Memory that they share counts in each.",
          (('sum by (instance) (process_resident_memory_bytes{job="tallystick"})', "{{instance}}"),), "bytes"),
    Panel("Open files", "Each connection is a file. The limit is 65,536 if the system allows it.",
          (('sum by (instance) (process_open_fds{job="tallystick"})', "{{instance}}"),)),
    Panel("Workers and versions", "Worker processes, and the versions of the replicas.", (
        ("sum(tallystick_workers)", "workers"),
        ("sum by (version) (tallystick_build_info)", "{{version}}"),
    )),
))

LATENCY = Dashboard("tallystick-latency", "Tallystick: latency", "How long responses take, and where the time goes.", (
    Panel("Median latency by body size", "From the first byte of a request to the last of its answer.",
          (("tallystick:request_seconds:p50_5m", "{{size}}"),), "s"),
    Panel("99th percentile by body size", "Short bodies take about a millisecond on an idle core.",
          (("tallystick:request_seconds:p99_5m", "{{size}}"),), "s"),
    Panel("99th percentile by route", "Probes and scrapes are included.",
          ((f"histogram_quantile(0.99, sum by (route, le) (rate(tallystick_request_seconds_bucket{RATE})))",
            "{{route}}"),), "s"),
    Panel("Distribution of latencies", "Of requests with a body.",
          ((f'sum by (le) (rate(tallystick_request_seconds_bucket{{size!="none"}}{RATE}))', "{{le}}"),),
          "s", "heatmap"),
    Panel("Speed of tokenizers", "UTF-8 bytes that are counted in a second of counting.",
          ((f"sum by (tokenizer) (rate(tallystick_tokenized_bytes_total{RATE})) "
            f"/ sum by (tokenizer) (rate(tallystick_tokenize_seconds_total{RATE}))", "{{tokenizer}}"),), "Bps"),
    Panel("Time spent tokenizing", "Cores that are busy with tokenizing.",
          make_rate_by("tokenizer", "tallystick_tokenize_seconds_total"), stacked=True),
    Panel("Redis or counting", "Seconds to ask Redis, and to count 2^20 characters. The service does what is faster.", (
        ("max(tallystick_redis_round_trip_seconds)", "asking Redis"),
        ("max by (tokenizer) (tallystick_count_seconds_per_mib)", "{{tokenizer}}"),
    ), "s"),
    Panel("Load at start", "Seconds to load each tokenizer.",
          (("max by (tokenizer) (tallystick_tokenizer_load_seconds)", "{{tokenizer}}"),), "s", "bargauge"),
))

CACHE = Dashboard("tallystick-cache", "Tallystick: cache and Redis", "What caches save, and the state of Redis.", (
    Panel("Hit ratio", "Share of lookups that found a count, over five minutes. `request`: whole responses. `memory`: "
          "texts, in this replica. `redis`: texts, of all replicas.",
          (("tallystick:cache_hits:ratio_rate5m", "{{tier}}"),), "percentunit", axis_max=1),
    Panel("Lookups", "By tier and outcome. `skipped`: Redis was not asked, because counting is faster.",
          ((f"sum by (tier, outcome) (rate(tallystick_cache_lookups_total{RATE}))", "{{tier}} {{outcome}}"),), "ops"),
    Panel("Texts tokenized", "Texts that were in no cache, a second.",
          make_rate_by("tokenizer", "tallystick_tokenized_texts_total"), "ops", stacked=True),
    Panel("Writes to Redis", "Counts stored, dropped or failed, a second. They are written in the background.",
          make_rate_by("outcome", "tallystick_redis_writes_total"), "ops"),
    Panel("State of Redis", "Workers that can use Redis, and those that cannot read from it or write to it.", (
        ("sum(tallystick_redis_up)", "up"), ("sum(tallystick_redis_degraded)", "degraded"),
    )),
    Panel("Round trip and queue", "Seconds to ask Redis, and counts that wait to be stored in it.", (
        ("max by (instance) (tallystick_redis_round_trip_seconds)", "{{instance}} seconds"),
        ("sum by (instance) (tallystick_redis_write_queue)", "{{instance}} waiting"),
    )),
    Panel("Ledger", "Rows written, batches that failed (and are tried again), rows dropped (and lost), a second.",
          make_rate_by("outcome", "tallystick_ledger_rows_total"), "ops"),
    Panel("Rate limit fallbacks", "Requests whose rate a replica checked alone, because Redis failed, a second.",
          ((f"sum(rate(tallystick_rate_limit_fallbacks_total{RATE}))", "checked alone"),), "ops"),
))

ACCURACY = Dashboard("tallystick-accuracy", "Tallystick: accuracy", "How certain counts are, and how far from bills.", (
    Panel("Drift", "Counted tokens relative to billed tokens, of the bills that were reported (POST /v1/usage), over a "
          "day. +1% means that 1% too many were counted.", (("tallystick:drift:ratio_1d", "{{family}}"),),
          "percentunit", width=24, axis_min=None),
    Panel("Bills", "Tokens in the time that is shown.", (
        ("sum by (family) (increase(tallystick_drift_counted_tokens_total[$__range]))", "counted"),
        ("sum by (family) (increase(tallystick_drift_billed_tokens_total[$__range]))", "billed"),
    ), kind="table"),
    Panel("Counts by method", "exact, calibrated (with a measured band) or estimate, a second.",
          make_rate_by("method", "tallystick_counts_total"), "ops", stacked=True),
    Panel("Exact", "Share of counted tokens whose count is exact, by provider.",
          ((f'sum by (provider) (rate(tallystick_tokens_counted_total{{method="exact"}}{RATE})) '
            f"/ sum by (provider) (rate(tallystick_tokens_counted_total{RATE}))", "{{provider}}"),),
          "percentunit", axis_max=1),
    Panel("Counts by family", "Counts a second.", make_rate_by("family", "tallystick_counts_total"), "ops",
          stacked=True),
    Panel("Engines", "Workers that use each engine. `reference` is correct, but slow.",
          (("sum by (tokenizer, engine) (tallystick_tokenizer_engine)", "workers"),), kind="table"),
    Panel("Self-checks", "Workers, by the result of the check against the reference at the start.",
          (("sum by (tokenizer, outcome) (tallystick_tokenizer_golden)", "workers"),), kind="table"),
    Panel("Fallbacks", "How often the reference engine was loaded instead of the fast one.",
          (("sum by (tokenizer) (tallystick_tokenizer_fallbacks_total)", "{{tokenizer}}"),)),
), shown_from="now-24h")

DAYS = "sum by (project) (max by (project, model) (max_over_time({}[1d])))"
"""The maximum of raw samples. In the recorded sum, the first sample after midnight is still that of yesterday."""

COST = Dashboard("tallystick-cost", "Tallystick: cost", "What the counted input costs by list price, without the "
                 "provider's cache, and what was billed, if bills are reported. Costs by project come from the ledger "
                 "(/v1/usage), those by model also from /metrics.", (
    make_stat("Today", "Cost of what was counted since midnight (UTC), all projects.",
              "sum(tallystick:usage_cost_usd:today)", "currencyUSD"),
    make_stat("Billed today", "Sum of the bills reported since midnight (UTC).",
         "sum(max by (project, model) (tallystick_usage_billed_cost_usd))", "currencyUSD"),
    make_stat("An hour", "At the rate of the last hour.", "3600 * sum(tallystick:cost_usd:rate1h)", "currencyUSD"),
    make_stat("Without a price", "Share of counted tokens whose price is not known. They are in no sum on this page.",
         "(sum(rate(tallystick_unpriced_tokens_total[1h])) or vector(0)) "
         "/ sum(rate(tallystick_tokens_counted_total[1h]))",
         "percentunit"),
    Panel("Today so far, by project", "Starts at 0 at midnight (UTC).",
          (("sum by (project) (tallystick:usage_cost_usd:today)", "{{project}}"),), "currencyUSD", stacked=True),
    Panel("By model, an hour", "At the rate of the last hour.",
          (("3600 * tallystick:cost_usd:rate1h", "{{provider}} {{model}}"),), "currencyUSD", stacked=True),
    Panel("Days, by project", "Each bar stands at the end of its day (UTC).",
          ((DAYS.format("tallystick_usage_cost_usd"), "{{project}}"),), "currencyUSD", width=24, stacked=True,
          bars=True, step="1d"),
    Panel("Days billed, by project", "Of the bills that were reported. Each bar stands at the end of its day (UTC).",
          ((DAYS.format("tallystick_usage_billed_cost_usd"), "{{project}}"),), "currencyUSD", width=24, stacked=True,
          bars=True, step="1d"),
    Panel("Today, by project and model", "From the ledger (/v1/usage).", (
        ("tallystick:usage_cost_usd:today", "USD"),
        ("max by (project, model) (tallystick_usage_calls)", "counts"),
        ("max by (project, model) (tallystick_usage_input_tokens)", "input tokens"),
        ("max by (project, model) (tallystick_usage_unpriced_calls)", "counts without a price"),
        ("max by (project, model) (tallystick_usage_billed_cost_usd)", "USD billed"),
        ("max by (project, model) (tallystick_usage_billed_input_tokens)", "input tokens billed"),
        ("max by (project, model) (tallystick_usage_billed_output_tokens)", "output tokens billed"),
    ), kind="table", width=24, height=10),
    Panel("By model", "Sums of the time that is shown.", (
        ("sum by (provider, model) (increase(tallystick_cost_usd_total[$__range]))", "USD"),
        ("sum by (provider, model) (increase(tallystick_tokens_counted_total[$__range]))", "input tokens"),
        ("sum by (provider, model) (increase(tallystick_unpriced_tokens_total[$__range]))", "tokens without a price"),
    ), kind="table", width=24, height=10),
), shown_from="now-30d")

DASHBOARDS = (TRAFFIC, LATENCY, CACHE, ACCURACY, COST)


def format_dashboard(dashboard: Dashboard) -> str:
    """The JSON file of a dashboard. Its Prometheus can be chosen at the top of the dashboard."""
    choice = {
        "name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0,
        "includeAll": False, "multi": False, "refresh": 1, "options": [], "current": {},
    }
    others = {"type": "dashboards", "tags": ["tallystick"], "title": "Tallystick", "asDropdown": False,
              "includeVars": True, "keepTime": True, "icon": "external link", "targetBlank": False, "url": ""}
    return json.dumps({
        "uid": dashboard.uid, "title": dashboard.title, "description": dashboard.description, "tags": ["tallystick"],
        "schemaVersion": 39, "version": 1, "editable": False, "graphTooltip": 1, "refresh": "30s",
        "timezone": "browser",
        "time": {"from": dashboard.shown_from, "to": "now"}, "templating": {"list": [choice]}, "links": [others],
        "annotations": {"list": []}, "panels": list(_place_panels(dashboard.panels)),
    }, indent=1, ensure_ascii=False) + "\n"


def _place_panels(panels: tuple[Panel, ...]) -> Iterator[Mapping[str, Any]]:
    """Place panels from left to right. A panel that does not fit begins a new row."""
    left = top = row_height = 0
    for number, panel in enumerate(panels, 1):
        if left + panel.width > WIDTH:
            left, top, row_height = 0, top + row_height, 0
        yield _make_panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": panel.height})
        left, row_height = left + panel.width, max(row_height, panel.height)


def _make_panel(panel: Panel, number: int, place: Mapping[str, int]) -> Mapping[str, Any]:
    return {
        "id": number, "type": panel.kind, "title": panel.title, "description": panel.description, "datasource": SOURCE,
        "gridPos": place, "targets": list(_make_targets(panel)),
        "fieldConfig": {"defaults": {"unit": panel.unit, **_make_field_defaults(panel)}, "overrides": [_MONEY]},
        "options": OPTIONS[panel.kind], **(_make_table_options(panel) if panel.kind == "table" else {}),
        **({"interval": panel.step} if panel.step else {}),
    }


def _make_targets(panel: Panel) -> Iterator[Mapping[str, Any]]:
    at_once = panel.kind in ("table", "stat", "bargauge")
    for letter, (expression, legend) in zip("ABCDEFGH", panel.queries, strict=False):
        yield {
            "refId": letter, "datasource": SOURCE, "expr": expression, "legendFormat": legend, "editorMode": "code",
            "instant": at_once, "range": not at_once,
            "format": {"table": "table", "heatmap": "heatmap"}.get(panel.kind, "time_series"),
        }


def _make_field_defaults(panel: Panel) -> Mapping[str, Any]:
    ends = {name: end for name, end in (("min", panel.axis_min), ("max", panel.axis_max)) if end is not None}
    if panel.kind != "timeseries":
        return ends
    custom = {
        "drawStyle": "bars" if panel.bars else "line", "fillOpacity": 60 if panel.bars else 20 if panel.stacked else 0,
        "lineWidth": 1, "showPoints": "never",
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
    }
    return {"custom": custom, **ends}


def _make_table_options(panel: Panel) -> Mapping[str, Any]:
    """Each expression is a column, with its legend as heading. Rows are sorted by the first one."""
    letters = "ABCDEFGH"[: len(panel.queries)]
    headings = {f"Value #{letter}": legend for letter, (_, legend) in zip(letters, panel.queries, strict=True)}
    headings |= {"Value": panel.queries[0][1]}
    return {"transformations": [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": headings, "indexByName": {}}},
        {"id": "sortBy", "options": {"sort": [{"field": panel.queries[0][1], "desc": True}]}},
    ]}


_MONEY = {"matcher": {"id": "byRegexp", "options": "/^USD/"}, "properties": [{"id": "unit", "value": "currencyUSD"}]}
"""Columns of tables whose heading begins with USD."""

_READ = {"calcs": ["lastNotNull"], "fields": "", "values": False}

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "timeseries": {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
                   "tooltip": {"mode": "multi", "sort": "desc"}},
    "stat": {"reduceOptions": _READ, "colorMode": "value", "graphMode": "area", "textMode": "auto"},
    "bargauge": {"reduceOptions": _READ, "orientation": "horizontal", "displayMode": "basic"},
    "table": {"showHeader": True, "footer": {"show": False}},
    "heatmap": {"calculate": False, "yAxis": {"unit": "s"}, "legend": {"show": True}, "cellGap": 1,
                "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64}},
}
