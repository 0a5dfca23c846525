"""Answers of the service are what their models say, no less and no more.

One spread of requests is asked of a running app. Each answer must fit the model that /openapi.json names for it. And
over all of them, a key that the schema calls nullable must have been null, one that it does not require must have been
absent, and no other.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from pydantic import BaseModel
from pydantic_core import to_json

from service.api.schemas import (
    budgets,
    cost,
    count,
    counts,
    errors,
    health,
    merges,
    models,
    providers,
    text,
    tokenize,
    usage,
)
from service.api.schemas.errors import ERROR_ANSWERS
from service.dialects.endpoints import Wire
from service.dialects.native import WIRE
from service.dialects.registry import WIRE_PREFIXES
from service.errors import ServiceError, UnknownModel
from service.tokenizers import registry
from tests.api.schemas import seen as sights
from tests.api.schemas.asked import BAD, BUDGET_CALLS, GETS, POSTS, TOKENIZER
from tests.support.redis_server import free_port, redis_server
from tests.support.web import client_of, make_app

MODULES = (budgets, cost, count, counts, errors, health, merges, models, providers, text, tokenize, usage)

MODELS: Mapping[str, type[BaseModel]] = {
    name: kind for module in MODULES for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, BaseModel)
}

BUDGETS = """
[budgets.tok]
limit_tokens = 1000
per = "total"
[budgets.usd]
limit_usd = "1"
per = "day"
"""


class Reader:
    """Checks answers against the document of the service."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.operations = [
            (method.upper(), re.compile(re.sub(r"{\w+}", "(.+)", path)), operation)
            for path, methods in document["paths"].items() for method, operation in methods.items()
        ]
        self.seen = sights.new()

    def read(self, answer: httpx.Response) -> Any:
        """The JSON of an answer that its model fits, strictly."""
        model = self._model(answer.request.method, answer.request.url.path, answer.status_code)
        value = model.model_validate_json(answer.content, strict=True)
        sights.look(value, answer.json(), self.seen)
        return answer.json()

    def _model(self, method: str, path: str, status: int) -> type[BaseModel]:
        operation = next(row for verb, pattern, row in self.operations if verb == method and pattern.fullmatch(path))
        for name in (str(status), f"{status // 100}XX"):
            if name in operation["responses"]:
                schema = operation["responses"][name]["content"]["application/json"]["schema"]
                return MODELS[schema["$ref"].rpartition("/")[2]]
        raise AssertionError(f"{path}: {status} is not documented")


async def ask_everything(client: httpx.AsyncClient, reader: Reader) -> None:
    for path, body in POSTS:
        answer = await client.post(path, json=body)
        assert answer.status_code == 200, (path, body, answer.text)
        reader.read(answer)
    await ask_budgets(client, reader)
    for path in GETS:
        reader.read(await client.get(path))
    for path, bodies in BAD.items():
        for body in bodies:
            answer = await client.post(path, json=body)
            assert answer.status_code in (400, 404), answer.text
            reader.read(answer)


async def ask_budgets(client: httpx.AsyncClient, reader: Reader) -> None:
    for budget, call, body in BUDGET_CALLS:
        path, sent = f"/v1/budgets/{budget}", body
        if call != "reserve":
            lease = await client.post(f"{path}/reserve", json={"tokens": 1} if budget == "tok" else {"amount_usd": 0})
            sent = {**body, "lease_id": lease.json()["lease_id"]}
        for _ in range(2 if call != "reserve" else 1):
            answer = await client.post(f"{path}/{call}", json=sent)
            assert answer.status_code == 200, answer.text
            reader.read(answer)


async def wait_for_redis(client: httpx.AsyncClient, status: str) -> None:
    async with asyncio.timeout(20):
        while (await client.get("/readyz")).json()["redis"]["status"] != status:  # noqa: ASYNC110 - asked over HTTP
            await asyncio.sleep(0.01)


async def ask_of_state(client: httpx.AsyncClient, reader: Reader) -> None:
    """What differs by where things are kept."""
    reader.read(await client.post("/v1/countTokens", json={"model": "claude-opus-4-8", "text": "word " * 50_000}))
    for path in ("/readyz", "/v1/usage", "/v1/usage/drift"):
        reader.read(await client.get(path))


@pytest.mark.redis
async def test_answers_are_what_their_models_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a service alone, of one with Redis, of one whose Redis is away, and of one that has not read its keys yet."""
    monkeypatch.setattr(registry, "_REGISTRY", registry.Registry())  # other tests have loaded tokenizers
    files = {"budgets_file": tmp_path / "budgets.toml", "keys_file": tmp_path / "keys.json"}
    files["budgets_file"].write_text(BUDGETS, encoding="utf-8")
    app = make_app(budgets_file=files["budgets_file"], warm=(TOKENIZER,))
    reader = Reader(app.openapi())
    async with client_of(app) as client:
        await ask_everything(client, reader)
    with redis_server() as server:
        for url, status in ((server.url, "ok"), (f"redis://127.0.0.1:{free_port()}/0", "degraded")):
            app = make_app(redis_url=url, cache_secret="x" * 32, ask_redis="always", warm=())
            async with app.router.lifespan_context(app), client_of(app) as client:
                await wait_for_redis(client, status)
                await ask_of_state(client, reader)
    async with client_of(make_app(keys_file=files["keys_file"])) as client:
        reader.read(await client.get("/readyz"))
    assert sights.differences(reader.seen) == []


# ---------------------------------------------------------------- errors


def all_errors(root: type[ServiceError] = ServiceError) -> Iterator[type[ServiceError]]:
    """Those of the service; another test may have imported the command line's."""
    if root.__module__ == ServiceError.__module__:
        yield root
    for kind in root.__subclasses__():
        yield from all_errors(kind)


@pytest.mark.parametrize("wire", {WIRE.name: WIRE, **{wire.name: wire for _, wire in WIRE_PREFIXES}}.values())
def test_every_error_fits_the_envelope_of_each_wire(wire: Wire) -> None:
    seen = sights.new()
    for kind in set(all_errors()):
        for field, retry_after in ((None, None), ("a.b[0]", 2.5)):
            error = kind("It is wrong.", field=field)
            error.retry_after = retry_after
            if isinstance(error, UnknownModel):
                error.near = ("gpt-4o",)
            _, body = wire.error(error, "0123456789abcdef")
            sights.look(ERROR_ANSWERS[wire.name].model_validate_json(to_json(body), strict=True), body, seen)
    assert sights.differences(seen) == []


def test_every_error_has_its_code_in_the_native_envelope() -> None:
    assert {kind.code for kind in all_errors()} == set(get_args(errors.ErrorCode.__value__))
