"""The configuration of the proxy: nginx accepts it, it fits the settings, and it works in front of a real replica."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from service.settings import Settings
from tests.chaos.nginx import configuration, open_nginx
from tests.deploy.files import DEPLOY, compose, find, image_environment, service_of
from tests.support.live import LiveServer, running_server
from tests.support.redis_server import free_port

CONFIG = (DEPLOY / "nginx/nginx.conf").read_text()
UPSTREAM = (DEPLOY / "nginx/upstream.conf").read_text()

RESOLVES_SINCE = (1, 27, 3)
"""The nginx version that can resolve the names of an upstream again."""


def _said(name: str) -> str:
    found = re.findall(rf"^\s*{name}\s+([^;]+);", CONFIG, re.M)
    assert len(found) == 1, name
    return str(found[0])


def _default(name: str) -> Any:
    return Settings.model_fields[name].default


# ---------------------------------------------------------------- as it is written


def test_its_limits_are_those_of_the_service() -> None:
    assert _said("client_max_body_size") == f"{_default('max_body_bytes') >> 20}m"
    assert f"larger than {_default('max_body_bytes')} bytes" in CONFIG
    assert _said("client_header_timeout") == f"{_default('header_seconds'):g}s"
    assert _said("client_body_timeout") == f"{_default('body_seconds'):g}s"
    assert _said("keepalive_timeout") == f"{_default('keep_alive_seconds')}s"
    assert int(_said("proxy_read_timeout").rstrip("s")) > _default("request_seconds")
    assert int(_said("worker_shutdown_timeout").rstrip("s")) > _default("shutdown_seconds")


def test_it_speaks_to_what_compose_starts() -> None:
    (server,) = re.findall(r"^\s*server (\S+)", UPSTREAM, re.M)
    assert server == f"tallystick:{image_environment()['TALLYSTICK_PORT']}"
    assert "tallystick" in compose()["services"]
    proxy = service_of("proxy")
    assert proxy["ports"][0].endswith(f":{_said('listen')}")
    assert f":{_said('listen')}/proxy/health" in proxy["healthcheck"]["test"][-1]
    assert {path.split(":")[1] for path in proxy["volumes"]} == {"/etc/nginx/nginx.conf", "/etc/nginx/upstream.conf"}


def test_it_writes_where_compose_lets_it() -> None:
    places = re.findall(r"^\s*(?:pid|\w+_temp_path) (\S+);", CONFIG, re.M)
    assert len(places) == 6
    assert all(place.startswith("/tmp/") for place in places)
    assert service_of("proxy")["tmpfs"][0].startswith("/tmp:")


def test_a_line_of_its_log_has_no_query_and_no_header_but_the_id() -> None:
    (line,) = re.findall(r"log_format requests escape=json([^;]+);", CONFIG)
    named = set(re.findall(r"\$(\w+)", line))
    assert not {name for name in named if name.startswith(("request_uri", "args", "query", "http_", "arg_", "cookie"))}
    assert "request" not in named, "the line with its query"
    assert _said("error_log") == "stderr crit", "below, whole request lines are written"


# ---------------------------------------------------------------- as nginx takes it


@pytest.mark.nginx
def test_nginx_takes_it(tmp_path: Path) -> None:
    """The configuration as it is or, if this nginx cannot resolve names again, with an address in place of the name."""
    version = subprocess.run([find("nginx"), "-v"], capture_output=True, text=True, check=True).stderr
    (numbers,) = re.findall(r"nginx/(\d+)\.(\d+)\.(\d+)", version)
    if tuple(map(int, numbers)) >= RESOLVES_SINCE:
        files = {"nginx.conf": CONFIG.replace("/etc/nginx/", f"{tmp_path}/"), "upstream.conf": UPSTREAM}
    else:
        files = configuration(free_port(), tmp_path, [free_port()])
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run([find("nginx"), "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr.replace('the "user" directive', "")


def _ask(url: str, body: bytes | None = None, **headers: str) -> tuple[int, Any, Any]:
    """Status, headers and JSON of a response."""
    request = urllib.request.Request(url, body, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.load(error)


@pytest.mark.nginx
def test_a_count_comes_through_with_the_caller_s_id(live: LiveServer) -> None:
    port = int(live.url.rpartition(":")[2])
    with open_nginx([port]) as url:
        body = json.dumps({"model": "gpt-4o", "text": "Hello, world!"}).encode()
        status, headers, count = _ask(f"{url}/v1/countTokens?key=secret", body, X_Request_Id="mine-1")
        assert (status, count["input_tokens"], headers["x-request-id"]) == (200, 4, "mine-1")
        _, headers, _ = _ask(f"{url}/v1/countTokens", body)
        assert re.fullmatch("[0-9a-f]{32}", headers["x-request-id"]), "the one in the proxy's own log"


@pytest.mark.nginx
def test_what_the_proxy_refuses_it_refuses_in_the_service_s_words(live: LiveServer) -> None:
    with open_nginx([int(live.url.rpartition(":")[2])]) as url:
        large = b" " * (_default("max_body_bytes") + 1)
        through = _ask(f"{url}/v1/countTokens", large)
        direct = _ask(f"{live.url}/v1/countTokens", large)
        assert (through[0], direct[0]) == (413, 413)
        assert through[2]["error"].keys() == direct[2]["error"].keys()
        assert through[2]["error"]["code"] == direct[2]["error"]["code"] == "too_large"
    with open_nginx([free_port()]) as url:
        status, headers, refused = _ask(f"{url}/v1/countTokens", b"{}")
        assert (status, refused["error"]["code"], headers["retry-after"]) == (503, "overloaded", "1")
        assert _ask(f"{url}/proxy/health")[0] == 200, "the proxy itself is there"


@pytest.mark.nginx
def test_a_count_is_asked_of_the_next_replica_and_a_caller_cannot_say_who_it_is() -> None:
    body = json.dumps({"model": "gpt-4o", "text": "Hello, world!"}).encode()
    with (
        running_server(warm="o200k_base", trusted_proxies="*", requests_per_minute=3) as server,
        open_nginx([free_port(), int(server.url.rpartition(":")[2])]) as url,
    ):
        answers = [_ask(f"{url}/v1/countTokens", body, X_Forwarded_For=f"10.0.0.{number}") for number in range(5)]
    assert [status for status, _, _ in answers] == [200, 200, 200, 429, 429], "one address, whatever it says"
