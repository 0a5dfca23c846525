"""`make generate`: writes the generated files of deploy/. These are the example file of the settings, the dashboards of
Grafana, and the Prometheus rules in the form that Kubernetes needs. tests/deploy/test_generated.py fails when it has
to be run."""

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

from scripts.dashboards import DASHBOARDS, format_dashboard
from service.settings import Settings

ROOT = Path(__file__).resolve().parent.parent

COMPOSE_ALONE = {
    "PROXY_PORT": "Port of the service on this machine's loopback.",
    "PROMETHEUS_PORT": "Port of Prometheus on this machine's loopback (--profile observability).",
    "GRAFANA_PORT": "Port of Grafana on this machine's loopback.",
    "PROMETHEUS_KEY": "When API keys are on: a key with the scopes metrics and usage.",
    "PROMETHEUS_RETENTION": "How long Prometheus keeps its data.",
    "REDIS_MAXMEMORY": "Memory of Redis. When it is full, the keys that expire first are deleted. Its container has "
    "640 MB.",
}
"""Variables of docker-compose.yml that are not settings of the service."""

ENV_HEAD = """\
# Settings of the service, each with its default: `make generate` writes this file. Copy it to .env beside
# docker-compose.yml, or pass it to `docker run --env-file`. Remove the # from what you change.
"""

ENV_COMPOSE = """\
# ---------------------------------------------------------------- only for docker-compose.yml
"""


def make_env_example() -> str:
    compose = dict(_compose_defaults((ROOT / "docker-compose.yml").read_text()))
    fixed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["tallystick"]["environment"]
    parts = [ENV_HEAD]
    for field, info in Settings.model_fields.items():
        name = f"TALLYSTICK_{field.upper()}"
        about, default = [str(info.description)], _format_default(info)
        if compose.get(name, default) != default:
            about.append(f"docker-compose.yml sets it to {compose[name]}.")
        elif name in fixed and name not in compose:
            about.append("docker-compose.yml sets it; it cannot be changed there.")
        parts.append(_entry(" ".join(about), name, default))
    parts.append(ENV_COMPOSE)
    parts += [_entry(about, name, compose[name]) for name, about in COMPOSE_ALONE.items()]
    return "\n".join(parts)


def _compose_defaults(text: str) -> Iterator[tuple[str, str]]:
    """The variables that compose takes from .env, with their defaults. Those without a default are left out."""
    for name, default in re.findall(r"(?<!\$)\$\{([A-Z_]+):-([^}]*)\}", text):
        if default or name in COMPOSE_ALONE:
            yield name, default


def _entry(about: str, name: str, value: str) -> str:
    return "\n".join([*(f"# {line}" for line in textwrap.wrap(about, 118)), f"#{name}={value}", ""])


def _format_default(info: FieldInfo) -> str:
    """A default in the form that it has in the environment."""
    if info.default_factory is not None:
        return "2"  # only `threads` has a factory: its default is the number of cores, which differs by machine
    value: Any = info.default
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Mapping):
        return "{}"
    return str(int(value)) if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


RULE_HEAD = "# deploy/prometheus/rules in the form of the Prometheus Operator. `make generate` writes this file.\n"


def make_prometheus_rule() -> str:
    files = sorted((ROOT / "deploy/prometheus/rules").glob("*.yml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
        "metadata": {"name": "tallystick", "labels": {"app.kubernetes.io/name": "tallystick"}},
        "spec": {"groups": groups},
    }
    return RULE_HEAD + yaml.safe_dump(rule, sort_keys=False, width=120, allow_unicode=True)


FILES: Mapping[str, Callable[[], str]] = {
    **{f"deploy/grafana/dashboards/{one.uid}.json": partial(format_dashboard, one) for one in DASHBOARDS},
    "deploy/.env.example": make_env_example,
    "deploy/prometheus/prometheusrule.yaml": make_prometheus_rule,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    check = parser.parse_args().check
    stale = [path for path, make in FILES.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != make()]
    for path in stale:
        print(f"{'stale: ' if check else 'wrote '}{path}")
        if not check:
            (ROOT / path).write_text(FILES[path]())
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
