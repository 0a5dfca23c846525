from __future__ import annotations

import json
import logging
import sys

from service.observability.logs import JsonFormatter, RequestRecord


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


def test_requests_that_were_answered_together_are_a_line_each() -> None:
    rows = [(1_764_460_800.0459 + number, {"number": number}) for number in range(3)]
    text = JsonFormatter().format(RequestRecord([*rows, (1_764_460_803.0, {"project": "half a pair \ud800"})]))
    lines = [json.loads(line) for line in text.split("\n")]
    assert [line.get("number") for line in lines] == [0, 1, 2, None]
    assert lines[3]["project"] == "half a pair \ud800"
    assert [lines[0]["time"], lines[2]["time"]] == ["2025-11-30T00:00:00.045+00:00", "2025-11-30T00:00:02.045+00:00"]
    assert {(line["message"], line["level"], line["logger"]) for line in lines} == {
        ("request", "info", "tallystick.request")
    }
