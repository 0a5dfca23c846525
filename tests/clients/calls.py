"""The calls of the README and of docs/, made with a client that openapi-python-client made of /openapi.json.

mypy checks it in strict mode, and it is run against a service: `python calls.py ADDRESS`.
"""

from __future__ import annotations

import sys

from tallystick_client import Client
from tallystick_client.api.anthropic import anthropic_count_tokens
from tallystick_client.api.google import gemini_count_tokens
from tallystick_client.api.native import (
    count_tokens,
    count_tokens_batch,
    estimate_cost,
    list_models,
    tokenize,
    truncate,
)
from tallystick_client.models import (
    AnthropicCountAnswer,
    AnthropicCountBody,
    AnthropicMessage,
    AnthropicMessageRole,
    BatchAnswer,
    BatchBody,
    CountAnswer,
    CountBody,
    ErrorAnswer,
    ErrorCode,
    EstimateAnswer,
    EstimateBody,
    GoogleContent,
    GoogleCountAnswer,
    GoogleCountBody,
    JsonObject,
    Method,
    ModelsAnswer,
    TokenizeAnswer,
    TokenizeBody,
    TruncateBody,
    TruncatedText,
)


def make_object(**fields: object) -> JsonObject:
    """A free-form object."""
    return JsonObject.from_dict(fields)


def count(client: Client) -> None:
    """Fields with a default may be left out; a whole request is a free-form object."""
    text = count_tokens.sync(client=client, body=CountBody(model="gpt-4o", text="Hello, world! 안녕하세요."))
    assert isinstance(text, CountAnswer)
    assert (text.input_tokens, text.method) == (7, Method.EXACT)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!"}]
    body = CountBody(model="gpt-4o", request=make_object(messages=messages))
    request = count_tokens.sync(client=client, body=body)
    assert isinstance(request, CountAnswer)
    assert (request.input_tokens, request.details["frame"]) == (16, 11)
    refused = count_tokens.sync(client=client, body=CountBody(model="no-such-model", text="hi"))
    assert isinstance(refused, ErrorAnswer)
    assert refused.error.code == ErrorCode.UNKNOWN_MODEL


def count_batch(client: Client) -> None:
    """An item that cannot be counted has its error in its place."""
    items = [CountBody(model="gpt-4o", text="hi"), CountBody(model="gtp-4o", text="hi")]
    batch = count_tokens_batch.sync(client=client, body=BatchBody(items=items))
    assert isinstance(batch, BatchAnswer)
    first, second = batch.results
    assert isinstance(first, CountAnswer)
    assert isinstance(second, ErrorAnswer)
    assert (first.input_tokens, second.error.near, batch.failed) == (1, ["gpt-4o"], 1)


def decide(client: Client) -> None:
    cut = truncate.sync(
        client=client, body=TruncateBody(model="gpt-4o", max_tokens=4, text="one two three four five six")
    )
    assert isinstance(cut, TruncatedText)
    assert cut.text == "one two three four"
    usage = make_object(prompt_tokens=11, completion_tokens=120)
    estimate = estimate_cost.sync(client=client, body=EstimateBody(model="gpt-4o", at="2026-11-15", usage=usage))
    assert isinstance(estimate, EstimateAnswer)
    assert estimate.total == "0.0012275"


def look_up(client: Client) -> None:
    models = list_models.sync(client=client, search="gemini-2.5-flash", limit=1)
    assert isinstance(models, ModelsAnswer)
    assert models.models[0].tokenizer == "gemma3"
    tokens = tokenize.sync(client=client, body=TokenizeBody(tokenizer="o200k_base", text="Hello, world!"))
    assert isinstance(tokens, TokenizeAnswer)
    assert tokens.tokens is not None
    assert tokens.tokens[0].text == "Hello"


def count_as_providers_do(client: Client) -> None:
    message = AnthropicMessage(role=AnthropicMessageRole.USER, content="Hello, Claude")
    body = AnthropicCountBody(model="claude-sonnet-4-5", system="You are a scientist", messages=[message])
    anthropic = anthropic_count_tokens.sync(client=client, body=body)
    assert isinstance(anthropic, AnthropicCountAnswer)
    assert anthropic.input_tokens == 14
    content = GoogleContent(role="user", parts=[make_object(text="Hello, world!")])
    gemini = gemini_count_tokens.sync("gemini-2.5-flash", client=client, body=GoogleCountBody(contents=[content]))
    assert isinstance(gemini, GoogleCountAnswer)
    assert gemini.total_tokens == 5


def main() -> None:
    with Client(base_url=sys.argv[1]) as client:
        for calls in (count, count_batch, decide, look_up, count_as_providers_do):
            calls(client)


if __name__ == "__main__":
    main()
