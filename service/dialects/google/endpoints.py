"""Google's count endpoints: countTokens of the Gemini API and of Vertex AI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from service.dialects.endpoints import Endpoint
from service.dialects.google.request import read_generate_content
from service.types import CountRequest, Json, TokenCount


def _count_request(platform: str) -> Callable[[Json, Mapping[str, str]], CountRequest]:
    def read(body: Json, params: Mapping[str, str]) -> CountRequest:
        prompt = replace(read_generate_content(body), platform=platform)
        return CountRequest(model_ref=params["model"], prompt=prompt)

    return read


def _tuned_request(body: Json, params: Mapping[str, str]) -> CountRequest:
    """A tuned model is named by its owner: the catalog file may say which base it has."""
    return _count_request("gemini-api")(body, {"model": f"tunedModels/{params['model']}"})


def answer(count: TokenCount) -> Json:
    """A CountTokensResponse: the total, and its split by modality (none for 0 tokens)."""
    media = dict(count.modalities)
    unsplit = count.details.get("media", 0) - sum(media.values())
    rows = {"TEXT": count.input_tokens - count.details.get("media", 0) + media.pop("TEXT", 0), **media}
    rows["MODALITY_UNSPECIFIED"] = unsplit
    details = [{"modality": name, "tokenCount": tokens} for name, tokens in rows.items() if tokens > 0]
    return {"totalTokens": count.input_tokens, "promptTokensDetails": details}


_PUBLISHER = "publishers/{publisher}/models/{model}:countTokens"


def _endpoint(
    name: str, summary: str, paths: tuple[str, ...], read: Callable[[Json, Mapping[str, str]], CountRequest]
) -> Endpoint:
    return Endpoint(name, paths, summary, read, answer, "google")


ENDPOINTS: tuple[Endpoint, ...] = (
    _endpoint(
        "gemini_count_tokens", "Gemini API: count the tokens of a generateContent request",
        ("/v1beta/models/{model:path}:countTokens", "/v1/models/{model:path}:countTokens"),
        _count_request("gemini-api"),
    ),
    _endpoint(
        "gemini_tuned_count_tokens", "Gemini API: count the tokens of a request to a tuned model",
        ("/v1beta/tunedModels/{model}:countTokens", "/v1/tunedModels/{model}:countTokens"), _tuned_request,
    ),
    _endpoint(
        "vertex_count_tokens", "Vertex AI: count the tokens of a generateContent request",
        tuple(
            f"/{version}/{scope}{_PUBLISHER}"
            for version in ("v1beta1", "v1")
            for scope in ("projects/{project}/locations/{location}/", "")
        ),
        _count_request("vertex"),
    ),
)
