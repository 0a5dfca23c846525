"""Reading the content of a message, in Chat Completions and in the Responses API: text, images, files, sound."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import Any

from service.dialects.fields import as_object, as_text, decode_base64, each, join, optional_text, read_media_data
from service.dialects.known_fields import require_field
from service.errors import InvalidRequest
from service.types import Json, Media, Part, Text, Unknown

TEXT_PARTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})

IMAGE_MIME, AUDIO_MIME, PDF_MIME = "image/*", "audio/*", "application/pdf"


def read_content(value: Json, path: str) -> tuple[Part, ...]:
    """The parts of the content of a message, which is null, a string, a part or a list of parts."""
    if isinstance(value, str):
        return (Text(value, path),)
    return tuple(_read_part(part, at) for part, at in each(value, path))


def _read_part(value: Json, path: str) -> Part:
    if isinstance(value, str):
        return Text(value, path)
    part = as_object(value, path)
    kind = optional_text(part.get("type"), join(path, "type"))
    if kind in TEXT_PARTS or (not kind and "text" in part):
        require_field(part, "text", path, "a part of text holds it")
        return Text(optional_text(part["text"], join(path, "text")), path)
    if kind == "refusal":
        return Text(optional_text(part.get("refusal"), join(path, "refusal")), path)
    if kind in ("image_url", "input_image", "computer_screenshot"):
        return _read_image(part, path)
    if kind in ("file", "input_file"):
        return _read_file(part, path)
    if kind == "input_audio":
        return _read_audio(part, path)
    if kind == "video_url":
        return Media("video", "video/*", reference="video_url", path=path)
    return Unknown(kind or "part", part, path)


def _read_image(part: Mapping[str, Json], path: str) -> Media:
    """An image, given by a data URL, a URL, a file id, or a description (`{"_media": ...}` in place of the URL)."""
    url, at = part.get("image_url"), join(path, "image_url")
    detail = part.get("detail")
    if isinstance(url, dict) and "_media" not in url:
        detail, url, at = url.get("detail", detail), url.get("url"), join(at, "url")
    fields: dict[str, Any] = {"detail": detail if isinstance(detail, str) else None, "path": path}
    if url is None:
        reference = optional_text(part.get("file_id"), join(path, "file_id"))
        return Media("image", IMAGE_MIME, reference=reference, **fields)
    return _read_media("image", IMAGE_MIME, url, at, **fields)


def _read_media(kind: Any, mime: str, url: Json, at: str, **fields: Any) -> Media:
    """An image or file given by a URL. A data URL is decoded, any other URL is never fetched."""
    if isinstance(url, dict):
        return Media(kind, mime, **read_media_data(url, at), **fields)
    url = as_text(url, at)
    found = _decode_data_url(url, at)
    if found is None:
        return Media(kind, mime, reference=url[:64], **fields)
    return Media(kind, found[0] or mime, data=found[1], **fields)


def _decode_data_url(url: str, at: str) -> tuple[str, bytes] | None:
    """The MIME type and the bytes of a `data:` URL in base64 or percent encoding. None for any other URL."""
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url[5:].partition(",")
    if not comma:
        raise InvalidRequest(f"{at} is a data URL without data: a comma is missing.", field=at)
    mime, *options = head.lower().split(";")
    if any(option.strip() == "base64" for option in options):
        return mime.strip(), decode_base64(data, at)
    return mime.strip(), urllib.parse.unquote_to_bytes(data)


_SUFFIXES: Mapping[str, str] = {
    "pdf": PDF_MIME, "csv": "text/csv", "tsv": "text/tab-separated-values", "txt": "text/plain", "md": "text/markdown",
    "json": "application/json", "html": "text/html", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "gif": "image/gif", "webp": "image/webp", "wav": "audio/wav", "mp3": "audio/mpeg",
}


def _read_file(part: Mapping[str, Json], path: str) -> Media:
    """A file, given by its data (a data URL or base64), an id or a URL. In Chat the fields stand inside `file`."""
    if part.get("type") == "file" and "file" in part:
        path = join(path, "file")
        part = as_object(part["file"], path)
    filename = optional_text(part.get("filename"), join(path, "filename"))
    named = _SUFFIXES.get(filename.rpartition(".")[2].lower(), "")
    detail = part.get("detail")
    fields: dict[str, Any] = {
        "path": path, "filename": filename or None, "detail": detail if isinstance(detail, str) else None,
    }
    data, at = part.get("file_data"), join(path, "file_data")
    if data is None:
        reference = part.get("file_id") or part.get("file_url")
        mime = named or PDF_MIME
        return Media(_find_kind(mime), mime, reference=as_text(reference or "", path)[:64], **fields)
    if isinstance(data, dict):
        mime = named or PDF_MIME
        return Media(_find_kind(mime), mime, **read_media_data(data, at), **fields)
    found = _decode_data_url(as_text(data, at), at) or ("", decode_base64(data, at))
    mime = PDF_MIME if b"%PDF-" in found[1][:1_024] else found[0] or named
    return Media(_find_kind(mime), mime, data=found[1], **fields)


def _find_kind(mime: str) -> Any:
    if mime == PDF_MIME:
        return "document"
    family = mime.partition("/")[0]
    return family if family in ("image", "audio", "video") else "file"


def _read_audio(part: Mapping[str, Json], path: str) -> Media:
    path = join(path, "input_audio")
    audio = as_object(part.get("input_audio"), path)
    form = optional_text(audio.get("format"), join(path, "format"))
    mime = {"mp3": "audio/mpeg", "wav": "audio/wav", "pcm16": "audio/l16;rate=24000"}.get(form, AUDIO_MIME)
    data = audio.get("data")
    if data is None:
        return Media("audio", mime, reference="", path=path)
    return Media("audio", mime, path=path, **read_media_data(data, join(path, "data")))
