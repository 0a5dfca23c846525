"""Structured logs: one JSON object a line on stderr. No prompt text, no query string, no header value, ever."""

from __future__ import annotations

import json
import logging
import logging.config
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

REQUESTS = logging.getLogger("tallystick.request")


_RECORD = logging.LogRecord(REQUESTS.name, logging.INFO, "", 0, "request", (), None).__dict__


class RequestRecord(logging.LogRecord):
    """The record of one request. It does not find out which line of code logs it, in which thread: that would take
    longer than counting a short text."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(_RECORD, created=time.time(), fields=fields)


def log_request(fields: Mapping[str, Any]) -> None:
    """A line of level info."""
    if REQUESTS.isEnabledFor(logging.INFO):
        REQUESTS.handle(RequestRecord(fields))


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON. An exception shows its type and where it was raised, never its message:
    a message of somebody else's library may quote the text it failed on."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["raised_at"] = _where(record.exc_info[2])
        try:
            return to_json(line, fallback=str).decode()
        except ValueError:  # a lone surrogate
            return json.dumps(line, default=str)


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
