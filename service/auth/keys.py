"""API keys: how a key is made, and what is stored about it.

A key is `tsk_<id>_<secret>`. The secret is 256 random bits; only the SHA-256 of the whole key is stored. A slow hash
(bcrypt, argon2) protects passwords that people choose, because those can be guessed. 256 random bits cannot be guessed
at any speed, so a slow hash would only slow down every request. The id finds the row; the digests are compared in
constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

Scope = Literal["count", "tokenize", "models", "usage", "budgets", "metrics", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

ADMIN: Scope = "admin"
"""Allows everything, also what has no scope of its own."""

DEFAULT_SCOPES: tuple[Scope, ...] = ("count", "tokenize", "models")

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a key's name looks like. It is the project's label in the ledger and in logs. Two keys may share a name, so that
one can replace the other without a gap."""

KEY = re.compile(r"tsk_(?P<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}")
ID_IN_KEY = slice(4, 16)
"""Where the id stands in a key."""


class KeyStoreError(Exception):
    """The keys cannot be read or changed. The message says where and why; it never contains any part of a key."""


class NoKeyFile(KeyStoreError):
    """The named file does not exist, and the command is not the one that creates it."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is stored about a key. From `expires` on it is refused.

    Rates are per minute: 0 means no limit, None means the limit of the settings.
    """

    id: str
    name: str
    digest: bytes
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or ADMIN in self.scopes

    def is_expired(self, now: datetime) -> bool:
        return self.expires is not None and now >= self.expires


def hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def make_key(name: str, scopes: Iterable[Scope], **more: Any) -> tuple[str, Key]:
    """A new key, and what is to be stored about it. `more` are fields of Key. The key itself is stored nowhere."""
    key_id = secrets.token_hex(6)
    text = f"tsk_{key_id}_{secrets.token_urlsafe(32)}"
    return text, Key(key_id, name, hash_key(text), frozenset(scopes), created=datetime.now(UTC), **more)


@dataclass(frozen=True, slots=True)
class KeyRing:
    """All keys as read at one moment."""

    by_id: Mapping[str, Key] = field(default_factory=dict)

    def find(self, text: str, now: datetime | None = None) -> Key | None:
        """The row of the key `text`; None when the key is unknown, wrong or expired."""
        key = self.by_id.get(text[ID_IN_KEY])  # the digest proves the rest
        if key is None or not hmac.compare_digest(key.digest, hash_key(text)):
            return None
        return None if key.expires is not None and key.is_expired(now or datetime.now(UTC)) else key


# ---------------------------------------------------------------- as JSON


def key_to_json(key: Key) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": key.id, "name": key.name, "sha256": key.digest.hex(), "scopes": sorted(key.scopes),
        "created": key.created.isoformat(timespec="seconds"),
    }
    if key.expires is not None:
        row["expires"] = key.expires.isoformat(timespec="seconds")
    for name in ("requests_per_minute", "tokens_per_minute"):
        if getattr(key, name) is not None:
            row[name] = getattr(key, name)
    return row


def key_from_json(row: Any, place: str) -> Key:
    """The key of a stored row. Raises KeyStoreError, which names `place`, if anything in the row is wrong."""
    try:
        key = Key(
            id=_read_text(row["id"], r"[0-9a-f]{12}"), name=_read_text(row["name"], NAME.pattern),
            digest=bytes.fromhex(_read_text(row["sha256"], "[0-9a-f]{64}")), scopes=frozenset(row["scopes"]),
            created=_read_instant(row["created"]),
            expires=_read_instant(row["expires"]) if row.get("expires") else None,
            requests_per_minute=_read_rate(row.get("requests_per_minute")),
            tokens_per_minute=_read_rate(row.get("tokens_per_minute")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else "a field is not as it should be"
        raise KeyStoreError(f"{place}: {what}") from None
    unknown = key.scopes.difference(SCOPES)
    if unknown:
        raise KeyStoreError(f"{place}: scopes must be of {', '.join(SCOPES)}")
    return key


def _read_text(value: Any, pattern: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise ValueError
    return value


def _read_instant(value: str) -> datetime:
    instant = datetime.fromisoformat(value)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _read_rate(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise ValueError
    return value
