"""The parent of several worker processes that share one socket. It answers no requests itself.

The parent loads tokenizers, catalog and prices, then forks, so that the workers share that memory. It runs no event
loop. It waits for signals, replaces workers that died, and stops all of them so that no request is lost
(service.server.worker).
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from service import catalog
from service.errors import ServiceError
from service.observability import multiprocess
from service.pricing.prices import price_input
from service.server.listener import has_pending_connections, refuse_new_connections
from service.server.memory import freeze_loaded_objects
from service.server.worker import BACKLOG_SECONDS, BLOCKED_SIGNALS, END_GRACE_SIGNAL, POLL_SECONDS
from service.settings import Settings
from service.tokenizers import registry

LOG = logging.getLogger("tallystick")

STARTS_THREADS = frozenset({"gemma4"})
"""Tokenizers whose engine starts threads when it is loaded. Threads do not survive a fork, and whoever waits for one
of them in the child waits forever. Each worker loads these itself (tests/server/test_supervisor.py checks the
others)."""

CANNOT_START = 3
"""Exit code of a worker whose app cannot start. Another worker would fail in the same way."""

HEALTHY_SECONDS = 10.0
"""A worker that lived this long is replaced at once. After a shorter life the pause before the next one doubles."""

MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.1, 30.0

KILL_SECONDS = 5.0
"""How long after `shutdown_seconds` a worker that has not ended is killed."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(slots=True)
class Child:
    process_id: int
    started_at: float


def preload(names: Iterable[str]) -> None:
    """Load what the workers can share: tokenizers, the catalog, prices. A worker reports what cannot be loaded."""
    for name in names:
        if name not in STARTS_THREADS:
            try:
                registry.get_tokenizer(name).count("Hello, world!")
            except ServiceError as error:
                fields = {"what": name, "reason": error.message}
                LOG.error("not loaded", extra={"fields": fields})  # noqa: TRY400 - the message says it, no traceback
    price_input(catalog.resolve("gpt-4o"), 1)
    freeze_loaded_objects()  # a garbage collection in a worker would touch the shared memory pages, and so copy them


def _count_threads() -> int:
    """Threads of this process. On Linux, those that engines started are included."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


class Supervisor:
    """`run_worker` serves in a child process until it is stopped. Its argument is the reading end of a pipe that
    closes when this process ends."""

    def __init__(self, settings: Settings, listener: socket.socket, run_worker: Callable[[int], None]) -> None:
        self.settings = settings
        self.listener = listener
        self.run_worker = run_worker
        self.children: dict[int, Child] = {}
        self.metrics_folder: Path | None = None
        self._received: list[int] = []
        self._respawn_at: list[float] = []
        self._short_lives = 0
        self._grace_ends_at: float | None = None
        self._kill_at: float | None = None
        self._exit_code = 0

    def run(self) -> int:
        """Run until every worker has ended. Returns the exit code.

        Raises OSError when there is no place for the workers' metrics.
        """
        self.metrics_folder = multiprocess.open_folder()
        preload(self.settings.warm)
        if _count_threads() > 1:
            raise RuntimeError("something started a thread before the workers were: they cannot be forked")
        self._parent_pipe = os.pipe()
        try:
            with self._catch_signals():
                for _ in range(self.settings.workers):
                    self._spawn()
                while self.children or self._respawn_at:
                    self._wait()
                    self._handle_events()
        finally:
            gc.unfreeze()  # frozen objects are freed last, when modules that their finalizers need are gone
            multiprocess.close_folder(self.metrics_folder)
        return self._exit_code

    # ------------------------------------------------------------ signals and times

    @contextmanager
    def _catch_signals(self) -> Iterator[None]:
        """A signal is noted, and wakes `_wait` through a socket."""
        self._wakeup_sender, self._wakeup_receiver = socket.socketpair()
        for end in (self._wakeup_sender, self._wakeup_receiver):
            end.setblocking(False)

        def note(number: int, frame: FrameType | None) -> None:
            self._received.append(number)

        before = {number: signal.signal(number, note) for number in SIGNALS}
        signal.set_wakeup_fd(self._wakeup_sender.fileno(), warn_on_full_buffer=False)
        # Signals that came while tokenizers were loaded are delivered now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _wait(self) -> None:
        """Until a signal comes, or the time of the next thing to do."""
        due = [at for at in (self._grace_ends_at, self._kill_at, *self._respawn_at) if at is not None]
        timeout = max(0.0, min(due) - time.monotonic()) if due else None
        if not self._received and select.select([self._wakeup_receiver], [], [], timeout)[0]:
            self._wakeup_receiver.recv(4096)

    def _handle_events(self) -> None:
        while self._received:
            self._on_signal(self._received.pop(0))
        now = time.monotonic()
        if self._grace_ends_at is not None and now >= self._grace_ends_at:
            self._stop_accepting()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = None
            self._signal_children(signal.SIGKILL)
        for at in [at for at in self._respawn_at if now >= at]:
            self._respawn_at.remove(at)
            self._spawn()

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._collect_exits()
        elif number == signal.SIGHUP:
            self._signal_children(signal.SIGHUP)
        elif number == signal.SIGTERM and not self._is_stopping:
            self._stop(self.settings.grace_seconds)
        elif self._kill_at is not None and number == signal.SIGINT:
            self._signal_children(signal.SIGINT)  # they are shutting down: this ends them at once
        else:
            self._stop(0.0)

    # ------------------------------------------------------------ shutdown

    @property
    def _is_stopping(self) -> bool:
        return self._grace_ends_at is not None or self._kill_at is not None

    def _stop(self, grace_seconds: float) -> None:
        if self._kill_at is not None:
            return
        if not self._is_stopping:
            LOG.info("stopping all", extra={"fields": {"workers": len(self.children)}})
            self._respawn_at.clear()
            self._signal_children(signal.SIGTERM)
        self._grace_ends_at = time.monotonic() + grace_seconds

    def _stop_accepting(self) -> None:
        """The grace period is over. The workers, which share the socket, accept what is in its backlog; then a signal
        makes them finish."""
        self._grace_ends_at = None
        refuse_new_connections(self.listener)
        until = time.monotonic() + BACKLOG_SECONDS
        while has_pending_connections(self.listener) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        self.listener.close()
        self._signal_children(END_GRACE_SIGNAL)
        self._kill_at = time.monotonic() + self.settings.shutdown_seconds + KILL_SECONDS

    def _signal_children(self, number: int) -> None:
        for process_id in self.children:  # no other process can have these ids until we wait for the children
            os.kill(process_id, number)

    # ------------------------------------------------------------ children

    def _spawn(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        # Signals for the child wait until its event loop handles them.
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
        process_id = os.fork()
        if process_id == 0:
            os._exit(self._run_child())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)
        self.children[process_id] = Child(process_id, time.monotonic())

    def _run_child(self) -> int:
        """Runs in the child. Returns its exit code."""
        try:
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for end in (self._wakeup_sender, self._wakeup_receiver):
                end.close()
            os.close(self._parent_pipe[1])
            multiprocess.use_own_files()
            self.run_worker(self._parent_pipe[0])
        except SystemExit as ended:  # uvicorn raises it when the app did not start
            return CANNOT_START if ended.code else 0
        except BaseException:
            LOG.exception("worker failed")
            return 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return 0

    def _collect_exits(self) -> None:
        for process_id in list(self.children):
            done, status = os.waitpid(process_id, os.WNOHANG)
            if done:
                self._on_child_exit(self.children.pop(process_id), os.waitstatus_to_exitcode(status))

    def _on_child_exit(self, child: Child, code: int) -> None:
        """`code` is the exit code or, when a signal ended the child, minus the number of the signal."""
        assert self.metrics_folder is not None
        multiprocess.merge_dead_worker(self.metrics_folder, child.process_id)
        if self._is_stopping:
            self._exit_code = self._exit_code or int(code != 0)
            return
        LOG.error("worker died", extra={"fields": {"process": child.process_id, "code": code}})
        if code == CANNOT_START:
            self._exit_code = 1
            self._stop(0.0)
            return
        lived = time.monotonic() - child.started_at
        self._short_lives = 0 if lived >= HEALTHY_SECONDS else self._short_lives + 1
        pause = min(MIN_PAUSE_SECONDS * 2**self._short_lives, MAX_PAUSE_SECONDS) if self._short_lives else 0.0
        self._respawn_at.append(time.monotonic() + pause)
