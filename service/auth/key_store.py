"""Where API keys are kept, and the keys that a process has read.

Here is the store in a JSON file; the one in Redis is in `service.auth.redis_key_store`.
"""

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
from typing import Any, Protocol

from service.auth.keys import Key, KeyRing, KeyStoreError, key_from_json, key_to_json

LOG = logging.getLogger("tallystick")

Change = Callable[[dict[str, Key]], None]


class KeyStore(Protocol):
    """Where keys are kept. Every method may raise KeyStoreError."""

    def load(self) -> KeyRing: ...

    def change(self, change: Change) -> None:
        """Call `change` with the keys by id and store the result. Readers never see half a change."""
        ...

    def version(self) -> object:
        """A value that is different once the keys have changed."""
        ...


@dataclass(frozen=True, slots=True)
class FileStore:
    """A JSON file that only its owner may read and write. A missing file means that there are no keys."""

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
        """Hold the lock. It is a file of its own, since each change replaces the file with the keys."""
        with self.path.with_name(self.path.name + ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _replace(self, content: Any) -> None:
        target = self.path.resolve()  # write through a symbolic link instead of replacing it
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # created with mode 600
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


class Keys:
    """The keys of a store, as last read. A new reading replaces `ring` as a whole.

    `ring` is None until the first load; until then nobody is let in. `seconds` is how often the store is asked whether
    its keys have changed.
    """

    def __init__(self, store: KeyStore, seconds: float = 0.0) -> None:
        self.store = store
        self._seconds = seconds
        self._refreshed_at = -seconds
        self.ring: KeyRing | None = None
        self._version: object = None
        self._last_error = ""

    def load(self) -> None:
        """Read the keys. Raises KeyStoreError, and then keeps the ones read before."""
        version = self.store.version()
        self.ring, self._version = self.store.load(), version
        LOG.info("keys read", extra={"fields": {"keys": len(self.ring.by_id)}})

    def refresh(self, *, force: bool = False) -> None:
        """Read the keys if they have changed, or in any case with `force`. On failure, log and keep the old ones.

        Once there are keys, the store is asked at most every `seconds`. May block.
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
            if str(error) != self._last_error:  # log it once, not every second
                self._last_error = str(error)
                # An operator's mistake needs no traceback.
                LOG.error("keys not read", extra={"fields": {"reason": self._last_error}})  # noqa: TRY400
