"""Probes and metrics over HTTP."""

from __future__ import annotations

from tests.support.web import client_of, make_app


async def test_probes_take_get_and_head() -> None:
    async with client_of(make_app(warm=())) as client:
        assert (await client.get("/livez")).json() == {"status": "alive"}
        assert (await client.head("/livez")).status_code == 200
        assert (await client.get("/readyz")).status_code == 503  # nothing has been warmed: the app was not started
        assert (await client.get("/metrics")).headers["content-type"].startswith("text/plain")
        wanted = {"accept": "application/openmetrics-text; version=1.0.0"}
        assert (await client.get("/metrics", headers=wanted)).text.endswith("# EOF\n")
