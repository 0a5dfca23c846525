"""Text that is not valid Unicode: half of a surrogate pair counts as U+FFFD."""

from __future__ import annotations


def repair_surrogates(text: str) -> str:
    """`text` with surrogate pairs joined and every lone surrogate replaced by U+FFFD; valid text is returned as is."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def to_utf8(text: str) -> bytes:
    """The UTF-8 of `text` after `repair_surrogates`; for hashing and for engines that take bytes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return repair_surrogates(text).encode()
