"""Structured logs: one JSON object a line, on stderr. Prompts, query strings and header values are never logged."""

from __future__ import annotations

import json
import logging
import logging.config
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic_core import to_json

REQUESTS = logging.getLogger("tallystick.request")

_RECORD_ATTRIBUTES = logging.LogRecord(REQUESTS.name, logging.INFO, "", 0, "request", (), None).__dict__

REQUEST_HEAD = f'"level":"info","logger":"{REQUESTS.name}","message":"request"'
"""The part of a request's log line that is always the same. It comes after the time."""


class RequestRecord(logging.LogRecord):
    """One record for several requests that were answered together.

    A row is the time when a request ended (seconds since 1970) and its fields, at least one. Unlike other records it
    does not look up the line of code and the thread that log it: that would take longer than counting a short text.
    """

    rows: Sequence[tuple[float, Mapping[str, Any]]]

    def __init__(self, rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
        self.__dict__.update(_RECORD_ATTRIBUTES, created=rows[-1][0], rows=rows)


def log_requests(rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
    """Log a line of level info for each request. They are written together: a write takes longer than a short count."""
    if REQUESTS.isEnabledFor(logging.INFO):
        REQUESTS.handle(RequestRecord(rows))


@lru_cache(2)
def _format_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _format_time(at: float) -> str:
    seconds = int(at)
    return f"{_format_second(seconds)}.{int((at - seconds) * 1000):03}+00:00"


def _format_request(at: float, fields: Mapping[str, Any]) -> str:
    return f'{{"time":"{_format_time(at)}",{REQUEST_HEAD},{_to_json(fields)[1:]}'


def _to_json(line: Mapping[str, Any]) -> str:
    try:
        return to_json(line, fallback=str).decode()
    except ValueError:  # a lone surrogate
        return json.dumps(line, default=str)


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON.

    Of an exception, the line shows the type and where it was raised, never the message: a library may quote the text
    that it failed on.
    """

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record, RequestRecord):
            return "\n".join([_format_request(at, fields) for at, fields in record.rows])
        line: dict[str, Any] = {
            "time": _format_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["raised_at"] = _list_frames(record.exc_info[2])
        return _to_json(line)


def _list_frames(traceback: Any) -> list[str]:
    """`file:line function` of each frame, outermost first. At most the innermost ten."""
    frames: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames[-10:]


def configure_logs(level: str) -> None:
    """Write the lines of all loggers to stderr as JSON, from `level` up.

    uvicorn's access log is off, because it prints query strings.
    """
    logging.config.dictConfig({
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {
            "uvicorn": {"level": "WARNING" if level == "info" else level.upper()},
            "uvicorn.access": {"handlers": [], "propagate": False},
            "asyncio": {"level": "WARNING"},
        },
    })
