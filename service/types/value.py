"""Value classes, which are dataclasses that nobody changes, and the type of decoded JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, dataclass_transform

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value[T](cls: type[T]) -> type[T]:
    """A dataclass that is frozen for the type checker. At run time it has slots, equality and a hash, but is not
    frozen.

    A frozen one sets each field through a call: 140 instead of 30 ns a field (CPython 3.13, 2026-11). A request of
    20 KB has 400 fields.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
