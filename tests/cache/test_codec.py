"""Packed counts can be unpacked. Anything else is a miss."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.cache.codec import pack, unpack

KEY, SECRET = b"k" * 20, b"s" * 32
counts = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=12).map(tuple)


@given(counts)
def test_round_trip(values: tuple[int, ...]) -> None:
    packed = pack(KEY, values, SECRET)
    assert packed is not None
    assert len(packed) == 1 + 4 * len(values) + 8
    assert unpack(KEY, packed, SECRET) == values
    assert unpack(b"j" * 20, packed, SECRET) is None
    assert unpack(KEY, packed, b"t" * 32) is None


@given(counts, st.data())
def test_any_changed_byte_is_noticed(values: tuple[int, ...], data: st.DataObject) -> None:
    packed = pack(KEY, values, SECRET)
    assert packed is not None
    at = data.draw(st.integers(0, len(packed) - 1))
    other = data.draw(st.integers(1, 255))
    changed = packed[:at] + bytes([packed[at] ^ other]) + packed[at + 1 :]
    assert unpack(KEY, changed, SECRET) is None
    assert unpack(KEY, packed[:-1], SECRET) is None
    assert unpack(KEY, packed + b"\0", SECRET) is None


@given(st.one_of(st.binary(max_size=60), st.text(), st.integers(), st.none()))
def test_garbage_is_a_miss(value: object) -> None:
    assert unpack(KEY, value, SECRET) is None


def test_what_does_not_fit_is_not_packed() -> None:
    assert pack(KEY, (2**32,), SECRET) is None
    assert pack(KEY, (-1,), SECRET) is None
    assert pack(KEY, (), SECRET) is None
