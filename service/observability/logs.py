"""Structured logs: one JSON object a line on stderr. No prompt text, no query string, no header value, ever."""

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


_RECORD = logging.LogRecord(REQUESTS.name, logging.INFO, "", 0, "request", (), None).__dict__


REQUEST_HEAD = f'"level":"info","logger":"{REQUESTS.name}","message":"request"'
"""What every line of a request begins with, behind its time."""


class RequestRecord(logging.LogRecord):
    """The record of requests that were answered together, each the time it ended and its fields, of which there is at
    least one. It does not find out which line of code logs it, in which thread: that would take longer than counting a
    short text."""

    rows: Sequence[tuple[float, Mapping[str, Any]]]

    def __init__(self, rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
        self.__dict__.update(_RECORD, created=rows[-1][0], rows=rows)


def log_requests(rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
    """A line of level info for each; they are written together, since a write for each takes longer than counting."""
    if REQUESTS.isEnabledFor(logging.INFO):
        REQUESTS.handle(RequestRecord(rows))


@lru_cache(2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _time(at: float) -> str:
    seconds = int(at)
    return f"{_second(seconds)}.{int((at - seconds) * 1000):03}+00:00"


def _request_line(at: float, fields: Mapping[str, Any]) -> str:
    return f'{{"time":"{_time(at)}",{REQUEST_HEAD},{_json(fields)[1:]}'


def _json(line: Mapping[str, Any]) -> str:
    try:
        return to_json(line, fallback=str).decode()
    except ValueError:  # a lone surrogate
        return json.dumps(line, default=str)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON. An exception shows its type and where it was raised, never its message:
    a message of somebody else's library may quote the text it failed on."""

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record, RequestRecord):
            return "\n".join([_request_line(at, fields) for at, fields in record.rows])
        line: dict[str, Any] = {
            "time": _time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["raised_at"] = _where(record.exc_info[2])
        return _json(line)


def _where(traceback: Any) -> list[str]:
    """`file:line function` of each frame, outermost first; at most the last ten."""
    frames: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames[-10:]


def configure_logs(level: str) -> None:
    """Send every logger's lines to stderr as JSON, from `level` up. uvicorn's access log is off: it prints queries."""
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
