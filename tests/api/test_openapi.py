"""The OpenAPI document: complete, the same each time, and with the paths and names that clients were made of."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from service import __version__
from service.api.schemas.errors import ERROR_ANSWERS
from service.auth.key_store import FileStore
from service.auth.keys import Scope, make_key
from service.dialects.native import QUERY_FIELDS
from tests.support.live import ROOT
from tests.support.web import client_of, make_app

OPERATIONS = (
    ("POST", "/v1/countTokens", "count_tokens"),
    ("POST", "/v1/countTokens:batch", "count_tokens_batch"),
    ("POST", "/v1/messages/count_tokens", "anthropic_count_tokens"),
    ("POST", "/anthropic/v1/messages/count_tokens", "anthropic_count_tokens_1"),
    ("POST", "/v1/responses/input_tokens", "openai_input_tokens"),
    ("POST", "/v1beta/models/{model}:countTokens", "gemini_count_tokens"),
    ("POST", "/v1/models/{model}:countTokens", "gemini_count_tokens_1"),
    ("POST", "/v1beta/tunedModels/{model}:countTokens", "gemini_tuned_count_tokens"),
    ("POST", "/v1/tunedModels/{model}:countTokens", "gemini_tuned_count_tokens_1"),
    ("POST", "/v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}:countTokens",
     "vertex_count_tokens"),
    ("POST", "/v1beta1/publishers/{publisher}/models/{model}:countTokens", "vertex_count_tokens_1"),
    ("POST", "/v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}:countTokens",
     "vertex_count_tokens_2"),
    ("POST", "/v1/publishers/{publisher}/models/{model}:countTokens", "vertex_count_tokens_3"),
    ("POST", "/utils/token_counter", "litellm_token_counter"),
    ("POST", "/tokenize", "vllm_tokenize"),
    ("POST", "/detokenize", "vllm_detokenize"),
    ("POST", "/v1/estimateCost", "estimate_cost"),
    ("POST", "/v1/checkBudget", "check_budget"),
    ("POST", "/v1/compare", "compare"),
    ("POST", "/v1/truncate", "truncate"),
    ("POST", "/v1/split", "split"),
    ("GET", "/v1/models", "list_models"),
    ("GET", "/v1/models/{model_id}", "get_model"),
    ("GET", "/v1/budgets", "list_budgets"),
    ("GET", "/v1/budgets/{name}", "get_budget"),
    ("POST", "/v1/budgets/{name}/reserve", "reserve"),
    ("POST", "/v1/budgets/{name}/settle", "settle"),
    ("POST", "/v1/budgets/{name}/release", "release"),
    ("POST", "/v1/tokenize", "tokenize"),
    ("POST", "/v1/detokenize", "detokenize"),
    ("POST", "/v1/explain", "explain"),
    ("POST", "/v1/bpe/train", "bpe_train"),
    ("POST", "/v1/usage", "take_usage"),
    ("GET", "/v1/usage", "usage"),
    ("GET", "/v1/usage/drift", "usage_drift"),
    ("GET", "/v1/tokenizers", "tokenizers"),
    ("GET", "/livez", "livez"),
    ("GET", "/readyz", "readyz"),
    ("GET", "/metrics", "metrics"),
)
"""Method, path and operationId: generated clients are written against these, so they change in no release."""

@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_app().openapi()


def iterate_operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def iterate_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, itself included."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from iterate_objects(item)


# ---------------------------------------------------------------- what it names


def test_methods_paths_and_operation_ids_stay_as_they_are(document: dict[str, Any]) -> None:
    found = [(method.upper(), path, row["operationId"]) for method, path, row in iterate_operations(document)]
    assert sorted(found) == sorted(OPERATIONS)


def test_it_says_what_it_is_of(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["info"] == {
        "title": "Tallystick", "version": __version__,
        "summary": "How many input tokens will this request be billed for?",
    }


def test_every_operation_has_words_a_tag_and_its_errors(document: dict[str, Any]) -> None:
    described = {tag["name"] for tag in document["tags"] if tag["description"]}
    dialects = {route.operation_id: route.dialect for route in make_app().state.pipeline.routes.routes}
    for _, path, operation in iterate_operations(document):
        assert operation["summary"], path
        assert operation["description"], path
        (tag,) = operation["tags"]
        assert tag in described
        dialect = dialects[operation["operationId"]]
        assert operation["responses"].keys() == {"200", "4XX", *(str(status) for status in dialect.busy)}, path
        error = operation["responses"]["4XX"]["content"]["application/json"]["schema"]
        assert error["$ref"].endswith(f"/{ERROR_ANSWERS[dialect.name].__name__}"), path


def test_a_key_may_be_sent_in_four_ways_and_each_operation_tells_its_scope(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    assert list(schemes) == ["bearer", "anthropicKey", "googleKey", "queryKey"]
    assert document["security"] == [{}, *({name: []} for name in schemes)], "an empty one: keys are optional"
    needs = {route.operation_id: route.needs for route in make_app().state.pipeline.routes.routes}
    for _, path, operation in iterate_operations(document):
        assert "security" not in operation, f"{path}: openapi-python-client would call a key needed"
        assert operation["description"].endswith(f"scope `{needs[operation['operationId']]}`."), path
    assert "`usage`" in document["paths"]["/v1/usage"]["get"]["description"]


def test_what_only_a_count_has(document: dict[str, Any]) -> None:
    with_headers = {
        operation["operationId"] for _, _, operation in iterate_operations(document)
        if "X-Tallystick-Method" in operation["responses"]["200"].get("headers", {})
    }
    counts = {name for _, path, name in OPERATIONS if "ount" in name or path == "/tokenize"} | {"openai_input_tokens"}
    assert with_headers == counts - {"count_tokens_batch"}
    texts = [
        operation for _, _, operation in iterate_operations(document)
        if "text/plain" in operation.get("requestBody", {}).get("content", {})
    ]
    assert [text["operationId"] for text in texts] == ["count_tokens"]
    assert {parameter["name"] for parameter in texts[0]["parameters"]} == QUERY_FIELDS


# ---------------------------------------------------------------- schemas and examples


def test_every_operation_has_an_example_that_fits_its_schema(document: dict[str, Any]) -> None:
    def check(content: dict[str, Any]) -> None:
        schema = {**content["schema"], "components": document["components"]}
        Draft202012Validator(schema).validate(content["example"])

    for _, path, operation in iterate_operations(document):
        media, answer = next(iter(operation["responses"]["200"]["content"].items()))
        assert media in ("application/json", "text/plain")
        check(answer)
        for body in operation.get("requestBody", {"content": {}})["content"].values():
            check(body)
        for parameter in operation.get("parameters", ()):
            assert "example" in parameter or not parameter.get("required"), path
            if "example" in parameter:
                check(parameter)


def test_no_schema_is_empty_or_of_the_framework(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert list(schemas) == sorted(schemas)
    assert not [name for name in schemas if "Validation" in name]
    for _, path, operation in iterate_operations(document):
        for content in iterate_objects(operation):
            if "schema" in content:
                assert content["schema"], path


def test_no_parameter_may_be_null_and_one_with_a_default_is_not_required(document: dict[str, Any]) -> None:
    for _, path, operation in iterate_operations(document):
        for parameter in operation.get("parameters", ()):
            assert {"type": "null"} not in parameter["schema"].get("anyOf", ()), path
            assert not (parameter.get("required") and "default" in parameter["schema"]), path


def test_it_is_the_same_in_every_process() -> None:
    program = "from service.app import create_app; import json; print(json.dumps(create_app().openapi()))"
    made = [
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert made[0] == made[1]


# ---------------------------------------------------------------- how it is served


async def test_it_is_served_as_the_app_makes_it_and_leaves_out_itself() -> None:
    app = make_app()
    async with client_of(app) as client:
        answer = await client.get("/openapi.json")
        again = await client.get("/openapi.json")
        head = await client.head("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == app.openapi()
    assert again.content == answer.content
    assert head.status_code == 200
    assert head.headers["content-length"] == str(len(answer.content))
    assert not {"/openapi.json", "/docs", "/"} & answer.json()["paths"].keys()
    assert "://" not in answer.text.replace("http://json-schema.org", "")


@pytest.mark.parametrize(("scope", "status"), [("models", 200), ("count", 403), (None, 401)])
async def test_it_needs_a_key_that_may_read_the_models(tmp_path: Path, scope: Scope | None, status: int) -> None:
    text, key = make_key("somebody", [scope or "models"])
    FileStore(tmp_path / "keys.json").change(lambda kept: kept.update({key.id: key}))
    async with client_of(make_app(keys_file=tmp_path / "keys.json")) as client:
        headers = {"x-api-key": text} if scope else {}
        assert (await client.get("/openapi.json", headers=headers)).status_code == status
