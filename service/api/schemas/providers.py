"""The count endpoints of providers and of vLLM and LiteLLM, as their SDKs know them.

The bodies are documentation: the dialects read them, and take more than is named here. Named are the fields that change
the count; all others may be sent. What a body here refuses, the dialect refuses, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

from service.api.schemas.base import Absent, Answer
from service.dialects.native_schema import JsonObject, describe_defaults

Objects = list[JsonObject] | JsonObject
"""One object stands for a list of one."""

NAMED = "A model by any of its names, of any provider."


class _OpenBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True, json_schema_extra=describe_defaults)


class _CamelBody(_OpenBody):
    """Names in snake_case are taken, too."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class _CamelAnswer(Answer):
    model_config = ConfigDict(alias_generator=to_camel)


# ---------------------------------------------------------------- Anthropic: POST /v1/messages/count_tokens


class AnthropicMessage(_OpenBody):
    """A turn of the conversation."""

    role: Literal["user", "assistant", "system", "developer", "tool"]
    content: str | list[str | JsonObject] | JsonObject | None = Field(description="A text, or content blocks.")


class AnthropicThinking(_OpenBody):
    type: Literal["enabled", "adaptive", "disabled", "between_tools"]


class AnthropicCountBody(_OpenBody):
    """A Messages request."""

    model: str = Field(description=NAMED)
    messages: list[AnthropicMessage] | AnthropicMessage
    system: str | list[str | JsonObject] | JsonObject | None = Field(None, description="The system prompt.")
    tools: Objects | None = Field(None, description="Tool definitions: the caller's own and the provider's.")
    tool_choice: JsonObject | str | None = Field(
        None, description="As Anthropic's SDK sends it, or its type alone: auto, any, tool or none."
    )
    thinking: AnthropicThinking | None = None
    output_config: JsonObject | None = Field(None, description="format is the schema of the answer.")


class AnthropicContextManagement(Answer):
    """Context edits are not applied: the two counts are equal."""

    original_input_tokens: int


class AnthropicCountAnswer(Answer):
    """Anthropic's answer."""

    input_tokens: int
    context_management: AnthropicContextManagement | Absent = Field(
        None, description="Only where context_management was asked for."
    )


# ---------------------------------------------------------------- OpenAI: POST /v1/responses/input_tokens


class OpenAIInputTokensBody(_OpenBody):
    """A Responses request."""

    model: str = Field(description=NAMED)
    input: str | list[str | JsonObject] | JsonObject | None = Field(None, description="A text, or a list of items.")
    instructions: str | list[str | JsonObject] | None = Field(None, description="The system prompt.")
    tools: Objects | None = Field(None, description="Tool definitions: the caller's own and the provider's.")
    tool_choice: str | JsonObject | None = None
    text: JsonObject | None = Field(None, description="format is the schema of the answer.")
    reasoning: JsonObject | None = None


class OpenAIInputTokensAnswer(Answer):
    """OpenAI's answer."""

    object: Literal["response.input_tokens"]
    input_tokens: int


# ---------------------------------------------------------------- Google: ...:countTokens


class GoogleContent(_CamelBody):
    """A turn of the conversation."""

    role: str | None = None
    parts: str | list[str | JsonObject] | JsonObject | None = None


GoogleContents = str | list[str | GoogleContent] | GoogleContent


class GoogleCountBody(_CamelBody):
    """A generateContent request: its contents, or all of it in generateContentRequest."""

    contents: GoogleContents | None = Field(None, description="The conversation, a turn, or a text.")
    system_instruction: GoogleContents | None = Field(None, description="The system prompt.")
    tools: Objects | None = Field(None, description="Function declarations, and the provider's own tools.")
    tool_config: JsonObject | None = None
    generation_config: JsonObject | None = Field(None, description="responseSchema is the schema of the answer.")
    generate_content_request: JsonObject | None = Field(
        None, description="A whole generateContent request; then contents beside it are ignored."
    )


class GoogleModalityTokens(_CamelAnswer):
    """Tokens of one modality."""

    modality: Literal["TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT", "MODALITY_UNSPECIFIED"]
    token_count: int


class GoogleCountAnswer(_CamelAnswer):
    """A CountTokensResponse."""

    total_tokens: int
    prompt_tokens_details: list[GoogleModalityTokens] = Field(description="Empty where there are no tokens.")


# ---------------------------------------------------------------- vLLM: POST /tokenize, /detokenize


class VllmTokenizePrompt(_OpenBody):
    """A text whose token ids are wanted."""

    model: str = Field(description=NAMED)
    prompt: str
    add_special_tokens: bool | None = Field(
        None, description="Whether the tokenizer's own bos is put in front; true if absent."
    )
    return_token_strs: bool | None = Field(None, description="Also answer the text of each token; false if absent.")


class VllmTokenizeMessages(_OpenBody):
    """A chat request whose tokens are counted."""

    model: str = Field(description=NAMED)
    messages: Objects
    tools: Objects | None = None


class VllmTokenizeBody(RootModel[VllmTokenizePrompt | VllmTokenizeMessages]):
    """A prompt, or the messages of a chat."""


class VllmTokenizeAnswer(Answer):
    """vLLM's answer."""

    count: int
    max_model_len: int | None = Field(description="The context window. Null where it is not known.")
    tokens: list[int] | None = Field(description="Token ids. Null for messages: marks of a template have no known ids.")
    token_strs: list[str] | None = Field(description="Null unless return_token_strs was set.")


class VllmDetokenizeBody(_OpenBody):
    """Token ids whose text is wanted."""

    model: str = Field(description=NAMED)
    tokens: list[int]


class VllmDetokenizeAnswer(Answer):
    """vLLM's answer. Bytes that are not UTF-8 became U+FFFD."""

    prompt: str


# ---------------------------------------------------------------- LiteLLM: POST /utils/token_counter


class LiteLLMCountBody(_OpenBody):
    """A prompt, the messages of a chat, or Google's contents."""

    model: str = Field(description=NAMED)
    prompt: str | None = Field(None, description="Counted as a text.")
    messages: Objects | None = Field(None, description="Counted as a whole request, with the tools beside them.")
    contents: list[Any] | JsonObject | str | None = Field(None, description="The same in Google's form.")


class LiteLLMCountAnswer(Answer):
    """LiteLLM's answer."""

    total_tokens: int
    request_model: str
    model_used: str
    tokenizer_type: str


PROVIDER_BODIES: Mapping[str, type[BaseModel]] = {
    "anthropic_count_tokens": AnthropicCountBody, "openai_input_tokens": OpenAIInputTokensBody,
    "gemini_count_tokens": GoogleCountBody, "gemini_tuned_count_tokens": GoogleCountBody,
    "vertex_count_tokens": GoogleCountBody, "litellm_token_counter": LiteLLMCountBody,
    "vllm_tokenize": VllmTokenizeBody, "vllm_detokenize": VllmDetokenizeBody,
}
"""By the name of the endpoint."""

PROVIDER_ANSWERS: Mapping[str, type[BaseModel]] = {
    "anthropic_count_tokens": AnthropicCountAnswer, "openai_input_tokens": OpenAIInputTokensAnswer,
    "gemini_count_tokens": GoogleCountAnswer, "gemini_tuned_count_tokens": GoogleCountAnswer,
    "vertex_count_tokens": GoogleCountAnswer, "litellm_token_counter": LiteLLMCountAnswer,
    "vllm_tokenize": VllmTokenizeAnswer, "vllm_detokenize": VllmDetokenizeAnswer,
}
"""By the name of the endpoint."""
