"""Running the app under uvicorn, in this process."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from typing import Any

import uvicorn

from service.app import create_app
from service.logs import configure_logs
from service.settings import Settings

LOG = logging.getLogger("tallystick")


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; then stop listening and wait for requests in flight.

    Raises OSError where the address cannot be bound.
    """
    configure_logs(settings.log_level)
    config = uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # it prints query strings, and keys travel there
        server_header=False,
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    listener = _listen(settings.host, settings.port)
    # uvicorn handles both while it runs and then raises them again: stopped by a signal is a good end.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    LOG.info("listening", extra={"fields": {"url": f"http://{shown}:{port}"}})
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Connections that come before the app has started wait in the backlog. Port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


def _leave(number: int, frame: Any) -> None:
    sys.exit(0)
