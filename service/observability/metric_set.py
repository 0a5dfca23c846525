"""The metrics of one registry, made from the rows (service.observability.metric_rows)."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from service.observability.metric_rows import REQUEST_SECONDS, ROWS


class Series(dict[str | tuple[str, ...], Callable[[float], None]]):
    """Labels -> the function that adds a number to the series with these labels. () stands for no labels.

    A function is kept once it was found: the library takes 5 us to find it, each time.
    """

    def __init__(self, metric: Counter | Histogram) -> None:
        super().__init__()
        self._metric = metric

    def __missing__(self, labels: str | tuple[str, ...]) -> Callable[[float], None]:
        labels_given = (labels,) if isinstance(labels, str) else labels
        series = self._metric.labels(*labels_given) if labels_given else self._metric
        # `Counter.inc` checks every time that the counter has its labels and that the number is not negative.
        add: Callable[[float], None] = series.observe if isinstance(series, Histogram) else series._value.inc
        self[labels] = add
        return add


class MetricSet:
    """`series` are the counters and the histogram, `gauges` the gauges, each by the name of its row."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # else each counter gets a second series
        self.registry = CollectorRegistry()
        self.series: dict[str, Series] = {}
        self.gauges: dict[str, Gauge] = {}
        for row in ROWS:
            if row.kind == "gauge":
                self.gauges[row.name] = Gauge(
                    row.full_name, row.help, row.labels, registry=self.registry, multiprocess_mode=row.mode
                )
            elif row.kind == "counter":
                self.series[row.name] = Series(Counter(row.full_name, row.help, row.labels, registry=self.registry))
            else:
                self.series[row.name] = Series(
                    Histogram(row.full_name, row.help, row.labels, buckets=REQUEST_SECONDS, registry=self.registry)
                )
