"""FastAPI's OpenTelemetry is off, whatever the environment says: the service connects to nothing but Redis."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.live import ROOT

ASKING = """
import sys
from fastapi import FastAPI
from opentelemetry import trace
from starlette.testclient import TestClient
from service.app import create_app

tracers = []

class Provider(trace.TracerProvider):
    def get_tracer(self, *args, **more):
        tracers.append(args)
        return trace.NoOpTracer()

trace.set_tracer_provider(Provider())
app = create_app() if sys.argv[1] == "ours" else FastAPI()
with TestClient(app) as client:
    client.get("/livez")
    client.post("/v1/tokenize", json={"tokenizer": "gpt2", "text": "hello"})
print(len(tracers))
"""
"""Asks an app, and prints how often it asked OpenTelemetry for a tracer."""

EXPORTING = {"FASTAPI_OTEL_AUTO_CONFIGURE": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


def ask(app: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASKING, app], cwd=ROOT, env={**os.environ, "TALLYSTICK_WARM": "", **environment},
        capture_output=True, text=True, check=False,
    )


@pytest.mark.parametrize("environment", [{}, EXPORTING], ids=["plain", "exporting"])
def test_no_span_is_begun_and_nothing_is_exported(environment: dict[str, str]) -> None:
    asked = ask("ours", **environment)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.split() == ["0"]


def test_an_app_without_our_setting_would() -> None:
    assert int(ask("plain").stdout) > 0
    assert "opentelemetry" in ask("plain", **EXPORTING).stderr, "it looks for an exporter, which is not installed"
