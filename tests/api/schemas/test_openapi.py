"""The document is one that typed clients can be made of (openapi-typescript, openapi-python-client)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.web import make_app

DOCUMENT = make_app().openapi()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OPERATIONS = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]


def walk(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and every one inside it."""
    if isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from walk(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from walk(part)


def names_in(schema: Any) -> set[str]:
    """The components that a schema leads to, at any depth."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        for part in walk(waiting.pop()):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                waiting.append(SCHEMAS[name])
    return found


BODIES = names_in([operation.get("requestBody", {}) for operation in OPERATIONS])
ANSWERS = names_in([operation["responses"] for operation in OPERATIONS])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation["operationId"])
def test_bodies_and_answers_are_named_and_explained(operation: dict[str, Any]) -> None:
    contents = [operation.get("requestBody", {"content": {}})["content"]]
    contents += [response["content"] for response in operation["responses"].values()]
    for content in contents:
        if "application/json" in content:
            name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert SCHEMAS[name]["description"]
    assert operation["summary"]


def test_bodies_and_answers_share_only_what_has_no_fields() -> None:
    """One model both ways would be two, or have fields that are optional in one of them only."""
    assert [name for name in sorted(BODIES & ANSWERS) if "properties" in SCHEMAS[name]] == []


def test_no_name_tells_input_and_output_apart() -> None:
    assert [name for name in SCHEMAS if "-" in name or "__" in name] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_what_a_typed_client_needs(name: str) -> None:
    schema = SCHEMAS[name]
    for part in walk(schema):
        for field, inner in part.get("properties", {}).items():
            assert "default" not in inner, f"{field}: openapi-typescript would call it required"
        if part.get("type") == "object":
            assert "properties" in part or "additionalProperties" in part, "an object is described, or open"
            assert part is schema or "properties" not in part, "an object with fields has a name"


def test_what_has_a_default_is_optional_in_bodies() -> None:
    required = {name: SCHEMAS[name].get("required", []) for name in BODIES}
    assert required["CountBody"] == []
    assert required["CompareBody"] == ["models"]
    assert required["TokenizeBody"] == ["text"]
    assert required["TrainBody"] == ["corpus", "merges"]
    assert required["ReserveBody"] == []
    assert required["UsageBody"] == ["usage"]
    assert SCHEMAS["CountBody"]["properties"]["special_tokens"]["description"].endswith('"text" by default.')
