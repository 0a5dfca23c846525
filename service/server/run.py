"""`tallystick serve`: one worker in this process, or several worker processes that share a socket."""

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
from service.server.supervisor import Supervisor
from service.server.worker import BLOCKED_SIGNALS, Worker
from service.services import OperatorFiles
from service.settings import Settings

OPEN_FILES = 1 << 16
"""The limit of open files that is asked for. Each connection is one."""

LOG = logging.getLogger("tallystick")


def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM stops the service. Returns the exit code.

    Raises Exposed when anybody on the network could use the service, KeyStoreError when the keys cannot be read,
    CatalogFileError when the catalog or the budgets cannot be used, and OSError when the address cannot be bound.
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
    return Supervisor(settings, listener, lambda parent: run_worker(settings, listener, parent)).run()


def run_worker(settings: Settings, listener: socket.socket, parent: int | None = None) -> None:
    """Serve until stopped. In a child process, `parent` is a pipe that closes when the parent process ends."""
    Worker(create_app(settings), settings, parent).run(sockets=[listener])


def _raise_file_limit() -> None:
    """The usual limit of 1,024 open files is meant for interactive programs; a server has more connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
