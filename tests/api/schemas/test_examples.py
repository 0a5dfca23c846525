"""The examples of OpenAPI are what the service answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.make_api_examples import REQUESTS, operations, play
from service import catalog
from service.api.schemas.examples import Example, base_name, get_example, get_examples
from tests.support.web import make_app

DOCUMENT = make_app().openapi()
OPERATIONS = operations()


@pytest.fixture(autouse=True)
def bundled_catalog() -> Iterator[None]:
    """The app of an example has an alias of its own."""
    yield
    catalog.use(catalog.Catalog())


def without_trust(value: Any) -> Any:
    """Without what `make accuracy` may change."""
    if isinstance(value, dict):
        changing = ("method", "error_band", "methods")
        return {key: without_trust(item) for key, item in value.items() if key not in changing}
    return [without_trust(item) for item in value] if isinstance(value, list) else value


def test_every_operation_has_one_example() -> None:
    assert {base_name(name) for name in OPERATIONS} == set(get_examples()) == set(REQUESTS)


@pytest.mark.parametrize("name", OPERATIONS)
async def test_the_example_of_an_operation_is_what_it_answers(name: str) -> None:
    played, kept = Example(**await play(name)), get_example(name)
    assert (played.params, played.request) == (kept.params, kept.request)
    assert without_trust(played.response) == without_trust(kept.response)


@pytest.mark.parametrize("name", OPERATIONS)
def test_openapi_has_the_example(name: str) -> None:
    method, path = OPERATIONS[name]
    operation, example = DOCUMENT["paths"][path][method], get_example(name)
    shown = [
        content["example"] for content in operation["responses"]["200"]["content"].values() if "example" in content
    ]
    assert shown == [example.response]
    body = operation.get("requestBody", {"content": {}})["content"].get("application/json", {})
    assert body.get("example") == example.request


@pytest.mark.parametrize("name", sorted(set(REQUESTS) - {"usage_drift", "metrics"}))
def test_answers_are_json_without_floats(name: str) -> None:
    """Money is never one; only the ratio of a drift is."""
    text = json.dumps(get_example(name).response, allow_nan=False)
    assert json.loads(text, parse_float=pytest.fail) == get_example(name).response
