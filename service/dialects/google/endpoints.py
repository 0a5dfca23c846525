"""Google's count endpoints: countTokens of the Gemini API and of Vertex AI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from service.dialects.endpoints import Endpoint
from service.dialects.google.errors import WIRE
from service.dialects.google.request import read_generate_content
from service.types import CountRequest, Json, TokenCount


def _count_request(platform: str) -> Callable[[Json, Mapping[str, str]], CountRequest]:
    def read(body: Json, params: Mapping[str, str]) -> CountRequest:
        prompt = replace(read_generate_content(body), platform=platform)
        return CountRequest(model_ref=params["model"], prompt=prompt)

    return read


def _tuned_request(body: Json, params: Mapping[str, str]) -> CountRequest:
    """The request to a tuned model. Its owner chose its name; the catalog file may say which base model it has."""
    return _count_request("gemini-api")(body, {"model": f"tunedModels/{params['model']}"})


def answer(count: TokenCount) -> Json:
    """A CountTokensResponse: the total, and the tokens by modality. A modality with 0 tokens is left out."""
    media = dict(count.modalities)
    unsplit = count.details.get("media", 0) - sum(media.values())
    rows = {"TEXT": count.input_tokens - count.details.get("media", 0) + media.pop("TEXT", 0), **media}
    rows["MODALITY_UNSPECIFIED"] = unsplit
    details = [{"modality": name, "tokenCount": tokens} for name, tokens in rows.items() if tokens > 0]
    return {"totalTokens": count.input_tokens, "promptTokensDetails": details}


GEMINI = Endpoint(WIRE, _count_request("gemini-api"), answer)
TUNED = Endpoint(WIRE, _tuned_request, answer)
VERTEX = Endpoint(WIRE, _count_request("vertex"), answer)
