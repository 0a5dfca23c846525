"""Where API keys are kept: in a JSON file or in Redis, and what a process knows of them at the moment."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from service.auth.keys import Key, KeyRing, KeyStoreError, key_from_json, key_to_json

if TYPE_CHECKING:
    from service.redis.client import Client

LOG = logging.getLogger("tallystick")

Change = Callable[[dict[str, Key]], None]


class KeyStore(Protocol):
    """Where keys are kept. All raise KeyStoreError."""

    def load(self) -> KeyRing: ...

    def change(self, change: Change) -> None:
        """Let `change` alter the keys by id; nobody sees anything in between."""
        ...

    def version(self) -> object:
        """Something that differs once the keys have changed."""
        ...


@dataclass(frozen=True, slots=True)
class FileStore:
    """A JSON file that its owner alone may read and write. A file that is not there holds no keys."""

    path: Path

    def load(self) -> KeyRing:
        try:
            with self.path.open(encoding="utf-8") as file:
                if os.fstat(file.fileno()).st_mode & 0o022:
                    raise KeyStoreError(f"{self.path}: others may write to it, and so make keys: chmod 600 it")
                content = json.load(file)
        except FileNotFoundError:
            return KeyRing()
        except OSError as error:
            raise KeyStoreError(f"{self.path}: cannot be read: {error.strerror}") from None
        except ValueError:
            raise KeyStoreError(f"{self.path}: is not JSON in UTF-8") from None
        rows = content.get("keys") if isinstance(content, dict) else None
        if not isinstance(rows, list):
            raise KeyStoreError(f"{self.path}: keys must be a list")
        keys = [key_from_json(row, f"{self.path}: keys[{i}]") for i, row in enumerate(rows)]
        return KeyRing({key.id: key for key in keys})

    def change(self, change: Change) -> None:
        try:
            with self._locked():
                keys = dict(self.load().by_id)
                change(keys)
                self._replace({"keys": [key_to_json(key) for key in keys.values()]})
        except OSError as error:
            raise KeyStoreError(f"{self.path}: cannot be written: {error.strerror}") from None

    def version(self) -> object:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock is a file beside: the keys' own file is replaced by each change."""
        with self.path.with_name(self.path.name + ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _replace(self, content: Any) -> None:
        target = self.path.resolve()  # a link stays a link
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # mode 600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


REDIS_KEYS = "tallystick:keys"
"""A hash: id -> row as JSON."""

REDIS_VERSION = "tallystick:keys:version"


@dataclass(frozen=True, slots=True)
class RedisStore:
    """A hash in Redis, shared by all servers that use it. `connect` may raise what clients raise."""

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
        from service.redis.client import classify_error, load_redis_errors  # noqa: PLC0415  imports redis

        try:
            client = self.connect()
            try:
                return question(client)
            finally:
                client.close()
        except load_redis_errors() as error:
            raise KeyStoreError(f"Redis cannot be asked for keys: {classify_error(error)}") from None


def _parse_row(row: str | bytes) -> Any:
    try:
        return json.loads(row)
    except ValueError:
        return None



class Keys:
    """The keys of a store, read again when told to or when the store has changed; `ring` is replaced as a whole.

    Until the first load `ring` is None, and nobody is let in.
    """

    def __init__(self, store: KeyStore, seconds: float = 0.0) -> None:
        self.store = store
        self._seconds = seconds
        self._refreshed_at = -seconds
        self.ring: KeyRing | None = None
        self._version: object = None
        self._last_error = ""

    def load(self) -> None:
        """Raises KeyStoreError and then keeps what was."""
        version = self.store.version()
        self.ring, self._version = self.store.load(), version
        LOG.info("keys read", extra={"fields": {"keys": len(self.ring.by_id)}})

    def refresh(self, *, force: bool = False) -> None:
        """Load where there is something new, or by `force`; where that fails, keep what was. May block.

        The store is looked at every `seconds` at most, once there are keys.
        """
        now = time.monotonic()
        if not force and self.ring is not None and now - self._refreshed_at < self._seconds:
            return
        self._refreshed_at = now
        try:
            if force or self.ring is None or self.store.version() != self._version:
                self.load()
            self._last_error = ""
        except KeyStoreError as error:
            if str(error) != self._last_error:  # once, not every second
                self._last_error = str(error)
                LOG.error("keys not read", extra={"fields": {"reason": self._last_error}})  # noqa: TRY400
