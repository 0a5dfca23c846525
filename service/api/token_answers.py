"""What the routes that show tokens share: the head of their answers, and how a token is spelled."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel

from service.api.schemas import tokenize as bodies
from service.dialects import native
from service.errors import TooLarge
from service.services import Services
from service.text.tokens import Offsets, Tokens
from service.tokenizers.normalizers import get_normalizer
from service.types import Json, TokenCount, Warned

Warnings = tuple[Warned, ...]

TARGETS = ("model", "tokenizer", "provider")


# ---------------------------------------------------------------- what the routes share


def counted(body: bodies.Target, text: str, warnings: Warnings, services: Services, **fields: Json) -> TokenCount:
    """The count of `text` for what the body names; it also says which model and tokenizer that is."""
    target = body.model_dump(include=set(TARGETS), exclude_none=True)
    request = native.read({**target, "text": text, **fields})
    return services.counter.count(replace(request, warnings=(*warnings, *request.warnings)))


def head(count: TokenCount) -> dict[str, Json]:
    return {
        "model": count.model,
        "model_ref": count.model_ref,
        "model_match": count.model_match,
        "provider": count.provider,
        "tokenizer": count.tokenizer,
        "tokenizer_revision": count.tokenizer_revision,
        "warnings": warnings_of(count.warnings),
    }


def all_warnings(body: BaseModel, warnings: Warnings) -> Warnings:
    """What was repaired in the JSON, and the fields that nobody reads."""
    return (*warnings, *(Warned("unknown_field_ignored", key[:64]) for key in body.model_extra or ()))


def warnings_of(warnings: Warnings) -> list[Json]:
    return [{"code": warned.code, "path": warned.path} for warned in warnings]


def check_length(text: str, most: int, field: str, way_out: str) -> None:
    if len(text) > most:
        raise TooLarge(f"{field} is longer than {most} characters: {way_out}", field=field)


def spell_out(piece: bytes) -> dict[str, Json]:
    try:
        return {"text": piece.decode(), "bytes_hex": None}
    except UnicodeDecodeError:
        return {"text": None, "bytes_hex": piece.hex()}


def altered(tokens: Tokens, tokenizer: str) -> dict[str, Json]:
    return {"altered": tokens.altered, "normaliser": list(get_normalizer(tokenizer).codes)}


def token_item(tokens: Tokens, number: int, offsets: Offsets) -> dict[str, Json]:
    item = {
        "id": None if tokens.ids is None else tokens.ids[number],
        **spell_out(tokens.pieces[number]),
        "start": offsets.to_unit(tokens.starts[number]),
        "end": offsets.to_unit(tokens.ends[number]),
    }
    return {**item, "special": True} if tokens.is_special(number) else item


