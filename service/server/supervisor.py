"""Several processes that answer on one socket, and their parent, which answers nothing.

The parent loads what can be loaded without starting a thread, so that its children share that memory, and forks. It
runs no event loop: it waits for signals, replaces children that died, and stops them in the order in which nothing is
lost (service.server.worker).
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

from service.errors import ServiceError
from service.observability import multiprocess
from service.server.listener import has_pending_connections, refuse_new_connections
from service.server.worker import BACKLOG_SECONDS, BLOCKED_SIGNALS, END_GRACE_SIGNAL, POLL_SECONDS
from service.settings import Settings

LOG = logging.getLogger("tallystick")

STARTS_THREADS = frozenset({"claude", "gemma3", "gemma4"})
"""Tokenizers whose engine starts threads when it is loaded; threads do not survive a fork, and whoever waits for one
waits for ever. Each child loads these itself (tests/server/test_supervisor.py watches the others)."""

CANNOT_START = 3
"""Exit code of a child whose app cannot start: starting another would not help."""

HEALTHY_SECONDS = 10.0
"""A child that lived for so long is replaced at once; after shorter lives the pause doubles."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 30.0

KILL_SECONDS = 5.0
"""Beyond the deadline of a shutdown, for a child that does not end."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(slots=True)
class Child:
    process_id: int
    started_at: float


def preload(names: Iterable[str]) -> None:
    """Load what children can share: tokenizers, the catalog, price lists. What fails is left to them to report."""
    from service import catalog  # noqa: PLC0415
    from service.pricing.prices import price_input  # noqa: PLC0415
    from service.tokenizers import registry  # noqa: PLC0415

    for name in names:
        if name not in STARTS_THREADS:
            try:
                registry.get_tokenizer(name).count("Hello, world!")
            except ServiceError as error:
                LOG.error("not loaded", extra={"fields": {"what": name, "reason": error.message}})  # noqa: TRY400
    price_input(catalog.resolve("gpt-4o"), 1)
    gc.collect()
    gc.freeze()  # what is there stays: collections in children do not touch, and so copy, its pages


def _threads() -> int:
    """Of this process, those of engines included where the system tells."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


class Supervisor:
    """`run_child` serves in a child until it is stopped; it gets the reading end of the pipe that tells of our end."""

    def __init__(self, settings: Settings, listener: socket.socket, run_child: Callable[[int], None]) -> None:
        self.settings = settings
        self.listener = listener
        self.run_child = run_child
        self.children: dict[int, Child] = {}
        self.folder: Path | None = None
        self._signals: list[int] = []
        self._respawn_at: list[float] = []
        self._failures = 0
        self._grace_ends_at: float | None = None
        self._kill_at: float | None = None
        self._exit_code = 0

    def run(self) -> int:
        """Until everything has stopped; the exit code. Raises OSError where metrics have nowhere to be written."""
        self.folder = multiprocess.open_folder()
        preload(self.settings.warm)
        if _threads() > 1:
            raise RuntimeError("something started a thread before the workers were: they cannot be forked")
        self._parent_pipe = os.pipe()
        try:
            with self._catch_signals():
                for _ in range(self.settings.workers):
                    self._spawn()
                while self.children or self._respawn_at:
                    self._wait()
                    self._run_due()
        finally:
            gc.unfreeze()  # or what is frozen is torn down last, when modules that it needs are gone
            multiprocess.close_folder(self.folder)
        return self._exit_code

    # ------------------------------------------------------------ waiting

    @contextmanager
    def _catch_signals(self) -> Iterator[None]:
        """Signals wake `_wait` by a socket."""
        self._wakeup_sender, self._wakeup_receiver = socket.socketpair()
        for end in (self._wakeup_sender, self._wakeup_receiver):
            end.setblocking(False)

        def record(number: int, frame: FrameType | None) -> None:
            self._signals.append(number)

        before = {number: signal.signal(number, record) for number in SIGNALS}
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
        """For a signal, or until something is due."""
        due = [at for at in (self._grace_ends_at, self._kill_at, *self._respawn_at) if at is not None]
        timeout = max(0.0, min(due) - time.monotonic()) if due else None
        if not self._signals and select.select([self._wakeup_receiver], [], [], timeout)[0]:
            self._wakeup_receiver.recv(4096)

    def _run_due(self) -> None:
        while self._signals:
            self._on_signal(self._signals.pop(0))
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
        elif number == signal.SIGTERM and not self._stopping:
            self._stop(self.settings.grace_seconds)
        elif self._kill_at is not None and number == signal.SIGINT:
            self._signal_children(signal.SIGINT)  # they are closing; do not wait
        else:
            self._stop(0.0)

    # ------------------------------------------------------------ stopping

    @property
    def _stopping(self) -> bool:
        return self._grace_ends_at is not None or self._kill_at is not None

    def _stop(self, grace_seconds: float) -> None:
        if self._kill_at is not None:
            return
        if not self._stopping:
            LOG.info("stopping all", extra={"fields": {"workers": len(self.children)}})
            self._respawn_at.clear()
            self._signal_children(signal.SIGTERM)
        self._grace_ends_at = time.monotonic() + grace_seconds

    def _stop_accepting(self) -> None:
        """The grace is over: the children, which share the socket, accept what waits, and are told to finish."""
        self._grace_ends_at = None
        refuse_new_connections(self.listener)
        until = time.monotonic() + BACKLOG_SECONDS
        while has_pending_connections(self.listener) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        self.listener.close()
        self._signal_children(END_GRACE_SIGNAL)
        self._kill_at = time.monotonic() + self.settings.shutdown_seconds + KILL_SECONDS

    def _signal_children(self, number: int) -> None:
        for process_id in self.children:  # each is ours until it is waited for, so the id is nobody else's
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
        try:
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for end in (self._wakeup_sender, self._wakeup_receiver):
                end.close()
            os.close(self._parent_pipe[1])
            multiprocess.use_own_files()
            self.run_child(self._parent_pipe[0])
        except SystemExit as ended:  # uvicorn's word for an app that did not start
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
        """`code` is the exit code, or minus the number of the signal."""
        assert self.folder is not None
        multiprocess.merge_dead_worker(self.folder, child.process_id)
        if self._stopping:
            self._exit_code = self._exit_code or int(code != 0)
            return
        LOG.error("worker died", extra={"fields": {"process": child.process_id, "code": code}})
        if code == CANNOT_START:
            self._exit_code = 1
            self._stop(0.0)
            return
        lived = time.monotonic() - child.started_at
        self._failures = 0 if lived >= HEALTHY_SECONDS else self._failures + 1
        pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS) if self._failures else 0.0
        self._respawn_at.append(time.monotonic() + pause)
