"""What a cache of counts is asked to do."""

from __future__ import annotations

import hashlib
from typing import Protocol

from service.types import Segment

Counts = tuple[int, ...]
"""Tokens of a segment's text up to the end of each of its spans, in order; the last is the whole."""


class CountCache(Protocol):
    """Maps a key to the counts of a segment. A miss is None; a failure is a miss, never an error."""

    def get(self, key: bytes) -> Counts | None: ...

    def put(self, key: bytes, counts: Counts) -> None: ...


def segment_key(segment: Segment, fingerprint: str, secret: bytes) -> bytes:
    """32 bytes that stand for this segment under this tokenizer data; without `secret` they tell nothing of the text.

    Parts are length-prefixed, so that ("ab", "c") and ("a", "bc") differ, and sections are left out on purpose: they
    do not change a count.
    """
    digest = hashlib.blake2b(key=secret, digest_size=32)
    digest.update(f"{fingerprint}|{segment.edge}|{len(segment.spans)}".encode())
    for _, text in segment.spans:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"|%d|" % len(data))
        digest.update(data)
    return digest.digest()


