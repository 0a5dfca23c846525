"""Keys over HTTP: who is let in, in which dialect others are refused, and that nothing of a key is shown anywhere."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from service.api.auth import needs
from service.api.routing import KeyedRoute, RouteCache, ServiceRoute
from service.auth.admission import Exposed, check_exposure, is_loopback
from service.auth.key_store import FileStore, Keys
from service.auth.keys import ADMIN, SCOPES, Key, KeyRing, KeyStoreError, Scope, make_key
from service.observability.logs import RequestRecord
from service.settings import Settings
from tests.support.web import client_of, find_dialect, make_app

COUNT = "/v1/countTokens"
BODY = {"tokenizer": "gpt2", "text": "hello"}

PUBLIC = ("/livez", "/readyz", "/", "/web", "/docs")
"""The pages that ask for a key need none themselves; they hold no data."""


class Door:
    """An app that asks for keys, and a way to make them."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.store = FileStore(folder / "keys.json")
        self.store.change(lambda keys: None)
        self.app = make_app(keys_file=self.store.path, warm=(), **settings)

    def key(self, *scopes: Scope, name: str = "team-a", **more: Any) -> str:
        text, key = make_key(name, scopes or ("count",), **more)

        def add(keys: dict[str, Key]) -> None:
            keys[key.id] = key

        self.store.change(add)
        self.app.state.services.keys.refresh()
        return text


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


@pytest.fixture
async def client(door: Door) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(door.app) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


# ---------------------------------------------------------------- every route


def calls(app: FastAPI) -> Iterator[tuple[str, KeyedRoute, str]]:
    """(method, route, path) of every route there is."""
    for route in app.state.pipeline.routes.routes:
        path = re.sub(r"{\w+(:\w+)?}", "x", route.path)
        yield from ((method, route, path) for method in sorted(route.methods))
        if "GET" in route.methods:
            yield "HEAD", route, path


def is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith(("/web/", "/docs/"))


async def test_no_route_is_open_without_a_key(door: Door, client: httpx.AsyncClient) -> None:
    walked = list(calls(door.app))
    assert len(walked) > 40
    for method, _, path in walked:
        answer = await client.request(method, path)
        if is_public(path):
            assert answer.status_code in (200, 404, 503), path
        else:
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"].startswith("Bearer"), path
            assert method == "HEAD" or answer.json(), path


async def test_no_operation_of_the_openapi_document_is_open_without_a_key(
    door: Door, client: httpx.AsyncClient
) -> None:
    """What a reader of the document would call."""
    asked = 0
    for template, operations in door.app.openapi()["paths"].items():
        for method in operations:
            path = re.sub(r"{\w+}", "x", template)
            status = (await client.request(method.upper(), path)).status_code
            assert (status != 401) == is_public(path), (method, path)
            asked += 1
    assert asked > 30


async def test_every_route_needs_its_scope_and_no_other(door: Door, client: httpx.AsyncClient) -> None:
    keys = {scope: door.key(scope, name=f"only-{scope}") for scope in SCOPES}
    for method, route, path in calls(door.app):
        if is_public(path):
            continue
        for scope, key in keys.items():
            status = (await client.request(method, path, headers=bearer(key))).status_code
            allows = scope in (route.needs, ADMIN)
            assert (status not in (401, 403)) == allows, (method, path, scope, status)
            assert allows or status == 403, (method, path, scope, status)


SCOPES_OF_PATHS = {
    "/v1/countTokens": "count", "/v1/countTokens:batch": "count", "/v1/messages/count_tokens": "count",
    "/anthropic/v1/messages/count_tokens": "count", "/v1/responses/input_tokens": "count",
    "/v1beta/models/{model:path}:countTokens": "count", "/v1/models/{model:path}:countTokens": "count",
    "/v1beta/tunedModels/{model}:countTokens": "count", "/v1/tunedModels/{model}:countTokens": "count",
    "/v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}:countTokens": "count",
    "/v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}:countTokens": "count",
    "/v1beta1/publishers/{publisher}/models/{model}:countTokens": "count",
    "/v1/publishers/{publisher}/models/{model}:countTokens": "count", "/utils/token_counter": "count",
    "/v1/estimateCost": "count", "/v1/checkBudget": "count", "/v1/compare": "count", "/v1/truncate": "count",
    "/v1/split": "count", "/tokenize": "tokenize", "/detokenize": "tokenize", "/v1/tokenize": "tokenize",
    "/v1/detokenize": "tokenize", "/v1/explain": "tokenize", "/v1/bpe/train": "tokenize", "/v1/models": "models",
    "/v1/models/{model_id:path}": "models", "/v1/tokenizers": "models", "/": "models",
    "/web/{path:path}": "models", "/openapi.json": "models", "/docs": "models",
    "/docs/{path:path}": "models", "/v1/budgets": "budgets",
    "/v1/budgets/{name}": "budgets", "/v1/budgets/{name}/reserve": "budgets", "/v1/budgets/{name}/settle": "budgets",
    "/v1/budgets/{name}/release": "budgets", "/v1/usage": "usage", "/v1/usage/drift": "usage", "/livez": "metrics",
    "/readyz": "metrics", "/metrics": "metrics",
}


def test_every_route_has_the_scope_that_is_meant(door: Door) -> None:
    """A route that names no scope needs an admin key; none of ours does."""
    found = {route.path: route.needs for route in door.app.state.pipeline.routes.routes}
    assert found == SCOPES_OF_PATHS


def test_a_route_that_names_no_scope_opens_to_admin_keys_alone(door: Door) -> None:
    router = APIRouter(route_class=ServiceRoute)

    @router.get("/v1/something/new")
    async def something_new() -> None:
        """A route whose writer forgot `needs`."""

    door.app.include_router(router)
    route = RouteCache(door.app).routes[-1]
    assert (route.path, route.needs) == ("/v1/something/new", ADMIN)


def test_the_scope_of_a_route_comes_before_that_of_its_router(door: Door) -> None:
    router = APIRouter(route_class=ServiceRoute, dependencies=[needs("count")])

    @router.get("/v1/something/new", dependencies=[needs("usage")])
    async def something_new() -> None:
        """A route with a scope of its own."""

    door.app.include_router(router)
    assert RouteCache(door.app).routes[-1].needs == "usage"


@pytest.mark.parametrize(
    "path", ["/nothing", "/livez/../metrics", "/livezz", "/readyz.", "//livez", "/v1", "/docsx", "/website"]
)
async def test_a_path_that_is_none_is_closed_too(client: httpx.AsyncClient, path: str) -> None:
    request = client.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    assert (await client.send(request)).status_code == 401


async def test_what_is_public_is_a_setting(tmp_path: Path) -> None:
    door = Door(tmp_path, public=("/livez", "/metrics", "/web", "/"))
    async with client_of(door.app) as client:
        assert (await client.get("/metrics")).status_code == 200
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/web/x/nothing.js")).status_code == 404
        assert (await client.get("/readyz")).status_code == 401
        assert (await client.get("/website")).status_code == 401
        assert (await client.post(COUNT, json=BODY)).status_code == 401


# ---------------------------------------------------------------- keys as SDKs send them


@pytest.mark.parametrize(
    "sent",
    [
        {"headers": {"authorization": "Bearer {key}"}}, {"headers": {"authorization": "bearer  {key} "}},
        {"headers": {"x-api-key": "{key}"}}, {"headers": {"x-goog-api-key": "{key}"}}, {"params": {"key": "{key}"}},
        {"headers": {"authorization": "Bearer sk-ant-something-else", "x-api-key": "{key}"}},
        {"headers": {"authorization": "Basic dXNlcjpwYXNz", "x-goog-api-key": "{key}"}},
    ],
)
async def test_a_key_is_taken_wherever_sdks_put_it(door: Door, client: httpx.AsyncClient, sent: Any) -> None:
    key = door.key("count")
    filled: Any = {kind: {name: value.format(key=key) for name, value in row.items()} for kind, row in sent.items()}
    assert (await client.post(COUNT, json=BODY, **filled)).json()["input_tokens"] == 1


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"authorization": "Bearer"}, {"authorization": "Bearer "}, {"authorization": "{key}"},
        {"authorization": "Token {key}"}, {"authorization": "Bearer {key}x"}, {"x-api-key": "Bearer {key}"},
        {"cookie": "key={key}"}, {"api-key": "{key}"},
    ],
)
async def test_anything_else_is_a_401(door: Door, client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    key = door.key("count")
    sent = {name: value.format(key=key) for name, value in headers.items()}
    answer = await client.post(COUNT, json=BODY, headers=sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
    assert key not in answer.text


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        (COUNT, "native"), ("/v1/messages/count_tokens", "anthropic"),
        ("/anthropic/v1/messages/count_tokens", "anthropic"), ("/v1/responses/input_tokens", "openai"),
        ("/v1beta/models/gemini-2.5-flash:countTokens", "google"),
        ("/v1/models/gemini-2.5-flash:countTokens", "google"), ("/v1/messages/nothing", "anthropic"),
    ],
)
async def test_a_refusal_is_written_in_the_dialect_of_its_path(
    door: Door, client: httpx.AsyncClient, path: str, dialect: str
) -> None:
    answers = [
        await client.post(path, json={}),
        await client.post(path, json={}, headers=bearer(make_key("a", ["count"])[0])),
    ]
    if not path.endswith("nothing"):
        answers.append(await client.post(path, json={}, headers=bearer(door.key("usage"))))
    for answer, status in zip(answers, (401, 401, 403), strict=False):
        assert (answer.status_code, find_dialect(answer.json())) == (status, dialect), answer.text


async def test_a_bad_key_costs_no_body_read(door: Door) -> None:
    read = False

    async def receive() -> Any:
        nonlocal read
        read = True
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": COUNT, "raw_path": COUNT.encode(), "query_string": b"",
        "headers": [(b"x-api-key", b"tsk_wrong"), (b"transfer-encoding", b"chunked")], "client": ("127.0.0.1", 1),
        "root_path": "", "http_version": "1.1", "scheme": "http", "server": ("x", 80),
    }
    await door.app(scope, receive, send)
    assert (sent[0]["status"], read) == (401, False)
    assert sent[-1].get("more_body", False) is False


# ---------------------------------------------------------------- keys that change


async def test_a_key_works_until_it_is_revoked(door: Door, client: httpx.AsyncClient) -> None:
    key = door.key("count")
    assert (await client.post(COUNT, json=BODY, headers=bearer(key))).status_code == 200
    door.store.change(lambda keys: keys.clear())
    assert (await client.post(COUNT, json=BODY, headers=bearer(key))).status_code == 200  # not looked at yet
    door.app.state.services.keys.refresh()
    assert (await client.post(COUNT, json=BODY, headers=bearer(key))).status_code == 401


async def test_a_file_that_broke_changes_nothing_and_is_told_once(
    door: Door, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    key = door.key("count")
    door.store.path.write_text('{"keys": 1}')
    for _ in range(3):
        door.app.state.services.keys.refresh()
    assert [record.message for record in caplog.records].count("keys not read") == 1
    assert (await client.post(COUNT, json=BODY, headers=bearer(key))).status_code == 200
    door.store.path.write_text('{"keys": []}')
    door.app.state.services.keys.refresh()
    assert (await client.post(COUNT, json=BODY, headers=bearer(key))).status_code == 401


class Failing:
    """A store that cannot be reached."""

    def load(self) -> KeyRing:
        raise KeyStoreError("gone")

    def change(self, change: Any) -> None:
        raise KeyStoreError("gone")

    def version(self) -> object:
        raise KeyStoreError("gone")


async def test_as_long_as_keys_cannot_be_read_nobody_is_let_in(door: Door, client: httpx.AsyncClient) -> None:
    key = door.key("count")
    door.app.state.pipeline.authenticator.keys = Keys(Failing())
    door.app.state.pipeline.authenticator.keys.refresh()
    answer = await client.post(COUNT, json=BODY, headers=bearer(key))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "keys_unavailable")
    assert answer.headers["retry-after"] == "5"
    assert (await client.get("/livez")).status_code == 200


def test_a_broken_file_at_the_start_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text("{")
    with pytest.raises(KeyStoreError):
        make_app(keys_file=file)


# ---------------------------------------------------------------- what is told of a request


async def test_no_key_is_in_a_log_an_answer_or_a_metric(
    door: Door, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    good, bad = door.key("count", "metrics"), make_key("x", ["count"])[0]
    texts = []
    for key in (good, bad):
        for sent in (
            {"headers": bearer(key)}, {"headers": {"x-api-key": key}}, {"headers": {"x-goog-api-key": key}},
            {"params": {"key": key}}, {"params": {"a": "b", "key": key}},
        ):
            answer = await client.post(COUNT, json=BODY, **sent)  # type: ignore[arg-type]
            texts.append(answer.text + str(answer.headers))
        texts.append((await client.post(COUNT, content=key.encode(), headers=bearer(good))).text)
        texts.append((await client.get(f"/{key}", headers=bearer(good))).text)
    texts.append((await client.get("/metrics", headers=bearer(good))).text)
    texts += [str(vars(record)) for record in caplog.records if not record.name.startswith("httpx")]
    assert len(texts) > 20
    for key in (good, bad):
        assert not [text for text in texts if key in text or key.split("_", 2)[2] in text]


async def test_the_project_of_a_request_is_its_keys_name(
    door: Door, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    headers = {**bearer(door.key("count", name="team-a")), "x-tallystick-project": "team-b"}
    await client.post(COUNT, json=BODY, headers=headers)
    await client.post(COUNT, json=BODY)
    assert projects(caplog) == ["team-a", "default"]


async def test_without_keys_the_project_is_one_of_those_that_are_configured(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with client_of(make_app(projects=("팀",))) as client:
        await client.post(COUNT, json=BODY, headers={b"x-tallystick-project": "팀".encode()})
    async with client_of(make_app(projects=("team-a", "team-b"))) as client:
        for said in ("team-b", "team-c", "TEAM-B", ""):
            await client.post(COUNT, json=BODY, headers={"x-tallystick-project": said})
        await client.post(COUNT, json=BODY)
    async with client_of(make_app()) as client:
        await client.post(COUNT, json=BODY, headers={"x-tallystick-project": "team-a"})
    assert projects(caplog) == ["팀", "team-b", "default", "default", "default", "default", "default"]


def projects(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [record for record in caplog.records if isinstance(record, RequestRecord)]
    rows = [fields for record in records for _, fields in record.rows]
    return [row["project"] for row in rows]


# ---------------------------------------------------------------- where it may listen


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    assert is_loopback(host)
    check_exposure(Settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "192.168.1.5", "2001:db8::1"])
def test_anything_else_does_and_the_message_says_how(host: str) -> None:
    with pytest.raises(Exposed) as caught:
        check_exposure(Settings(host=host))
    for way_out in ("tallystick keys add", "TALLYSTICK_KEYS_FILE", "--host 127.0.0.1", "--allow-anonymous"):
        assert way_out in str(caught.value)
    check_exposure(Settings(host=host, allow_anonymous=True))
    check_exposure(Settings(host=host, keys_file=Path("keys.json")))


@pytest.mark.parametrize("prefix", ["/docs", "/web", "/livez", "/api"])
async def test_an_app_that_is_mounted_below_a_public_prefix_still_asks_for_keys(door: Door, prefix: str) -> None:
    """The prefix is the mount's: what is public is decided by the path behind it."""
    outer = Starlette(routes=[Mount(prefix, door.app)])
    async with client_of(outer) as client:
        assert (await client.get(f"{prefix}/v1/models")).status_code == 401
        assert (await client.get(f"{prefix}/livez")).status_code == 200
