"""Tokens as JSON: which tokenizer made them, and how each is spelled."""

from __future__ import annotations

from service.errors import TooLarge
from service.text.tokens import Offsets, Tokens
from service.tokenizers.normalizers import get_normalizer
from service.types import Json, TokenCount, Warned


def tokenizer_json(count: TokenCount) -> dict[str, Json]:
    """The model and tokenizer that a count is for."""
    return {
        "model": count.model,
        "model_ref": count.model_ref,
        "model_match": count.model_match,
        "provider": count.provider,
        "tokenizer": count.tokenizer,
        "tokenizer_revision": count.tokenizer_revision,
        "warnings": warnings_json(count.warnings),
    }


def warnings_json(warnings: tuple[Warned, ...]) -> list[Json]:
    return [{"code": warned.code, "path": warned.path} for warned in warnings]


def check_length(text: str, most: int, field: str, way_out: str) -> None:
    """Raises TooLarge for a text of more than `most` characters."""
    if len(text) > most:
        raise TooLarge(f"{field} is longer than {most} characters: {way_out}", field=field)


def spell_out(piece: bytes) -> dict[str, Json]:
    """The bytes of a token as text, or in hexadecimal digits where they are no whole characters."""
    try:
        return {"text": piece.decode(), "bytes_hex": None}
    except UnicodeDecodeError:
        return {"text": None, "bytes_hex": piece.hex()}


def altered_json(tokens: Tokens, tokenizer: str) -> dict[str, Json]:
    return {"altered": tokens.altered, "normaliser": list(get_normalizer(tokenizer).codes)}


def token_json(tokens: Tokens, number: int, offsets: Offsets) -> dict[str, Json]:
    item = {
        "id": None if tokens.ids is None else tokens.ids[number],
        **spell_out(tokens.pieces[number]),
        "start": offsets.to_unit(tokens.starts[number]),
        "end": offsets.to_unit(tokens.ends[number]),
    }
    return {**item, "special": True} if tokens.is_special(number) else item


