"""A connection to an app in this process, by the service's own protocol."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from uvicorn.server import ServerState

from service.server.http.connection import Connection, ConnectionLimits, make_connection_class

PATIENCE_SECONDS = 20


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[tuple[Connection, socket.socket]]:
    """A connection that is served in this process, and its other end."""
    limits = ConnectionLimits(10, 60, 60, app.state.services.metrics.record_refused_connection)
    kind = make_connection_class(limits, app.state.pipeline.try_sync)
    config = uvicorn.Config(app, http=kind, ws="none", log_config=None, access_log=False)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    transport, connection = await asyncio.get_running_loop().connect_accepted_socket(
        lambda: kind(config, ServerState(), {}), ours
    )
    with theirs:
        yield connection, theirs
        transport.close()
        await asyncio.sleep(0)


async def read_answers(other_end: socket.socket, number: int) -> list[tuple[int, bytes]]:
    """Status and body of so many answers, each of which says its length."""
    received, answers = b"", []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(answers) < number:
            head, found, rest = received.partition(b"\r\n\r\n")
            length = re.search(rb"\r\ncontent-length: (\d+)", head)
            if found and length and len(rest) >= int(length[1]):
                answers.append((int(head[9:12]), rest[: int(length[1])]))
                received = rest[int(length[1]):]
                continue
            piece = await asyncio.get_running_loop().sock_recv(other_end, 65_536)
            assert piece, received
            received += piece
    return answers
