"""What a cache of counts does, and how its keys are made.

A key is a keyed hash of a text and of the tokenizer's data. Without the secret it reveals nothing about the text. Each
part has its length in front, so that ("ab", "c") and ("a", "bc") differ. Values are counts: integers, never text.
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

from service import __version__
from service.types import Section, Segment

Counts = tuple[int, ...]
"""For a segment: the tokens up to the end of each span, so the last number is the whole. For a prefix of a
conversation: the tokens by section, in the order of SECTIONS."""

KEY_BYTES = 20


class CountCache(Protocol):
    """Maps a key to counts. A miss is None. A failure is a miss, too, and never raises."""

    def get(self, key: bytes) -> Counts | None: ...

    def put(self, key: bytes, counts: Counts) -> None: ...


class CacheEvents(Protocol):
    """What happens in the caches, for metrics. Called once per request and tier."""

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None:
        """`tier` is request, conversation, memory or redis. `outcome` is hit, miss, skipped (not worth asking), garbage
        or failed."""
        ...

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None:
        """A tokenizer counted `texts` texts with `size` bytes of UTF-8 in all."""
        ...

    def record_redis_write(self, outcome: str, number: int) -> None:
        """Entries written in the background. `outcome` is stored, dropped (the queue was full) or failed."""
        ...


class NoEvents:
    """CacheEvents that are ignored."""

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None: ...

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None: ...

    def record_redis_write(self, outcome: str, number: int) -> None: ...


def segment_key(segment: Segment, fingerprint: str, secret: bytes) -> bytes:
    """The key of a segment for this tokenizer data and this version of the service.

    Sections are left out on purpose, since they do not change a count.
    """
    digest = start_digest(b"segment", fingerprint, secret)
    digest.update(f"{segment.edge}|{len(segment.spans)}".encode())
    for _, text in segment.spans:
        add_text(digest, text)
    return finish_key(digest)


def start_digest(kind: bytes, fingerprint: str, secret: bytes) -> Any:
    """The start of a hash. Keys of different kinds never collide."""
    digest = hashlib.sha256(secret)
    digest.update(f"{len(secret)}|{kind.decode()}|{__version__}|{fingerprint}|".encode())
    return digest


def finish_key(digest: Any) -> bytes:
    """The key of what was hashed. It is only a part of the hash: whoever saw all of it could hash on without the
    secret.

    SHA-256 has its own processor instructions: it takes 0.6 us a KB, BLAKE2b 1.2 (2-core machine, 2026-11).
    """
    key: bytes = digest.digest()[:KEY_BYTES]
    return key


def add_text(digest: Any, text: str, section: Section | None = None) -> None:
    """Hash a text with its length in front, and with its section if that matters."""
    data = text.encode("utf-8", "surrogatepass")
    digest.update(f"|{section}|{len(data)}|".encode() if section else b"|%d|" % len(data))
    digest.update(data)
