"""Grafana's dashboards as rows: what a panel is called, asks Prometheus and tells whoever reads it.

`make generate` writes deploy/grafana/dashboards/*.json from them (scripts.deploy_files).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}

WIDTH = 24
"""Of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Panel:
    """`asks` are PromQL and the legend of its series. `kind` is Grafana's panel type; tables show a row a series, and
    a column an expression, whose legend is its heading."""

    title: str
    about: str
    asks: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12
    height: int = 8
    stacked: bool = False
    bars: bool = False
    step: str | None = None
    least: float | None = 0
    most: float | None = None
    """Ends of the axis; None lets the values say."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    uid: str
    title: str
    about: str
    panels: tuple[Panel, ...]
    since: str = "now-6h"


RATE = "[$__rate_interval]"


def stat(title: str, about: str, ask: str, unit: str = "short", width: int = 6) -> Panel:
    return Panel(title, about, ((ask, ""),), unit, "stat", width, 4)


def rate_by(label: str, metric: str, more: str = "") -> tuple[tuple[str, str], ...]:
    """The rate of a counter by one of its labels."""
    return ((f"sum by ({label}) (rate({metric}{more}{RATE}))", "{{" + label + "}}"),)


TRAFFIC = Dashboard("tallystick-traffic", "Tallystick: traffic", "What is asked, what is refused, what it takes.", (
    stat("Replicas", "Replicas that answer Prometheus.", 'sum(up{job="tallystick"})'),
    stat("Requests", "A second, over five minutes.", "sum(tallystick:requests:rate5m)", "reqps"),
    stat("Failed", "Share of requests (probes left out) that were a 5xx, over five minutes.",
         "tallystick:errors:ratio_rate5m", "percentunit"),
    stat("Tokens", "Input tokens counted a second, over five minutes.", "sum(tallystick:tokens_counted:rate5m)"),
    Panel("Requests by route", "Answered a second.", rate_by("route", "tallystick_requests_total"), "reqps",
          stacked=True),
    Panel("Requests by status", "4xx are the callers' mistakes and refusals, 5xx are ours.",
          rate_by("status", "tallystick_requests_total"), "reqps", stacked=True),
    Panel("Refused and failed", "By error code, the items of batches included.",
          rate_by("code", "tallystick_rejections_total"), "reqps"),
    Panel("Connections refused", "Before they had a request: too many, or too slow.",
          rate_by("reason", "tallystick_connections_refused_total"), "cps"),
    Panel("In flight", "Requests being answered, and large ones being counted or waiting for a thread.", (
        ("sum(tallystick_requests_in_flight)", "being answered"),
        ("sum(tallystick_worker_queue_depth)", "large, counted or waiting"),
    )),
    Panel("Bodies", "Bytes a second, decompressed; and bytes held now, of which TALLYSTICK_INFLIGHT_BYTES a worker "
          "are the most.", (
              (f"sum(rate(tallystick_request_body_bytes_total{RATE}))", "received a second"),
              ("sum(tallystick_held_body_bytes)", "held"),
          ), "bytes"),
    Panel("Processor time", "Cores a replica uses.",
          ((f'sum by (instance) (rate(process_cpu_seconds_total{{job="tallystick"}}{RATE}))', "{{instance}}"),)),
    Panel("Memory", "Resident, of all workers of a replica; what they share counts in each.",
          (('sum by (instance) (process_resident_memory_bytes{job="tallystick"})', "{{instance}}"),), "bytes"),
    Panel("Open files", "Connections are files. The limit is 65,536 where the system lets it be raised.",
          (('sum by (instance) (process_open_fds{job="tallystick"})', "{{instance}}"),)),
    Panel("Workers and versions", "Worker processes that answer, and the versions of replicas.", (
        ("sum(tallystick_workers)", "workers"),
        ("sum by (version) (tallystick_build_info)", "{{version}}"),
    )),
))

LATENCY = Dashboard("tallystick-latency", "Tallystick: latency", "How long answers take, and where the time goes.", (
    Panel("Half of requests, by size of body", "Median, from the first byte of a request to the last of its answer.",
          (("tallystick:request_seconds:p50_5m", "{{size}}"),), "s"),
    Panel("One in a hundred, by size of body", "99th percentile. Short bodies take a millisecond on an idle core.",
          (("tallystick:request_seconds:p99_5m", "{{size}}"),), "s"),
    Panel("One in a hundred, by route", "99th percentile, probes and scrapes included.",
          ((f"histogram_quantile(0.99, sum by (route, le) (rate(tallystick_request_seconds_bucket{RATE})))",
            "{{route}}"),), "s"),
    Panel("How long requests take", "How many took how long, of those with a body.",
          ((f'sum by (le) (rate(tallystick_request_seconds_bucket{{size!="none"}}{RATE}))', "{{le}}"),),
          "s", "heatmap"),
    Panel("Speed of tokenizers", "UTF-8 bytes counted in a second of counting.",
          ((f"sum by (tokenizer) (rate(tallystick_tokenized_bytes_total{RATE})) "
            f"/ sum by (tokenizer) (rate(tallystick_tokenize_seconds_total{RATE}))", "{{tokenizer}}"),), "Bps"),
    Panel("Time spent tokenizing", "Cores that are busy with it.",
          rate_by("tokenizer", "tallystick_tokenize_seconds_total"), stacked=True),
    Panel("Redis or counting", "What asking Redis takes, and counting a mebi-character: the dearer way is not taken.", (
        ("max(tallystick_redis_round_trip_seconds)", "asking Redis"),
        ("max by (tokenizer) (tallystick_count_seconds_per_mib)", "{{tokenizer}}"),
    ), "s"),
    Panel("Load at start", "What each tokenizer took to load.",
          (("max by (tokenizer) (tallystick_tokenizer_load_seconds)", "{{tokenizer}}"),), "s", "bargauge"),
))

CACHE = Dashboard("tallystick-cache", "Tallystick: cache and Redis", "What need not be counted again.", (
    Panel("Hits", "Share found of what was looked for, over five minutes. `request`: whole answers; `memory`: texts, "
          "in the replica; `redis`: texts, of all replicas.",
          (("tallystick:cache_hits:ratio_rate5m", "{{tier}}"),), "percentunit", most=1),
    Panel("Looks", "By tier and what came of them. `skipped`: Redis was not worth asking, for counting is faster.",
          ((f"sum by (tier, outcome) (rate(tallystick_cache_lookups_total{RATE}))", "{{tier}} {{outcome}}"),), "ops"),
    Panel("Counted after all", "Texts given to a tokenizer, a second.",
          rate_by("tokenizer", "tallystick_tokenized_texts_total"), "ops", stacked=True),
    Panel("Writes to Redis", "Counts stored, dropped or failed, a second; they are written behind.",
          rate_by("outcome", "tallystick_redis_writes_total"), "ops"),
    Panel("Redis as replicas see it", "Workers that may ask it, and those that cannot ask it or write to it.", (
        ("sum(tallystick_redis_up)", "may ask"), ("sum(tallystick_redis_degraded)", "degraded"),
    )),
    Panel("Round trip and queue", "What asking takes, and counts that wait to be stored.", (
        ("max by (instance) (tallystick_redis_round_trip_seconds)", "{{instance}} seconds"),
        ("sum by (instance) (tallystick_redis_write_queue)", "{{instance}} waiting"),
    )),
    Panel("Ledger", "Rows written, batches that failed (and wait), rows dropped (and lost), a second.",
          rate_by("outcome", "tallystick_ledger_rows_total"), "ops"),
    Panel("Rates judged alone", "Requests whose rate one replica judged by itself, since Redis failed it, a second.",
          ((f"sum(rate(tallystick_rate_limit_fallbacks_total{RATE}))", "judged alone"),), "ops"),
))

ACCURACY = Dashboard("tallystick-accuracy", "Tallystick: accuracy", "How sure counts are, how far bills were off.", (
    Panel("Drift", "Counted against billed tokens of the bills that came back (POST /v1/usage), over a day: +1% is "
          "counted too high.", (("tallystick:drift:ratio_1d", "{{family}}"),), "percentunit", width=24,
          least=None),
    Panel("Bills", "In the time shown.", (
        ("sum by (family) (increase(tallystick_drift_counted_tokens_total[$__range]))", "counted"),
        ("sum by (family) (increase(tallystick_drift_billed_tokens_total[$__range]))", "billed"),
    ), kind="table"),
    Panel("Counts by method", "exact, calibrated (measured band) or estimate, a second.",
          rate_by("method", "tallystick_counts_total"), "ops", stacked=True),
    Panel("Exact", "Share of counted tokens that are exact, by provider.",
          ((f'sum by (provider) (rate(tallystick_tokens_counted_total{{method="exact"}}{RATE})) '
            f"/ sum by (provider) (rate(tallystick_tokens_counted_total{RATE}))", "{{provider}}"),),
          "percentunit", most=1),
    Panel("Counts by family", "A second.", rate_by("family", "tallystick_counts_total"), "ops", stacked=True),
    Panel("Engines", "Workers in which each engine answers. `reference` is right, and slow.",
          (("sum by (tokenizer, engine) (tallystick_tokenizer_engine)", "workers"),), kind="table"),
    Panel("Self-checks", "Workers by what the check against the reference said at the start.",
          (("sum by (tokenizer, outcome) (tallystick_tokenizer_golden)", "workers"),), kind="table"),
    Panel("Fallbacks", "Loads that ended at the reference engine.",
          (("sum by (tokenizer) (tallystick_tokenizer_fallbacks_total)", "{{tokenizer}}"),)),
), since="now-24h")

DAYS = "sum by (project) (max by (project, model) (max_over_time({}[1d])))"
"""Of raw samples, not of the recorded sum, whose first after midnight is yesterday's last."""

COST = Dashboard("tallystick-cost", "Tallystick: cost", "What the counted input costs by list price, uncached; and "
                 "what was billed, where bills are reported. By project it comes from the ledger (/v1/usage), by model "
                 "from /metrics, too.", (
    stat("Today", "What was counted since midnight (UTC), all projects.", "sum(tallystick:usage_cost_usd:today)",
         "currencyUSD"),
    stat("Billed today", "Of the bills reported since midnight (UTC).",
         "sum(max by (project, model) (tallystick_usage_billed_cost_usd))", "currencyUSD"),
    stat("An hour", "At the rate of the last hour.", "3600 * sum(tallystick:cost_usd:rate1h)", "currencyUSD"),
    stat("Without a price", "Share of counted tokens whose price is not known: in no sum here.",
         "(sum(rate(tallystick_unpriced_tokens_total[1h])) or vector(0)) "
         "/ sum(rate(tallystick_tokens_counted_total[1h]))",
         "percentunit"),
    Panel("Today so far, by project", "Falls to nothing at midnight (UTC).",
          (("sum by (project) (tallystick:usage_cost_usd:today)", "{{project}}"),), "currencyUSD", stacked=True),
    Panel("By model, an hour", "At the rate of the last hour.",
          (("3600 * tallystick:cost_usd:rate1h", "{{provider}} {{model}}"),), "currencyUSD", stacked=True),
    Panel("Days, by project", "A bar is of the day (UTC) that ends where it stands.",
          ((DAYS.format("tallystick_usage_cost_usd"), "{{project}}"),), "currencyUSD", width=24, stacked=True,
          bars=True, step="1d"),
    Panel("Days billed, by project", "Likewise, of the bills reported.",
          ((DAYS.format("tallystick_usage_billed_cost_usd"), "{{project}}"),), "currencyUSD", width=24, stacked=True,
          bars=True, step="1d"),
    Panel("Today, by project and model", "From the ledger.", (
        ("tallystick:usage_cost_usd:today", "USD"),
        ("max by (project, model) (tallystick_usage_calls)", "counts"),
        ("max by (project, model) (tallystick_usage_input_tokens)", "input tokens"),
        ("max by (project, model) (tallystick_usage_unpriced_calls)", "counts without a price"),
        ("max by (project, model) (tallystick_usage_billed_cost_usd)", "USD billed"),
        ("max by (project, model) (tallystick_usage_billed_input_tokens)", "input tokens billed"),
        ("max by (project, model) (tallystick_usage_billed_output_tokens)", "output tokens billed"),
    ), kind="table", width=24, height=10),
    Panel("By model", "In the time shown.", (
        ("sum by (provider, model) (increase(tallystick_cost_usd_total[$__range]))", "USD"),
        ("sum by (provider, model) (increase(tallystick_tokens_counted_total[$__range]))", "input tokens"),
        ("sum by (provider, model) (increase(tallystick_unpriced_tokens_total[$__range]))", "tokens without a price"),
    ), kind="table", width=24, height=10),
), since="now-30d")

DASHBOARDS = (TRAFFIC, LATENCY, CACHE, ACCURACY, COST)


def dashboard_json(dashboard: Dashboard) -> str:
    """As Grafana reads it from a file; any Prometheus may be chosen at its top."""
    choice = {
        "name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0,
        "includeAll": False, "multi": False, "refresh": 1, "options": [], "current": {},
    }
    others = {"type": "dashboards", "tags": ["tallystick"], "title": "Tallystick", "asDropdown": False,
              "includeVars": True, "keepTime": True, "icon": "external link", "targetBlank": False, "url": ""}
    return json.dumps({
        "uid": dashboard.uid, "title": dashboard.title, "description": dashboard.about, "tags": ["tallystick"],
        "schemaVersion": 39, "version": 1, "editable": False, "graphTooltip": 1, "refresh": "30s",
        "timezone": "browser",
        "time": {"from": dashboard.since, "to": "now"}, "templating": {"list": [choice]}, "links": [others],
        "annotations": {"list": []}, "panels": list(_placed(dashboard.panels)),
    }, indent=1, ensure_ascii=False) + "\n"


def _placed(panels: tuple[Panel, ...]) -> Iterator[Mapping[str, Any]]:
    """From left to right, a new row where the next has no room."""
    left = top = row_height = 0
    for number, panel in enumerate(panels, 1):
        if left + panel.width > WIDTH:
            left, top, row_height = 0, top + row_height, 0
        yield _panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": panel.height})
        left, row_height = left + panel.width, max(row_height, panel.height)


def _panel(panel: Panel, number: int, place: Mapping[str, int]) -> Mapping[str, Any]:
    return {
        "id": number, "type": panel.kind, "title": panel.title, "description": panel.about, "datasource": SOURCE,
        "gridPos": place, "targets": list(_targets(panel)),
        "fieldConfig": {"defaults": {"unit": panel.unit, **_drawing(panel)}, "overrides": [_MONEY]},
        "options": OPTIONS[panel.kind], **(_one_table(panel) if panel.kind == "table" else {}),
        **({"interval": panel.step} if panel.step else {}),
    }


def _targets(panel: Panel) -> Iterator[Mapping[str, Any]]:
    at_once = panel.kind in ("table", "stat", "bargauge")
    for letter, (expression, legend) in zip("ABCDEFGH", panel.asks, strict=False):
        yield {
            "refId": letter, "datasource": SOURCE, "expr": expression, "legendFormat": legend, "editorMode": "code",
            "instant": at_once, "range": not at_once,
            "format": {"table": "table", "heatmap": "heatmap"}.get(panel.kind, "time_series"),
        }


def _drawing(panel: Panel) -> Mapping[str, Any]:
    ends = {name: end for name, end in (("min", panel.least), ("max", panel.most)) if end is not None}
    if panel.kind != "timeseries":
        return ends
    custom = {
        "drawStyle": "bars" if panel.bars else "line", "fillOpacity": 60 if panel.bars else 20 if panel.stacked else 0,
        "lineWidth": 1, "showPoints": "never",
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
    }
    return {"custom": custom, **ends}


def _one_table(panel: Panel) -> Mapping[str, Any]:
    """All expressions side by side, each a column by its legend; the first is what rows are sorted by."""
    letters = "ABCDEFGH"[: len(panel.asks)]
    headings = {f"Value #{letter}": legend for letter, (_, legend) in zip(letters, panel.asks, strict=True)}
    headings |= {"Value": panel.asks[0][1]}
    return {"transformations": [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": headings, "indexByName": {}}},
        {"id": "sortBy", "options": {"sort": [{"field": panel.asks[0][1], "desc": True}]}},
    ]}


_MONEY = {"matcher": {"id": "byRegexp", "options": "/^USD/"}, "properties": [{"id": "unit", "value": "currencyUSD"}]}
"""Columns of tables."""

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
