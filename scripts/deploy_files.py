"""Writes what deploy/ takes from the code and from itself: the settings' example file, Grafana's dashboards, and the
rules as Kubernetes takes them. `make generate`; tests/deploy/test_generated.py says when it has to be run."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from scripts.dashboards import DASHBOARDS, dashboard_json
from service.settings import Settings

ROOT = Path(__file__).resolve().parent.parent

COMPOSE_ALONE = {
    "PROXY_PORT": "Port of the service on this machine's loopback.",
    "PROMETHEUS_PORT": "Port of Prometheus, likewise (--profile observability).",
    "GRAFANA_PORT": "Port of Grafana, likewise.",
    "PROMETHEUS_KEY": "With keys on: one with the scopes metrics and usage.",
    "PROMETHEUS_RETENTION": "How long Prometheus keeps what it has scraped.",
    "REDIS_MAXMEMORY": "Memory of Redis; when it is full, what would expire soonest goes. Its container has 640 MB.",
}
"""Variables of docker-compose.yml that are no settings of the service."""

ENV_HEAD = """\
# Settings of the service, each with its default: `make generate` writes this file. Copy it to .env beside
# docker-compose.yml, or give it to `docker run --env-file`, and take the # off what you change.
"""

ENV_COMPOSE = """\
# ---------------------------------------------------------------- docker-compose.yml alone
"""


def env_example() -> str:
    compose = dict(_compose_defaults((ROOT / "docker-compose.yml").read_text()))
    fixed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["tallystick"]["environment"]
    parts = [ENV_HEAD]
    for field, info in Settings.model_fields.items():
        name = f"TALLYSTICK_{field.upper()}"
        about, default = [str(info.description)], _as_text(info)
        if compose.get(name, default) != default:
            about.append(f"docker-compose.yml says {compose[name]} in its place.")
        elif name in fixed and name not in compose:
            about.append("docker-compose.yml leaves no choice.")
        parts.append(_entry(" ".join(about), name, default))
    parts.append(ENV_COMPOSE)
    parts += [_entry(about, name, compose[name]) for name, about in COMPOSE_ALONE.items()]
    return "\n".join(parts)


def _compose_defaults(text: str) -> Iterator[tuple[str, str]]:
    """Variables that compose takes from .env, and what it takes in their absence; unset ones are left out."""
    for name, default in re.findall(r"(?<!\$)\$\{([A-Z_]+):-([^}]*)\}", text):
        if default or name in COMPOSE_ALONE:
            yield name, default


def _entry(about: str, name: str, value: str) -> str:
    return "\n".join([*(f"# {line}" for line in textwrap.wrap(about, 118)), f"#{name}={value}", ""])


def _as_text(info: FieldInfo) -> str:
    """A default as the environment would say it."""
    if info.default_factory is not None:
        return "2"  # the only one is threads: the cores of this machine are nobody else's default
    value: Any = info.default
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Mapping):
        return "{}"
    return str(int(value)) if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


RULE_HEAD = "# deploy/prometheus/rules as the Prometheus Operator takes them: `make generate` writes this file.\n"


def prometheus_rule() -> str:
    files = sorted((ROOT / "deploy/prometheus/rules").glob("*.yml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
        "metadata": {"name": "tallystick", "labels": {"app.kubernetes.io/name": "tallystick"}},
        "spec": {"groups": groups},
    }
    return RULE_HEAD + yaml.safe_dump(rule, sort_keys=False, width=120, allow_unicode=True)


FILES: Mapping[str, Callable[[], str]] = {
    **{f"deploy/grafana/dashboards/{one.uid}.json": partial(dashboard_json, one) for one in DASHBOARDS},
    "deploy/.env.example": env_example,
    "deploy/prometheus/prometheusrule.yaml": prometheus_rule,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where something would change")
    check = parser.parse_args().check
    stale = [path for path, make in FILES.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != make()]
    for path in stale:
        print(f"{'stale: ' if check else 'wrote '}{path}")
        if not check:
            (ROOT / path).write_text(FILES[path]())
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
