"""Images and files in blocks of the Messages API."""

from __future__ import annotations

from typing import Any

from service.dialects.fields import (
    Object,
    as_object,
    as_text,
    decode_base64,
    join,
    optional_text,
    read_media_data,
    split_data_url,
)
from service.errors import InvalidRequest
from service.types import Media


def has_citations(block: Object) -> bool:
    citations = block.get("citations")
    return isinstance(citations, dict) and citations.get("enabled") is True


def read_media(kind: str, block: Object, path: str) -> Media:
    at = join(path, "source")
    source = as_object(block.get("source"), at)
    mime = optional_text(source.get("media_type"), join(at, "media_type")).lower()
    facts: dict[str, Any]
    if source.get("data") is not None:
        facts = read_media_data(source["data"], join(at, "data"))
    else:
        reference, where = _find_reference(source, at)
        inline = split_data_url(reference)
        mime = inline[0] if inline else mime
        facts = {"data": decode_base64(inline[1], where)} if inline else {"reference": reference}
    if kind == "document":
        facts |= {
            "title": optional_text(block.get("title"), join(path, "title")) or None,
            "context": optional_text(block.get("context"), join(path, "context")) or None,
            "citations": has_citations(block),
        }
        mime = mime or "application/pdf"
    return Media("image" if kind == "image" else "document", mime or "image/*", path=path, **facts)


def _find_reference(source: Object, path: str) -> tuple[str, str]:
    """The URL or file id of a source, and its path. It is never fetched."""
    for key in ("url", "file_id"):
        if source.get(key) is not None:
            return as_text(source[key], join(path, key)), join(path, key)
    raise InvalidRequest(f"{path} needs one of data, url and file_id.", field=path)
