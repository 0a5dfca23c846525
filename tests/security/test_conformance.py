"""The service does what its OpenAPI document says, for every kind of caller. A short run of conformance.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.security.conformance import CALLERS, Caller, run
from tests.support.web import client_of, make_app

CASES = 6
"""Random cases for each operation, besides those made from its schema."""

CASES_REFUSED = 3
"""For callers who are refused before the body is read. Cases made from the schema would add nothing there."""


@pytest.mark.parametrize("caller", [caller for caller in CALLERS if caller.scope != "admin"], ids=lambda row: row.name)
def test_every_operation_answers_as_the_document_says(caller: Caller) -> None:
    outcome = run(caller, CASES_REFUSED, phases="examples,fuzzing") if caller.refused else run(caller, CASES)
    assert not outcome.failures
    assert outcome.operations == sum(len(methods) for methods in make_app().openapi()["paths"].values())
    assert outcome.cases > (2 * outcome.operations if caller.refused else 1_000)
    assert outcome.answers["4xx"] > (outcome.operations if caller.refused else 100)


def test_every_operation_says_how_it_refuses() -> None:
    for path, methods in make_app().openapi()["paths"].items():
        for operation in methods.values():
            for status in ("4XX", "503"):
                answer = operation["responses"][status]["content"]["application/json"]
                assert answer["schema"], f"{path} {status}"


# ---------------------------------------------------------------- what it found


@pytest.mark.parametrize(("path", "body"), [
    ("/v1/countTokens:batch", {"items": {}}),
    ("/v1/responses/input_tokens", {"model": "gpt-4o", "input": "hi", "instructions": 5}),
    ("/v1/responses/input_tokens", {"model": "gpt-4o", "input": "hi", "reasoning": "low"}),
    ("/v1/responses/input_tokens", {"model": "gpt-4o", "input": "hi", "text": []}),
    ("/tokenize", {"model": "gpt-4o", "prompt": "hi", "return_token_strs": "yes"}),
])
async def test_what_the_document_does_not_allow_is_refused(path: str, body: Any) -> None:
    async with client_of(make_app()) as client:
        assert (await client.post(path, json=body)).status_code == 400


@pytest.mark.parametrize("more", [{"contents": None}, {"contents": None, "prompt": None}])
async def test_null_contents_beside_messages_do_not_make_a_request_of_googles(more: dict[str, Any]) -> None:
    """It was once counted as 0 tokens."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello, world!"}]}
    async with client_of(make_app()) as client:
        plain = (await client.post("/utils/token_counter", json=body)).json()
        assert (await client.post("/utils/token_counter", json={**body, **more})).json() == plain
        assert plain["total_tokens"] == 11


async def test_a_method_that_usage_does_not_take_is_told_of_both_that_it_does() -> None:
    async with client_of(make_app()) as client:
        answer = await client.delete("/v1/usage")
    assert answer.status_code == 405
    assert {*answer.headers["allow"].split(", ")} == {"GET", "HEAD", "POST"}
