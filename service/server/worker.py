"""One process that answers: uvicorn's server, with a stop that loses nothing.

SIGTERM: /readyz says no and every answer closes its connection, while all is still answered (the grace, in which load
balancers take notice). Then no new connections are taken; those that are there have their requests answered, within
the deadline of a shutdown. A second SIGTERM ends the grace, SIGINT stops without one, a second SIGINT at once.
SIGHUP reads keys and catalog again.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import uvicorn
from fastapi import FastAPI

from service.server.http.connection import Connection, ConnectionLimits, connection_class
from service.server.listener import has_pending_connections, refuse_new_connections
from service.settings import Settings

LOG = logging.getLogger("tallystick")

END_GRACE_SIGNAL = signal.SIGUSR1
"""From parent to worker. A second SIGTERM would not do: two that follow closely arrive as one."""

BLOCKED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, END_GRACE_SIGNAL)
"""Signals that are blocked from the start on, until an event loop or a supervisor is there to take them."""

NEW_CONNECTION_SECONDS = 0.5
"""How long a connection without a request is kept once the door is closed: one that was just accepted has its request
under way."""

BACKLOG_SECONDS = 1.0
"""Longest wait for the connections in the backlog to be accepted."""

POLL_SECONDS = 0.02


class Worker(uvicorn.Server):
    """Serves `app` on a listener. With `parent`, the reading end of a pipe that the parent process holds open, it is
    one of several: the parent closes the door, and says by a signal when the grace is over."""

    def __init__(self, app: FastAPI, settings: Settings, parent: int | None = None) -> None:
        limits = ConnectionLimits(
            settings.max_connections, settings.keep_alive_seconds, settings.header_seconds,
            app.state.services.metrics.record_refused_connection,
        )
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=connection_class(limits, app.state.pipeline.try_sync),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,  # it prints query strings, and keys travel there
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                timeout_keep_alive=settings.keep_alive_seconds,
            )
        )
        self.app = app
        self.app.state.services.readiness.before_ready = freeze_loaded_objects
        self.settings = settings
        self.parent = parent
        self._stop_task: asyncio.Task[None] | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            gc.unfreeze()  # or what is frozen is torn down last, when modules that it needs are gone

    # ------------------------------------------------------------ signals

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """In place of uvicorn's, which raise the signals again at the end: stopped by one is a good end."""
        loop = asyncio.get_running_loop()
        handlers: dict[int, Callable[[], None]] = {
            signal.SIGTERM: self.terminate, END_GRACE_SIGNAL: self.stop_accepting, signal.SIGINT: self.interrupt,
            signal.SIGHUP: self.reload_settings,
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)  # what came while it was made is delivered now
        if self.parent is not None:
            loop.add_reader(self.parent, self._on_parent_exit)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def terminate(self) -> None:
        """Begin to stop, or end the grace where it has begun."""
        if self.app.state.services.readiness.draining:
            self.stop_accepting()
            return
        self._drain()
        if self.parent is None:
            asyncio.get_running_loop().call_later(self.settings.grace_seconds, self.stop_accepting)

    def interrupt(self) -> None:
        if self.app.state.services.readiness.draining:
            self.force_exit = True
        self._drain()
        self.stop_accepting()

    def reload_settings(self) -> None:
        """Read keys and catalog again, in a thread: requests go on with what was until all of it is read."""
        asyncio.get_running_loop().run_in_executor(None, self._reload)

    def _reload(self) -> None:
        self.app.state.services.reload()

    def _drain(self) -> None:
        if not self.app.state.services.readiness.draining:
            self.app.state.services.readiness.draining = True
            LOG.info("stopping", extra={"fields": {"connections": len(self.server_state.connections)}})

    def _on_parent_exit(self) -> None:
        if self.parent is not None:
            asyncio.get_running_loop().remove_reader(self.parent)
        self._drain()
        self.stop_accepting()

    # ------------------------------------------------------------ stopping

    def stop_accepting(self) -> None:
        """Take no new connections, and end when those that are there are served."""
        if self._stop_task is None:
            self._stop_task = asyncio.create_task(self._stop_accepting())

    async def _stop_accepting(self) -> None:
        if self.parent is None:
            for listener in self._listeners():
                refuse_new_connections(listener)
                await wait_until_accepted(listener)
        self.should_exit = True

    def _listeners(self) -> Iterator[socket.socket]:
        for server in self.servers:
            yield from cast("list[socket.socket]", server.sockets)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._check_deadlines()
        return await super().on_tick(counter)

    def _check_deadlines(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in self._connections():
            connection.check_deadline(now)

    def _connections(self) -> list[Connection]:
        return cast("list[Connection]", list(self.server_state.connections))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """In place of uvicorn's, which closes connections whose request is under way but has not been read."""
        self._drain()
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        await self._wait_for_connections()
        for task in list(self.server_state.tasks):
            task.cancel()
        await asyncio.sleep(POLL_SECONDS)
        for connection in self._connections():
            connection.transport.close()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _wait_for_connections(self) -> None:
        """Until every connection is closed, or the time is over."""
        now = asyncio.get_running_loop().time
        began = now()
        while self.server_state.connections and not self.force_exit:
            if now() - began >= self.settings.shutdown_seconds:
                left = len(self.server_state.tasks)
                LOG.error("requests given up at the end", extra={"fields": {"requests": left}})
                return
            if now() - began >= NEW_CONNECTION_SECONDS:
                for connection in self._connections():
                    if connection.is_idle and not connection.transport.is_closing():
                        connection.transport.close()
            self._check_deadlines()
            await asyncio.sleep(POLL_SECONDS)


def freeze_loaded_objects() -> None:
    """Leave what is loaded out of garbage collections from now on: it stays, and looking at all of it makes every
    request wait for 40 ms (2-core machine, 2026-11)."""
    gc.collect()
    gc.freeze()


async def wait_until_accepted(listener: socket.socket) -> None:
    """Until nobody waits in the backlog; not for ever."""
    for _ in range(round(BACKLOG_SECONDS / POLL_SECONDS)):
        if not has_pending_connections(listener):
            return
        await asyncio.sleep(POLL_SECONDS)
