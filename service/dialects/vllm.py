"""vLLM's endpoints: POST /tokenize (a prompt or messages) and POST /detokenize."""

from __future__ import annotations

from collections.abc import Mapping

from service import catalog
from service.dialects.endpoints import Endpoint, Wire
from service.dialects.fields import as_list, as_object, as_text, wrong_type
from service.dialects.openai.chat import read_chat
from service.errors import InvalidRequest, ServiceError
from service.tokenizers import registry
from service.tokenizers.base import VocabularyTokenizer
from service.types import CountRequest, Json, TokenCount

BOS = ("<bos>", "<|begin_of_text|>", "<s>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>")
"""Texts of the token that the post-processor of a tokenizer may put in front of a text."""

MAX_IDS = 4_000_000
"""Ids in one body of /detokenize."""


def _read_model(body: Mapping[str, Json]) -> str:
    """The name of the model. In vLLM, which serves one model, it may be absent; here it is needed."""
    if body.get("model") is None:
        raise InvalidRequest("model is missing: name the model whose tokenizer is meant.", field="model")
    return as_text(body["model"], "model")


def _get_vocabulary(name: str) -> VocabularyTokenizer:
    tokenizer = registry.get_tokenizer(name)
    if not isinstance(tokenizer, VocabularyTokenizer):
        raise InvalidRequest(f"{name} has no token ids: its vocabulary is not published.", field="model")
    return tokenizer


# ---------------------------------------------------------------- /tokenize


def _read_tokenize(value: Json, params: Mapping[str, str]) -> CountRequest:
    """The request. A prompt is counted as text, with the bos of the tokenizer unless `add_special_tokens` is false.
    Messages are counted as the provider of the model bills them."""
    body = as_object(value, "")
    model = _read_model(body)
    if body.get("messages") is not None:
        return CountRequest(model_ref=model, prompt=read_chat(body, ""))
    if body.get("prompt") is None:
        raise InvalidRequest("Nothing to tokenize: give prompt or messages.", field="prompt")
    add, strings = _read_flag(body, "add_special_tokens", True), _read_flag(body, "return_token_strs", False)
    return CountRequest(
        model_ref=model, texts=(as_text(body["prompt"], "prompt"),), single=not strings, add_special_tokens=add
    )


def _read_flag(body: Mapping[str, Json], name: str, default: bool) -> bool:
    value = body.get(name)
    if not isinstance(value, bool | None):
        raise wrong_type(name, "a boolean", value)
    return default if value is None else value


def _reply_tokenize(request: CountRequest, count: TokenCount) -> Json:
    """vLLM's answer. Messages have a count and no ids, since the ids of a provider's template are not known.

    A request that is not `single` asked for the strings of the tokens, too. Raises InvalidRequest where the tokenizer
    of the model has no ids.
    """
    tokenizer = _get_vocabulary(count.tokenizer)
    ids: list[int] | None = None
    if request.texts is not None:
        ids = list(tokenizer.encode(request.texts[0]))
        if request.add_special_tokens and tokenizer.added_tokens:
            ids = [*_find_bos(tokenizer), *ids]
    window = catalog.resolve(request.model_ref or "").window
    answer: dict[str, Json] = {"count": count.input_tokens, "max_model_len": window, "tokens": ids, "token_strs": None}
    if ids is not None and not request.single:
        answer["token_strs"] = [tokenizer.decode_bytes([token]).decode("utf-8", "replace") for token in ids]
    return answer


def _find_bos(tokenizer: VocabularyTokenizer) -> list[int]:
    """The id that the post-processor puts in front of a text, if it is the id of one of the texts in BOS."""
    for text in BOS:
        ids = list(tokenizer.encode(text, parse_special=True))
        if len(ids) == 1 and list(tokenizer.encode(text)) != ids:
            return ids
    return []


def _answer_count(count: TokenCount) -> Json:
    return {"count": count.input_tokens, "max_model_len": None, "tokens": None, "token_strs": None}


# ---------------------------------------------------------------- /detokenize


def detokenize(value: Json) -> Json:
    """The text of ids. Bytes that are not UTF-8 become U+FFFD. Raises InvalidRequest for ids outside the vocabulary."""
    body = as_object(value, "")
    tokenizer = _get_vocabulary(catalog.resolve(_read_model(body)).family.tokenizer)
    if not isinstance(body.get("tokens"), list):
        raise wrong_type("tokens", "an array of token ids", body.get("tokens"))
    ids = as_list(body["tokens"], "tokens")
    if len(ids) > MAX_IDS:
        raise InvalidRequest(f"tokens holds more than {MAX_IDS} ids.", field="tokens")
    for i, token in enumerate(ids):
        if type(token) is not int:
            raise wrong_type(f"tokens[{i}]", "a token id", token)
    return {"prompt": tokenizer.decode_bytes(ids).decode("utf-8", "replace")}


_ERROR_TYPES: Mapping[int, str] = {
    400: "BadRequestError", 401: "UnauthorizedError", 404: "NotFoundError", 413: "RequestEntityTooLargeError",
    429: "RateLimitError", 503: "ServiceUnavailableError",
}


def make_error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    """vLLM's error envelope. Its code is the HTTP status."""
    kind = _ERROR_TYPES.get(error.status, "InternalServerError" if error.status >= 500 else "BadRequestError")
    return error.status, {
        "error": {"message": error.message, "type": kind, "param": error.field, "code": error.status}
    }


WIRE = Wire("vllm", make_error)

TOKENIZE = Endpoint(WIRE, _read_tokenize, _answer_count, _reply_tokenize)
