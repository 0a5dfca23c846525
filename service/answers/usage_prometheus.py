"""The ledger for Prometheus: `GET /v1/usage?format=prometheus`, gauges by model and project.

Not in /metrics, which names no project: what is here needs a key with the scope `usage`, as the same sums in JSON do.
A gauge is the sum since the begin of the range, of today (UTC) when the scrape says nothing of it: it falls to nothing
at midnight, so a day's sum is `max_over_time(tallystick_usage_cost_usd[1d])` at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from service.answers.usage import SHOWN, amounts
from service.ledger.report import Group, ReportRow

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

ABOUT = {
    "calls": "Counts given.", "input_tokens": "Input tokens counted.",
    "cost_usd": "What the counted input tokens cost, uncached, by list price.",
    "unpriced_calls": "Counts whose price is not known: not in cost_usd.",
    "billed_calls": "Bills reported.", "billed_input_tokens": "Input tokens billed.",
    "billed_output_tokens": "Output tokens billed.", "billed_cost_usd": "What was billed, by list price.",
    "billed_unpriced_calls": "Bills whose price is not known: not in billed_cost_usd.",
}


def usage_exposition(groups: tuple[Group, ...], rows: Iterable[ReportRow]) -> tuple[bytes, bytes]:
    """(content type, content): a gauge for each amount, labelled with those of model and project that are grouped by.
    A cost that is not known has no sample."""
    registry = CollectorRegistry()
    registry.register(_Sums(tuple(name for name in ("model", "project") if name in groups), tuple(rows)))
    return CONTENT_TYPE, generate_latest(registry)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    labels: tuple[str, ...]
    rows: tuple[ReportRow, ...]

    def collect(self) -> Iterator[Metric]:
        shown = [([str(getattr(row, label)) for label in self.labels], amounts(row.sums)) for row in self.rows]
        for name in SHOWN:
            gauge = GaugeMetricFamily(f"tallystick_usage_{name}", ABOUT[name], labels=self.labels)
            for labels, sums in shown:
                if sums[name] is not None:
                    gauge.add_metric(labels, float(str(sums[name])))
            yield gauge
