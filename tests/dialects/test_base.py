"""Reading a body that only looks like JSON."""

from __future__ import annotations

import pytest

from service.dialects.base import read_json
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
