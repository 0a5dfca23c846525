"""One process that serves the app: uvicorn's server with a shutdown that loses no request.

SIGTERM starts a shutdown with a grace period. /readyz answers 503 and every response closes its connection, but all
requests are still answered: load balancers need this time to notice. After it no new connections are taken, and the
requests on the open connections are answered, for at most `shutdown_seconds`. A second SIGTERM ends the grace period
at once. SIGINT is a shutdown without a grace period; a second SIGINT ends the process at once. SIGHUP reads the keys
and the catalog again.
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

from service.server.http.connection import Connection, ConnectionLimits, make_connection_class
from service.server.listener import has_pending_connections, refuse_new_connections
from service.server.memory import freeze_loaded_objects
from service.services import Services
from service.settings import Settings

LOG = logging.getLogger("tallystick")

END_GRACE_SIGNAL = signal.SIGUSR1
"""From the supervisor to its workers: the grace period is over. A second SIGTERM would not do: when two come close
together, the process gets one."""

BLOCKED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, END_GRACE_SIGNAL)
"""Blocked from the start of the process, until an event loop or the supervisor can handle them. None is lost."""

NEW_CONNECTION_SECONDS = 0.5
"""How long a shutdown keeps connections that have no request. One that was just accepted may have sent its first
request, which is still on its way."""

BACKLOG_SECONDS = 1.0
"""Longest wait for the connections in the backlog to be accepted."""

POLL_SECONDS = 0.02


class Worker(uvicorn.Server):
    """Serves `app` on a listening socket.

    With `parent` it is one of several workers: `parent` is the reading end of a pipe that closes when the supervisor
    ends. Then the supervisor stops new connections, and signals when the grace period is over.
    """

    def __init__(self, app: FastAPI, settings: Settings, parent: int | None = None) -> None:
        self.services: Services = app.state.services
        limits = ConnectionLimits(
            settings.max_connections, settings.keep_alive_seconds, settings.header_seconds,
            self.services.metrics.record_refused_connection,
        )
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=make_connection_class(limits, app.state.pipeline.try_sync),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,  # it prints query strings, which may hold keys
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                timeout_keep_alive=settings.keep_alive_seconds,
            )
        )
        self.services.readiness.before_ready = freeze_loaded_objects
        self.settings = settings
        self.parent = parent
        self._stop_task: asyncio.Task[None] | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            gc.unfreeze()  # frozen objects are freed last, when modules that their finalizers need are gone

    # ------------------------------------------------------------ signals

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replaces uvicorn's, which raises the signal again at the end: here a stop by signal is a success."""
        loop = asyncio.get_running_loop()
        handlers: dict[int, Callable[[], None]] = {
            signal.SIGTERM: self.terminate, END_GRACE_SIGNAL: self.stop_accepting, signal.SIGINT: self.interrupt,
            signal.SIGHUP: self.reload_settings,
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)  # signals that came before are delivered now
        if self.parent is not None:
            loop.add_reader(self.parent, self._on_parent_exit)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def terminate(self) -> None:
        """Start the grace period or, when it has started, end it."""
        if self.services.readiness.draining:
            self.stop_accepting()
            return
        self._drain()
        if self.parent is None:
            asyncio.get_running_loop().call_later(self.settings.grace_seconds, self.stop_accepting)

    def interrupt(self) -> None:
        """Stop without a grace period or, when a stop has begun, at once."""
        if self.services.readiness.draining:
            self.force_exit = True
        self._drain()
        self.stop_accepting()

    def reload_settings(self) -> None:
        """Read the keys and the catalog again, in a thread. Requests use the old ones until all is read."""
        asyncio.get_running_loop().run_in_executor(None, self.services.reload)

    def _drain(self) -> None:
        if not self.services.readiness.draining:
            self.services.readiness.draining = True
            LOG.info("stopping", extra={"fields": {"connections": len(self.server_state.connections)}})

    def _on_parent_exit(self) -> None:
        if self.parent is not None:
            asyncio.get_running_loop().remove_reader(self.parent)
        self._drain()
        self.stop_accepting()

    # ------------------------------------------------------------ shutdown

    def stop_accepting(self) -> None:
        """Take no new connections. The server ends when the open ones have their responses."""
        if self._stop_task is None:
            self._stop_task = asyncio.create_task(self._stop_accepting())

    async def _stop_accepting(self) -> None:
        if self.parent is None:
            for listener in self._list_listeners():
                refuse_new_connections(listener)
                await wait_until_accepted(listener)
        self.should_exit = True

    def _list_listeners(self) -> Iterator[socket.socket]:
        for server in self.servers:
            yield from cast("list[socket.socket]", server.sockets)

    async def on_tick(self, counter: int) -> bool:
        """uvicorn calls this ten times a second."""
        if counter % 10 == 0:
            self._check_deadlines()
        return await super().on_tick(counter)

    def _check_deadlines(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in self._list_connections():
            connection.check_deadline(now)

    def _list_connections(self) -> list[Connection]:
        return cast("list[Connection]", list(self.server_state.connections))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Replaces uvicorn's, which closes connections that have sent a request which was not read yet."""
        self._drain()
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        await self._wait_for_connections()
        for task in list(self.server_state.tasks):
            task.cancel()
        await asyncio.sleep(POLL_SECONDS)
        for connection in self._list_connections():
            connection.transport.close()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _wait_for_connections(self) -> None:
        """Until every connection is closed, or `shutdown_seconds` are over."""
        now = asyncio.get_running_loop().time
        began = now()
        while self.server_state.connections and not self.force_exit:
            if now() - began >= self.settings.shutdown_seconds:
                left = len(self.server_state.tasks)
                LOG.error("requests given up at the end", extra={"fields": {"requests": left}})
                return
            if now() - began >= NEW_CONNECTION_SECONDS:
                for connection in self._list_connections():
                    if connection.is_idle and not connection.transport.is_closing():
                        connection.transport.close()
            self._check_deadlines()
            await asyncio.sleep(POLL_SECONDS)


async def wait_until_accepted(listener: socket.socket) -> None:
    """Until the backlog is empty, at most BACKLOG_SECONDS."""
    for _ in range(round(BACKLOG_SECONDS / POLL_SECONDS)):
        if not has_pending_connections(listener):
            return
        await asyncio.sleep(POLL_SECONDS)
