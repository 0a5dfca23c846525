"""Running the service: in this process, or in several that share the socket."""

from __future__ import annotations

import logging
import resource
import signal
import socket
from contextlib import suppress

from service.app import create_app
from service.auth.admission import check_exposure, open_keys
from service.observability.logs import configure_logs
from service.server.listener import get_url, open_listener
from service.server.worker import BLOCKED_SIGNALS, Worker
from service.services import OperatorFiles
from service.settings import Settings

OPEN_FILES = 1 << 16

LOG = logging.getLogger("tallystick")


def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM has stopped it; the exit code.

    Raises Exposed or KeyStoreError where it would be open to anybody or to nobody, CatalogFileError where what the
    operator wrote of models and budgets cannot be used, OSError where the address cannot be bound.
    """
    check_exposure(settings)
    open_keys(settings)
    budgets = OperatorFiles(settings).budgets
    configure_logs(settings.log_level)
    if budgets and settings.workers > 1 and settings.redis_url is None:
        LOG.warning("each worker keeps budgets of its own: set TALLYSTICK_REDIS_URL for one account")
    if settings.workers > 1 and settings.redis_url is None:
        LOG.info("each worker keeps a ledger of its own: set TALLYSTICK_REDIS_URL for one /v1/usage")
    _raise_file_limit()
    # From here on no signal is lost: each waits until an event loop or a supervisor handles it.
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
    listener = open_listener(settings.host, settings.port)
    LOG.info("listening", extra={"fields": {"url": get_url(listener), "workers": settings.workers}})
    if settings.workers == 1:
        run_worker(settings, listener)
        return 0
    from service.server.supervisor import Supervisor  # noqa: PLC0415

    return Supervisor(settings, listener, lambda parent: run_worker(settings, listener, parent)).run()


def run_worker(settings: Settings, listener: socket.socket, parent: int | None = None) -> None:
    """Answer until stopped. In a child, `parent` is the pipe that ends when the parent does."""
    Worker(create_app(settings), settings, parent).run(sockets=[listener])


def _raise_file_limit() -> None:
    """Each connection is a file, and the usual limit of 1024 is one for interactive programs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
