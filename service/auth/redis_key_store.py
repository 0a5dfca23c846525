"""API keys in Redis, shared by all servers that use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.auth.key_store import Change
from service.auth.keys import KeyRing, KeyStoreError, key_from_json, key_to_json
from service.redis.client import REDIS_ERRORS, Client, classify_error

REDIS_KEYS = "tallystick:keys"
"""A hash: key id -> its row as JSON."""

REDIS_VERSION = "tallystick:keys:version"
"""A number that each change increases."""


@dataclass(frozen=True, slots=True)
class RedisStore:
    """A KeyStore in Redis. `connect` opens a client for each use; it may raise any of REDIS_ERRORS."""

    connect: Callable[[], Client]

    def load(self) -> KeyRing:
        rows = self._ask(lambda client: client.hgetall(REDIS_KEYS))
        keys = [key_from_json(_parse_row(row), f"Redis: {REDIS_KEYS}") for row in rows.values()]
        return KeyRing({key.id: key for key in keys})

    def change(self, change: Change) -> None:
        before = self.load().by_id
        after = dict(before)
        change(after)

        def write(client: Client) -> None:
            for key_id in before.keys() - after.keys():
                client.hdel(REDIS_KEYS, key_id)
            for key_id in after.keys() - before.keys():
                client.hset(REDIS_KEYS, key_id, json.dumps(key_to_json(after[key_id])))
            client.incr(REDIS_VERSION)

        self._ask(write)

    def version(self) -> object:
        return self._ask(lambda client: client.get(REDIS_VERSION))

    def _ask(self, question: Callable[[Client], Any]) -> Any:
        try:
            client = self.connect()
            try:
                return question(client)
            finally:
                client.close()
        except REDIS_ERRORS as error:
            raise KeyStoreError(f"Redis cannot be asked for keys: {classify_error(error)}") from None


def _parse_row(row: str | bytes) -> Any:
    try:
        return json.loads(row)
    except ValueError:
        return None
