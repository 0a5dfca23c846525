"""promtool accepts the rules and the scrape configuration, and each alert has a test in which it fires."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.files import DEPLOY, compose, expressions, find, image_environment, rule_files, rules, service_of
from tests.support.live import LiveServer

CONFIG = DEPLOY / "prometheus/prometheus.yml"
TESTS = sorted(DEPLOY.glob("prometheus/tests/*.yml"))


def promtool(*arguments: str | Path, stdin: bytes | None = None) -> str:
    done = subprocess.run([find("promtool"), *arguments], capture_output=True, check=False, input=stdin, timeout=60)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


def jobs() -> Mapping[str, dict[str, Any]]:
    return {job["job_name"]: job for job in yaml.safe_load(CONFIG.read_text())["scrape_configs"]}


@pytest.mark.promtool
def test_rules_are_rules() -> None:
    assert promtool("check", "rules", *rule_files()).count("SUCCESS") == len(rule_files()) == 2


@pytest.mark.promtool
def test_the_configuration_is_one(tmp_path: Path) -> None:
    """The configuration with the rules beside it. The container writes the key to its place when it starts."""
    (tmp_path / "key").touch()
    (tmp_path / "rules").symlink_to(DEPLOY / "prometheus/rules")
    config = tmp_path / "prometheus.yml"
    config.write_text(CONFIG.read_text().replace("/tmp/key", str(tmp_path / "key")))
    assert "2 rule files found" in promtool("check", "config", config)


@pytest.mark.promtool
def test_alerts_fire_when_they_have_to_and_only_then() -> None:
    promtool("test", "rules", *TESTS)


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    fired = {
        case["alertname"] for file in TESTS for test in yaml.safe_load(file.read_text())["tests"]
        for case in test.get("alert_rule_test", []) if case["exp_alerts"]
    }
    alerts = {rule["alert"] for rule in rules() if "alert" in rule}
    assert alerts - fired == {"TallystickErrorsSlow"}, "which is the fast one over longer windows"
    assert fired <= alerts


def test_alerts_say_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules():
        if "alert" in rule:
            assert rule["labels"]["severity"] in ("critical", "warning", "info")
            assert set(rule["annotations"]) == {"summary", "description"}


@pytest.mark.promtool
def test_every_expression_of_a_panel_is_promql(tmp_path: Path) -> None:
    groups = [{"name": "panels", "rules": [
        {"record": f"panel:{number}", "expr": asked} for number, (_, asked) in enumerate(expressions())
    ]}]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": groups}))
    promtool("check", "rules", tmp_path / "rules.yml")


def test_it_scrapes_what_compose_starts() -> None:
    services, port = compose()["services"], image_environment()["TALLYSTICK_PORT"]
    (every,) = jobs()["tallystick"]["dns_sd_configs"]
    assert set(every["names"]) <= set(services)
    assert str(every["port"]) == port
    (target,) = jobs()["tallystick-usage"]["static_configs"][0]["targets"]
    host, _, at = target.partition(":")
    assert services[host]["ports"][0].endswith(f":{at}")
    files = {job["authorization"]["credentials_file"] for job in jobs().values()}
    assert len(files) == 1
    assert f"> {files.pop()};" in service_of("prometheus")["entrypoint"][-2]


def test_without_keys_an_empty_one_is_no_harm(live: LiveServer) -> None:
    """The Authorization header that Prometheus sends while there is no PROMETHEUS_KEY."""
    import urllib.request

    for job in jobs().values():
        path = job.get("metrics_path", "/metrics")
        query = "&".join(f"{name}={value}" for name, values in job.get("params", {}).items() for value in values)
        request = urllib.request.Request(f"{live.url}{path}?{query}", headers={"Authorization": "Bearer "})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200


@pytest.mark.promtool
def test_promtool_reads_what_the_service_shows(live: LiveServer) -> None:
    """promtool's advice on names is followed, but for the process metrics, which all exporters name like this."""
    import urllib.request

    for path in ("/metrics", "/v1/usage?format=prometheus"):
        with urllib.request.urlopen(f"{live.url}{path}", timeout=60) as answer:
            promtool("check", "metrics", stdin=answer.read())
