"""What a cache of counts is asked to do, and the keys under which it is asked.

A key is a keyed hash of the text under the tokenizer's data; without the secret it tells nothing of the text. Its
parts are length-prefixed, so that ("ab", "c") and ("a", "bc") differ. Values are counts: integers, never text.
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

from service import __version__
from service.types import Section, Segment

Counts = tuple[int, ...]
"""Of a segment: tokens up to the end of each of its spans, in order; the last is the whole. Of a run: tokens by
section, in the order of SECTIONS."""

KEY_BYTES = 20


class CountCache(Protocol):
    """Maps a key to counts. A miss is None; a failure is a miss, never an error."""

    def get(self, key: bytes) -> Counts | None: ...

    def put(self, key: bytes, counts: Counts) -> None: ...


class CacheEvents(Protocol):
    """What happens in the caches, told once a request and tier; for metrics."""

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None:
        """`tier` is request, conversation, memory or redis; `outcome` is hit, miss, skipped (not worth
        asking), garbage or failed."""
        ...

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None:
        """`texts` texts of `size` bytes (UTF-8) together were given to a tokenizer."""
        ...

    def record_redis_write(self, outcome: str, number: int) -> None:
        """Entries written behind: `outcome` is stored, dropped (the queue was full) or failed."""
        ...


class NoEvents:
    """Told, and forgets."""

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None: ...

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None: ...

    def record_redis_write(self, outcome: str, number: int) -> None: ...


def segment_key(segment: Segment, fingerprint: str, secret: bytes) -> bytes:
    """Stands for this segment under this tokenizer data and this version of the service.

    Sections are left out on purpose: they do not change a count.
    """
    digest = start_digest(b"segment", fingerprint, secret)
    digest.update(f"{segment.edge}|{len(segment.spans)}".encode())
    for _, text in segment.spans:
        add_text(digest, text)
    return finish_key(digest)


def start_digest(kind: bytes, fingerprint: str, secret: bytes) -> Any:
    """A hash to be fed; keys of different kinds never meet."""
    digest = hashlib.sha256(secret)
    digest.update(f"{len(secret)}|{kind.decode()}|{__version__}|{fingerprint}|".encode())
    return digest


def finish_key(digest: Any) -> bytes:
    """The key of what was fed. Only a part of the hash: with all of it, whoever sees it could go on hashing without the
    secret. SHA-256 has instructions of its own in processors: 0.6 us a KB, BLAKE2b takes 1.2 (2-core machine, 2026-11).
    """
    key: bytes = digest.digest()[:KEY_BYTES]
    return key


def add_text(digest: Any, text: str, section: Section | None = None) -> None:
    """Feed a text with its length in front of it, and its section where that matters."""
    data = text.encode("utf-8", "surrogatepass")
    digest.update(f"|{section}|{len(data)}|".encode() if section else b"|%d|" % len(data))
    digest.update(data)
