"""The one validator of bodies: which field an error names, in which words, and that it repeats nothing of a value."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from service.dialects.model_validation import validate_model
from service.errors import InvalidRequest

SECRET = "a prompt that must not come back"


class Inner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    count: int = Field(0, ge=0, le=9)


class Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(max_length=5)
    kind: Literal["a", "b"] = "a"
    flag: bool = False
    share: float = 0.5
    money: str | int | float | None = None
    texts: list[str] = Field(["x"], min_length=1, max_length=2)
    inner: Inner = Inner()
    rows: list[Inner] = []


@pytest.mark.parametrize(("change", "field", "message"), [
    ({"name": 3}, "name", "name must be a string, not a number."),
    ({"name": SECRET}, "name", "name must be at most 5 characters."),
    ({"kind": SECRET}, "kind", "kind must be 'a' or 'b'."),
    ({"flag": 1}, "flag", "flag must be true or false, not a number."),
    ({"share": SECRET}, "share", "share must be a number, not a string."),
    ({"money": []}, "money", "money must be a string, not an array."),
    ({"texts": []}, "texts", "texts must be not empty."),
    ({"texts": ["x", "y", "z"]}, "texts", "texts must be at most 2 long."),
    ({"texts": ["x", None]}, "texts[1]", "texts[1] must be a string, not null."),
    ({"texts": SECRET}, "texts", "texts must be an array, not a string."),
    ({"inner": SECRET}, "inner", "inner must be an object, not a string."),
    ({"inner": {"count": -1}}, "inner.count", "inner.count must be at least 0."),
    ({"inner": {"count": 10}}, "inner.count", "inner.count must be at most 9."),
    ({"inner": {"count": 1.5}}, "inner.count", "inner.count must be a whole number, not a number."),
    ({"rows": [{}, {"more": SECRET}]}, "rows[1].more", "rows[1].more is not a field of this request."),
    ({"str": SECRET}, "str", "str is not a field of this request."),
    ({"x" * 100: SECRET}, "x" * 64, f"{'x' * 64} is not a field of this request."),
])
def test_an_error_names_the_field_and_not_the_value(change: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_model(Body, {"name": "x", **change})

    assert (caught.value.field, caught.value.message) == (field, message)


def test_a_field_that_is_absent() -> None:
    with pytest.raises(InvalidRequest, match=r"^name is needed\.$"):
        validate_model(Body, {})


@pytest.mark.parametrize(("value", "message"), [
    ([], "The body must be an object, not an array."),
    (None, "The body must be an object, not null."),
    (SECRET, "The body must be an object, not a string."),
])
def test_a_body_that_is_no_object(value: Any, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_model(Body, value)

    assert (caught.value.field, caught.value.message) == (None, message)


def test_the_path_of_an_item_stands_in_front() -> None:
    with pytest.raises(InvalidRequest, match=r"^items\[3\]\.name must be a string"):
        validate_model(Body, {"name": 3}, "items[3]")
    with pytest.raises(InvalidRequest, match=r"^items\[3\] must be an object"):
        validate_model(Body, 3, "items[3]")


def test_a_valid_body_is_an_instance() -> None:
    assert validate_model(Body, {"name": "x", "rows": [{"count": 2}]}).rows == [Inner(count=2)]
