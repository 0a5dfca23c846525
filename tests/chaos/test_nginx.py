"""nginx runs with the configuration that is deployed."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

from tests.chaos.nginx import CONFIG, configuration, open_nginx
from tests.chaos.prometheus import CONFIG as PROMETHEUS
from tests.chaos.prometheus import configuration as of_prometheus
from tests.chaos.stores import Store
from tests.chaos.topology import Topology


def test_only_addresses_and_folders_are_others() -> None:
    files = configuration(4711, Path("/elsewhere"), [1, 2])
    before = (CONFIG / "nginx.conf").read_text().splitlines()
    changed = [new for old, new in zip(before, files["nginx.conf"].splitlines(), strict=True) if old != new]
    assert all("/elsewhere/" in row or "4711" in row or "worker_processes" in row for row in changed)
    servers = [row.split() for row in files["upstream.conf"].splitlines() if row.strip().startswith("server ")]
    assert [row[1] for row in servers] == ["127.0.0.1:1", "127.0.0.1:2"]
    assert all("max_fails=0;" in row for row in servers)
    assert "resolve" not in "".join(row for row in files["upstream.conf"].splitlines() if "#" not in row)


@pytest.mark.nginx
def test_it_starts_and_answers_by_itself_where_no_instance_does() -> None:
    with open_nginx([1]) as url, urllib.request.urlopen(f"{url}/proxy/health", timeout=10) as answer:
        assert answer.read() == b'{"status":"alive"}'


def test_prometheus_scrapes_each_instance_and_the_usage_of_all(tmp_path: Path) -> None:
    topology = Topology("http://127.0.0.1:9", "tsk_x", Store("server", []), [], tmp_path)
    text = of_prometheus(topology, tmp_path)
    assert "dns_sd_configs" not in text
    assert text.count("static_configs") == 2
    assert f"{PROMETHEUS}/rules/*.yml" in text
    assert "127.0.0.1:9" in text
