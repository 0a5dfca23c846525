"""Short responses of several connections, written together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.server.http.protocol import HttpProtocol


class ResponseBatch:
    """Responses of the fast path that are written together, at the end of this round of the event loop.

    A response that is written at once wakes its reader at once, which takes as long as a tenth of a short request.
    One for each event loop.
    """

    def __init__(self) -> None:
        self.default_headers: list[tuple[bytes, bytes]] | None = None
        self.status_lines = b""
        """The status line of a 200 and these `default_headers` of the server."""
        self._connections: list[HttpProtocol] = []
        self._is_scheduled = False

    def schedule(self) -> None:
        """Write the batch when all data that has arrived is read. Call it before the response is made: callbacks run
        in the order in which they were scheduled, and the batch comes before whatever the response schedules."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._write)

    def add(self, connection: HttpProtocol) -> None:
        """Write the pending response of `connection` with the batch."""
        self._connections.append(connection)

    def _write(self) -> None:
        self._is_scheduled = False
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.write_pending_response()
