"""Connections to the master that sentinels name, left as soon as it shows that it is not the master any more.

redis-py leaves a master that has become a replica. A master that was away while another was promoted goes on for ten
seconds or so before the sentinels reach it; what it takes in that time is lost. With `min-replicas-to-write` it takes
nothing (NOREPLICAS), and then, too, the sentinels are to be asked again.
"""

from __future__ import annotations

from typing import Any

from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import ResponseError
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

NO_REPLICAS = "NOREPLICAS"
"""How the refusal of a master begins that not enough replicas follow."""


class _MasterConnection(SentinelManagedConnection):
    def read_response(self, *args: Any, **more: Any) -> Any:
        try:
            return super().read_response(*args, **more)
        except ResponseError as error:
            if not str(error).startswith(NO_REPLICAS):
                raise
            self.disconnect()  # type: ignore[no-untyped-call]
            raise NotConnected("no replica follows this master: there may be another one") from None


class PlainConnection(_MasterConnection):
    """Without TLS."""


class TlsConnection(_MasterConnection, SentinelManagedSSLConnection):
    """With TLS."""
