"""Reading a body that only looks like JSON."""

from __future__ import annotations

import pytest

from service.dialects.json import read_json
from service.errors import InvalidRequest


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"secret": NaN}', "NaN is not a JSON number"),
        ('{"secret": -Infinity}', "-Infinity is not a JSON number"),
        ('{"secret": %s}' % ("1" * 5_000), "at most 4300 digits"),
        ('["secret",]', "line 1 column"),
        ("[" * 1_000 + "]" * 1_000, "at most 100 levels"),
        (b"\xff", "not UTF-8"),
        (b"", "not valid JSON"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_repeats_nothing(body: str | bytes, says: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_json(body if isinstance(body, bytes) else body.encode())
    assert says in caught.value.message
    assert "secret" not in caught.value.message
    assert "sys." not in caught.value.message


def test_long_numbers_and_duplicate_keys_are_read() -> None:
    assert read_json(b'{"a": 1, "a": 2}') == ({"a": 2}, ())
    value, _ = read_json(b"1" * 4_000)
    assert value == int("1" * 4_000)


@pytest.mark.parametrize("shape", ['[%s1%s]', '{"a":{"b":%s1%s}}'])
def test_a_hundred_levels_are_read_and_one_more_is_refused(shape: str) -> None:
    own = shape.count("[") + shape.count("{")
    read_json((shape % ("[" * (100 - own), "]" * (100 - own))).encode())
    with pytest.raises(InvalidRequest, match="at most 100 levels"):
        read_json((shape % ("[" * (101 - own), "]" * (101 - own))).encode())


@pytest.mark.parametrize("levels", [101, 990, 5_000, 100_000])
def test_a_body_that_has_to_be_repaired_may_be_as_deep_and_no_deeper(levels: int) -> None:
    with pytest.raises(InvalidRequest, match="at most 100 levels"):
        read_json(b'["\\ud800",' + b"[" * levels + b"]" * levels + b"]")


def test_a_long_conversation_with_half_an_emoji_is_repaired() -> None:
    message = b'{"role":"user","content":[{"type":"text","text":"\\ud83d half"}]}'
    value, warnings = read_json(b'{"messages":[' + b",".join([message] * 300) + b"]}")
    assert value["messages"][299]["content"][0]["text"] == "\ufffd half"
    assert len(warnings) == 300
