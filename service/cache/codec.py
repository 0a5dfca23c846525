"""Counts as bytes for Redis. They are versioned and sealed, so that anything else found there is a miss, not a
count."""

from __future__ import annotations

import hashlib
import struct

from service.cache.base import Counts

VERSION = 1
SEAL_BYTES = 8

_MAX_COUNT = 0xFFFFFFFF
"""A count has 4 bytes. No body has more tokens than that."""


def pack(key: bytes, counts: Counts, secret: bytes) -> bytes | None:
    """A version byte, the counts (4 bytes each, little-endian), a seal. None when a count does not fit."""
    if not counts or not all(0 <= count <= _MAX_COUNT for count in counts):
        return None
    payload = struct.pack(f"<B{len(counts)}I", VERSION, *counts)
    return payload + _seal(key, payload, secret)


def unpack(key: bytes, value: object, secret: bytes) -> Counts | None:
    """The counts of a value that was packed for this key with this secret. None for anything else."""
    if not isinstance(value, bytes) or len(value) < 1 + 4 + SEAL_BYTES or value[0] != VERSION:
        return None
    payload, seal = value[:-SEAL_BYTES], value[-SEAL_BYTES:]
    if (len(payload) - 1) % 4 or seal != _seal(key, payload, secret):
        return None
    return struct.unpack(f"<{len(payload) // 4}I", payload[1:])


def _seal(key: bytes, payload: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(key + payload, key=secret, digest_size=SEAL_BYTES, person=b"seal").digest()
