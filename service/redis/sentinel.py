"""Connections to the master that sentinels name. They are closed as soon as it shows that it is no longer the master.

redis-py leaves a master that has become a replica. There is a second case: a master that was cut off while another one
was promoted. It goes on as a master for about ten seconds, until the sentinels reach it, and what is written to it in
that time is lost. With `min-replicas-to-write` it refuses writes (NOREPLICAS). The sentinels must then be asked again.
"""

from __future__ import annotations

from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

NO_REPLICAS = "NOREPLICAS"
"""How the error of a master begins that has too few replicas to accept a write."""


class _MasterConnection(SentinelManagedConnection):
    def read_response(self, *args: Any, **more: Any) -> Any:
        try:
            return super().read_response(*args, **more)
        except ResponseError as error:
            if not str(error).startswith(NO_REPLICAS):
                raise
            self.disconnect()  # type: ignore[no-untyped-call]
            raise RedisConnectionError("no replica follows this master: there may be another one") from None


class PlainConnection(_MasterConnection):
    """A connection without TLS."""


class TlsConnection(_MasterConnection, SentinelManagedSSLConnection):
    """A connection with TLS."""
