from __future__ import annotations

from dataclasses import field, fields, replace

import pytest

from service.types.value import value


@value
class Point:
    x: int
    y: int = 0
    names: tuple[str, ...] = field(default=())


def test_values_are_equal_and_hash_by_their_fields() -> None:
    assert Point(1) == Point(1, 0)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Point(1, 0, ("a",))
    assert replace(Point(1), y=2) == Point(1, 2)
    assert [each.name for each in fields(Point)] == ["x", "y", "names"]


def test_a_value_has_no_room_for_anything_else() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]
