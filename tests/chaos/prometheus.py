"""Prometheus with the configuration of deploy/prometheus, scraping both instances while a worker of one is killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.chaos.kinds import Kind
from tests.chaos.load import CLIENTS, Load
from tests.chaos.measure import warm_up
from tests.chaos.nginx import find_program
from tests.chaos.stores import until
from tests.chaos.topology import Topology, open_topology
from tests.support.live import ROOT
from tests.support.redis_server import free_port

CONFIG = ROOT / "deploy" / "prometheus"

OURS = 'route!~"/readyz|/livez|/metrics|/v1/usage.*|/v1/budgets.*"'
"""The routes that only the load uses."""

BEFORE_SECONDS, AFTER_SECONDS = 3.0, 3.0


def configuration(topology: Topology, folder: Path) -> str:
    """The configuration of deploy/, but scraping the instances every second. Raises RuntimeError if something
    that has to be replaced is not found."""
    targets = ", ".join(f'"127.0.0.1:{one.port}"' for one in topology.instances)
    text = (CONFIG / "prometheus.yml").read_text()
    for pattern, instead in (
        (r"dns_sd_configs:\n(?: {6}.*\n)+", f"static_configs:\n      - targets: [{targets}]\n"),
        (r"proxy:8080", topology.url.removeprefix("http://")), (r"/tmp/key", f"{folder}/key"),
        (r"(scrape_interval|evaluation_interval): \d+s", r"\1: 1s"),
        (r"rules/\*\.yml", f"{CONFIG}/rules/*.yml"),
    ):
        text, found = re.subn(pattern, instead, text)
        if not found:
            raise RuntimeError(f"deploy/prometheus/prometheus.yml has no {pattern}")
    return text


class Prometheus:
    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **query: str) -> Any:
        """The field `data` of a response of its API."""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def value(self, query: str) -> float:
        """The value of a query that gives one series. 0 when it gives none."""
        found = self.get("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else 0.0

    def is_up(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
            return bool(answer.status == 200)
        return False


@contextmanager
def running_prometheus(topology: Topology) -> Iterator[Prometheus]:
    program = find_program("prometheus")
    with tempfile.TemporaryDirectory(prefix="chaos-prometheus-") as name:
        folder, port = Path(name), free_port()
        (folder / "key").write_text(topology.key)
        (folder / "prometheus.yml").write_text(configuration(topology, folder))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=name,
            )
        try:
            prometheus = Prometheus(f"http://127.0.0.1:{port}")
            until(lambda: prometheus.is_up() or process.poll() is not None, "Prometheus is up")
            if process.poll() is not None:
                raise RuntimeError(f"Prometheus did not start:\n{(folder / 'log').read_text()[-2000:]}")
            yield prometheus
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def run(kinds: Sequence[Kind]) -> tuple[str, list[str]]:
    """The text of the section, and what is wrong."""
    if shutil.which("prometheus") is None:
        print("  needs prometheus (Debian: apt-get install prometheus)")
        return "Not run: no Prometheus here.", []
    with open_topology() as topology:
        warm_up(topology, kinds)
        with running_prometheus(topology) as prometheus:
            text, problems = _watch(topology, prometheus, kinds)
    print(text, flush=True)
    for problem in problems:
        print(f"    PROBLEM: {problem}", flush=True)
    return f"```text\n{text}\n```", problems


def _watch(topology: Topology, prometheus: Prometheus, kinds: Sequence[Kind]) -> tuple[str, list[str]]:
    # A request is added once its answer has left: what the victim had just sent may be missing, one a client at most.
    until(lambda: prometheus.value("sum(up)") == 3, "both instances and the usage of all are scraped")
    before = _scraped(prometheus)
    load = Load(topology.url, kinds, topology.headers)
    load.start()
    time.sleep(BEFORE_SECONDS)
    instance = topology.instances[0]
    victim = instance.workers[0]
    os.kill(victim, signal.SIGKILL)
    until(lambda: victim not in instance.workers and instance.is_healthy(), "a worker was replaced")
    time.sleep(AFTER_SECONDS)
    seen = load.stop()
    answered = len(seen.records) - seen.number("lost")
    with suppress(RuntimeError):
        until(lambda: _scraped(prometheus) - before == answered, "the scrapes show all", 5)
    counted = _scraped(prometheus) - before
    resets = prometheus.value("max(resets(tallystick_requests_total[5m]))")
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    broken = [rule["name"] for rule in rules if rule["health"] != "ok"]
    samples = int(prometheus.value("sum(scrape_samples_scraped)"))
    problems = []
    if seen.number("wrong") or seen.number("lost"):
        problems.append(f"wrong or lost: {dict(seen.reasons().most_common(5))}")
    if not answered - CLIENTS <= counted <= answered:
        problems.append(f"clients had {answered} answers, Prometheus shows {counted:.0f}")
    if resets:
        problems.append(f"{resets:.0f} counters fell")
    if broken or not rules:
        problems.append(f"rules that do not work, of {len(rules)}: {broken}")
    return (
        f"targets up: {prometheus.value('sum(up)'):.0f} of 3, {samples} samples a round\n"
        f"a worker killed under load: clients had {answered} answers, Prometheus shows {counted:.0f}; "
        f"counters that fell: {resets:.0f}\n"
        f"recording and alert rules that work: {len(rules) - len(broken)} of {len(rules)}"
    ), problems


def _scraped(prometheus: Prometheus) -> float:
    return prometheus.value(f"sum(tallystick_requests_total{{{OURS}}})")
