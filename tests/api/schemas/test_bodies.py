"""Models of bodies refuse nothing that the service takes, and parameters of queries keep their words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pytest
from pydantic import BaseModel, RootModel, ValidationError

from service.api.schemas import providers
from service.api.schemas.models import ListModelsQuery
from service.errors import InvalidRequest
from tests.api.schemas.asked import PATHS, POSTS
from tests.security.bodies import CHAT, RICH
from tests.support.web import client_of, make_app

TEXT = {"model": "gpt-4o", "prompt": "Hello"}

STARTS: Mapping[str, tuple[type[BaseModel], tuple[Any, ...]]] = {
    "/v1/messages/count_tokens": (providers.AnthropicCountBody, RICH["anthropic"]),
    "/v1/responses/input_tokens": (providers.OpenAIInputTokensBody, RICH["openai"]),
    PATHS["gemini"]: (providers.GoogleCountBody, RICH["google"]),
    "/tokenize": (providers.VllmTokenizeBody, (TEXT, CHAT)),
    "/detokenize": (providers.VllmDetokenizeBody, ({"model": "gpt-4o", "tokens": [1, 2]},)),
    "/utils/token_counter": (providers.LiteLLMCountBody, (TEXT, CHAT)),
}
"""Path -> the model of its body, and bodies that it takes."""

MESSAGES: tuple[Any, ...] = (
    {"role": "user", "content": "x"}, {"role": "user", "content": None}, {"role": "user", "content": ["x"]},
    {"role": "user", "content": {"type": "text", "text": "x"}}, {"role": "user", "parts": "x"},
    {"role": "user", "parts": [{"text": "x"}]}, {"role": None, "parts": {"text": "x"}}, {"text": "x"},
)

VALUES: tuple[Any, ...] = (
    None, True, 0, 1.5, "", "x", "auto", "gpt-4o", [], [None], [1], ["x"], [["x"]], {}, [{}], {"type": "enabled"},
    {"type": "x"}, {"name": "f"}, *MESSAGES, *([message] for message in MESSAGES),
)
"""What a field may be: of every JSON type, and what some field takes."""


def fields_of(model: type[BaseModel]) -> set[str]:
    """The names that its fields have on the wire."""
    if issubclass(model, RootModel):
        return {name for form in get_args(model.model_fields["root"].annotation) for name in fields_of(form)}
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.parametrize("path", STARTS)
async def test_a_body_that_is_answered_fits_its_model(path: str) -> None:
    model, starts = STARTS[path]
    names = fields_of(model) - {"generateContentRequest"}  # beside it nothing else is read
    bodies = [{**start, name: value} for start in starts for name in sorted(names) for value in VALUES]
    answered = 0
    async with client_of(make_app()) as client:
        for body in bodies:
            if (await client.post(path, json=body)).status_code == 200:
                model.model_validate(body)
                answered += 1
    assert len(names) < answered < len(bodies)


def test_names_in_snake_case_are_taken_too() -> None:
    body = {"contents": "x", "system_instruction": "y", "tool_config": None}
    assert providers.GoogleCountBody.model_validate(body).system_instruction == "y"
    with pytest.raises(ValidationError):
        providers.GoogleCountBody.model_validate({**body, "tool_config": 3})


@pytest.mark.parametrize(("path", "body"), [(path, body) for path, body in POSTS if path in STARTS])
def test_the_bodies_that_are_asked_fit_their_models(path: str, body: Any) -> None:
    STARTS[path][0].model_validate(body)


@pytest.mark.parametrize("path", STARTS)
def test_a_body_without_a_field_that_is_needed_does_not_fit(path: str) -> None:
    model, _ = STARTS[path]
    if path == PATHS["gemini"]:
        model.model_validate({})  # what is needed stands in one of two fields: the dialect tells
    else:
        with pytest.raises(ValidationError):
            model.model_validate({})


# ---------------------------------------------------------------- GET /v1/models


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "", "1.0", " 1", "+1", "1_0", "١"])
def test_a_bad_limit_is_refused_in_our_words(limit: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ListModelsQuery.model_validate({"limit": limit})
    assert (caught.value.message, caught.value.field) == ("limit must be a whole number from 1 to 500.", "limit")


@pytest.mark.parametrize("prices", ["yes", "1", "", "True"])
def test_prices_are_true_or_false(prices: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ListModelsQuery.model_validate({"prices": prices})
    assert caught.value.field == "prices"


def test_a_query_has_its_defaults() -> None:
    query = ListModelsQuery.model_validate({"limit": "007", "search": "GPT"})
    assert (query.limit, query.prices, query.search, query.page_token) == (7, "false", "GPT", "")
