from __future__ import annotations

import json
import logging
import sys

from service.logs import JsonFormatter


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
