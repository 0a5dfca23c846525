from __future__ import annotations

import asyncio
import json
import logging
import sys

import pytest

from service.logs import JsonFormatter, LineHandler, RequestRecord


def test_an_exception_shows_where_it_was_raised_and_never_what_it_says() -> None:
    try:
        int("the user's secret prompt")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "request failed", (), sys.exc_info())
    line = json.loads(JsonFormatter().format(record))
    assert line["exception"] == "ValueError"
    assert line["raised_at"][-1].endswith("test_an_exception_shows_where_it_was_raised_and_never_what_it_says")
    assert "secret" not in json.dumps(line)


def test_fields_stand_beside_the_message_on_one_line() -> None:
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "two\nlines", (), None)
    record.fields = {"request_id": "a\nb", "ms": 1.5}
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert json.loads(text) | {"request_id": "a\nb", "ms": 1.5, "level": "info"} == json.loads(text)


def test_lines_of_requests_are_written_together_and_before_what_comes_later(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = LineHandler()
    handler.setFormatter(JsonFormatter())
    other = logging.LogRecord("x", logging.INFO, "", 1, "other", (), None)

    async def log() -> None:
        for number in range(3):
            handler.handle(RequestRecord({"number": number}))
        assert capsys.readouterr().err == ""
        await asyncio.sleep(0)
        assert [json.loads(line)["number"] for line in capsys.readouterr().err.splitlines()] == [0, 1, 2]
        handler.handle(RequestRecord({"number": 3}))
        handler.handle(other)
        assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["request", "other"]
        handler.handle(RequestRecord({"number": 4}))
        handler.flush()
        assert json.loads(capsys.readouterr().err)["number"] == 4

    asyncio.run(log())


def test_without_an_event_loop_a_line_is_written_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    handler = LineHandler()
    handler.setFormatter(JsonFormatter())
    handler.handle(RequestRecord({"number": 1}))
    assert json.loads(capsys.readouterr().err)["number"] == 1


def test_the_time_of_a_line_is_that_of_its_record() -> None:
    record = RequestRecord({"ms": 1})
    record.created = 1_764_460_800.0459
    assert json.loads(JsonFormatter().format(record))["time"] == "2025-11-30T00:00:00.045+00:00"
