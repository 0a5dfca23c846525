"""Access: keys, web pages of other origins, and what one caller can see of another."""

from __future__ import annotations

import hmac
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.auth import keys as key_module
from service.auth.key_store import FileStore
from service.auth.keys import DEFAULT_SCOPES, KeyRing, make_key
from tests.auth.test_auth import Door, bearer
from tests.support.live import running_server
from tests.support.web import client_of, make_app

COUNT, BODY = "/v1/countTokens", {"tokenizer": "gpt2", "text": "hello"}

BUDGETS = '[budgets.team-a]\nlimit_usd = "50"\nper = "day"\n[budgets.team-b]\nlimit_usd = "50"\nper = "day"\n'


# ---------------------------------------------------------------- keys


def test_digests_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def watch(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return hmac.compare_digest(first, second)

    monkeypatch.setattr(key_module, "hmac", type("Watched", (), {"compare_digest": staticmethod(watch)}))
    text, key = make_key("team-a", ["count"])
    ring = KeyRing({key.id: key})
    wrong = text[:-1] + ("a" if text[-1] != "a" else "b")
    assert ring.find(text) is key
    assert ring.find(wrong) is None
    assert [len(first) for first, _ in compared] == [32, 32]
    assert [key.digest in pair for pair in compared] == [True, True]


def test_a_key_file_holds_no_key(tmp_path: Path) -> None:
    text, key = make_key("team-a", ["count"])
    FileStore(tmp_path / "keys.json").change(lambda keys: keys.update({key.id: key}))
    kept = (tmp_path / "keys.json").read_text()
    assert key.id in kept
    assert text not in kept
    assert text.split("_", 2)[2] not in kept


def test_a_refusal_comes_before_a_byte_of_the_body(tmp_path: Path) -> None:
    """Only the headers are sent, and the response comes: the server does not wait for a body."""
    text, key = make_key("team-a", ["metrics"])
    FileStore(tmp_path / "keys.json").change(lambda keys: keys.update({key.id: key}))
    with running_server(warm="", keys_file=tmp_path / "keys.json", wait=False) as server:
        url = httpx.URL(server.url)
        head = b"POST /v1/countTokens HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n"
        for sent, status in (("", b"401"), ("x-api-key: wrong\r\n", b"401"), (f"x-api-key: {text}\r\n", b"403")):
            with socket.create_connection((url.host, url.port), timeout=60) as connection:
                connection.sendall(head + sent.encode() + b"\r\n")
                assert connection.recv(4_096).startswith(b"HTTP/1.1 " + status)


# ---------------------------------------------------------------- one caller and another


async def test_a_key_of_the_usual_scopes_sees_nothing_of_others(tmp_path: Path) -> None:
    tmp_path.joinpath("budgets.toml").write_text(BUDGETS)
    door = Door(tmp_path, budgets_file=tmp_path / "budgets.toml")
    text = door.key(*DEFAULT_SCOPES, name="team-b")
    async with client_of(door.app) as client:
        assert (await client.post(COUNT, json=BODY, headers=bearer(text))).status_code == 200
        for path in ("/v1/usage", "/v1/usage/drift", "/v1/budgets", "/v1/budgets/team-a", "/metrics"):
            assert (await client.get(path, headers=bearer(text))).status_code == 403
        for path in ("/v1/usage", "/v1/budgets/team-a/reserve", "/v1/budgets/team-a/settle"):
            assert (await client.post(path, json={}, headers=bearer(text))).status_code == 403


async def test_the_scopes_usage_and_budgets_open_those_of_all(tmp_path: Path) -> None:
    """This is all that is promised: a key with one of these scopes sees all projects."""
    tmp_path.joinpath("budgets.toml").write_text(BUDGETS)
    door = Door(tmp_path, budgets_file=tmp_path / "budgets.toml")
    counting, watching = door.key("count", name="team-a"), door.key("usage", "budgets", name="team-b")
    body = {"model": "gpt-4o", "text": "hello"}
    async with client_of(door.app) as client:
        assert (await client.post(COUNT, json=body, headers=bearer(counting))).status_code == 200
        usage = (await client.get("/v1/usage?group_by=project", headers=bearer(watching))).json()
        assert [row["project"] for row in usage["rows"]] == ["team-a"]
        budgets = (await client.get("/v1/budgets", headers=bearer(watching))).json()["budgets"]
        assert {budget["name"] for budget in budgets} == {"team-a", "team-b"}


async def test_a_project_cannot_be_borrowed(tmp_path: Path) -> None:
    """When keys are on, the header of a caller does not choose its project."""
    door = Door(tmp_path, projects=("team-a",))
    counting, watching = door.key("count", name="team-b"), door.key("usage")
    async with client_of(door.app) as client:
        headers = {**bearer(counting), "x-tallystick-project": "team-a"}
        assert (await client.post(COUNT, json={"model": "gpt-4o", "text": "a"}, headers=headers)).status_code == 200
        usage = (await client.get("/v1/usage?group_by=project", headers=bearer(watching))).json()
    assert [row["project"] for row in usage["rows"]] == ["team-b"]


# ---------------------------------------------------------------- pages of other origins


def page(site: str, origin: str = "https://evil.example") -> dict[str, str]:
    return {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "origin": origin, "content-type": "text/plain"}


@pytest.mark.parametrize(("settings", "headers", "status"), [
    ({}, page("cross-site"), 403), ({}, page("same-site"), 403), ({}, page("same-origin"), 200),
    ({}, page("none"), 200), ({}, {}, 200), ({"cors_origins": ("https://app.example",)}, page("cross-site"), 403),
    ({"cors_origins": ("https://app.example",)}, page("cross-site", "https://app.example"), 200),
    ({"cors_origins": ("*",)}, page("cross-site"), 200),
])
async def test_without_keys_no_page_makes_its_readers_browser_call(
    settings: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    """A page may send text/plain to its reader's machine without a preflight. It could reserve budgets."""
    async with client_of(make_app(**settings)) as client:
        answer = await client.post("/v1/compare", content=b'{"models": ["gpt-4o"], "text": "a"}', headers=headers)
    assert answer.status_code == status, answer.text


async def test_what_a_page_may_look_at_it_still_may() -> None:
    async with client_of(make_app()) as client:
        assert (await client.get("/", headers=page("cross-site"))).status_code == 200
        assert (await client.get("/v1/models", headers=page("cross-site"))).status_code == 200
