"""Structured logs: one JSON object a line on stderr. No prompt text, no query string, no header value, ever."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.config
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TextIO

from pydantic_core import to_json

REQUESTS = logging.getLogger("tallystick.request")


_RECORD = logging.LogRecord(REQUESTS.name, logging.INFO, "", 0, "request", (), None).__dict__


REQUEST_HEAD = f'"level":"info","logger":"{REQUESTS.name}","message":"request"'
"""What every line of a request begins with, behind its time."""


class RequestRecord(logging.LogRecord):
    """The record of one request, with at least one field. It does not find out which line of code logs it, in which
    thread: that would take longer than counting a short text."""

    fields: Mapping[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(_RECORD, created=time.time(), fields=fields)


def log_request(fields: Mapping[str, Any]) -> None:
    """A line of level info."""
    if REQUESTS.isEnabledFor(logging.INFO):
        REQUESTS.handle(RequestRecord(fields))


@lru_cache(2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON. An exception shows its type and where it was raised, never its message:
    a message of somebody else's library may quote the text it failed on."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = int(record.created)
        at = f"{_second(seconds)}.{int((record.created - seconds) * 1000):03}+00:00"
        if isinstance(record, RequestRecord):
            with suppress(ValueError):
                return f'{{"time":"{at}",{REQUEST_HEAD},{to_json(record.fields, fallback=str).decode()[1:]}'
        line: dict[str, Any] = {
            "time": at,
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


class LineHandler(logging.StreamHandler[TextIO]):
    """Lines on stderr. Those of requests are written together, once the event loop has gone round: a write for each
    would take as long as counting a short text."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[RequestRecord] = []

    def handle(self, record: logging.LogRecord) -> bool:
        if not isinstance(record, RequestRecord):
            self.flush()
            return super().handle(record)
        with self._locked():
            if not self._waiting:
                try:
                    asyncio.get_running_loop().call_soon(self.flush)
                except RuntimeError:  # no loop runs in this thread
                    return super().handle(record)
            self._waiting.append(record)
        return True

    def flush(self) -> None:
        """Write what waits, before anything else is."""
        with self._locked():
            if self._waiting:
                with suppress(ValueError, OSError):  # closed, or full: nobody is left to tell
                    self.stream.write("\n".join([*map(self.format, self._waiting), ""]))
                self._waiting = []
            super().flush()

    def _locked(self) -> AbstractContextManager[object]:
        return self.lock or nullcontext()


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
        "handlers": {"stderr": {"()": LineHandler, "formatter": "json"}},
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {
            "uvicorn": {"level": "WARNING" if level == "info" else level.upper()},
            "uvicorn.access": {"handlers": [], "propagate": False},
            "asyncio": {"level": "WARNING"},
        },
    })
