"""Value classes (dataclasses that nobody changes once they are made), and the type of decoded JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, dataclass_transform

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value[T](cls: type[T]) -> type[T]:
    """A frozen dataclass to the type checker; at run time one with slots, equality and a hash.

    Freezing at run time sets each field through a call: 140 instead of 30 ns a field (CPython 3.13, 2026-11), and a
    request of 20 KB is 400 fields.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
