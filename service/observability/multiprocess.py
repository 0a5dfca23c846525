"""Metrics of several workers. Each worker writes files of its own, and a scrape adds them up (prometheus_client's
multiprocess mode).

Counters never fall. When a worker dies, its counters and histograms are merged into one file for all dead workers, so
that a worker that dies again and again does not fill the folder. Its gauges are deleted. A scrape holds a shared lock
and a merge an exclusive one, so that no scrape sees a number twice or misses one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, values
from prometheus_client.core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""An environment variable of the library. When it is set, this process is one of several workers."""

LOCK = "lock"

DEAD_WORKERS = "0"
"""Takes the place of the process id in the name of the file for all dead workers. No process has this id."""

KEPT_KINDS = ("counter", "histogram")
"""The kinds of metrics that outlive their process, of those that we have."""


def open_folder() -> Path:
    """Make a folder for metrics. Metrics that this process and its children make from now on are written there.

    Raises OSError.
    """
    folder = Path(tempfile.mkdtemp(prefix="tallystick-metrics-"))
    (folder / LOCK).touch()
    os.environ[FOLDER] = str(folder)
    use_own_files()
    return folder


def use_own_files() -> None:
    """Let this process write files of its own. Call it in a worker before the worker makes metrics."""
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


def close_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop(FOLDER, None)


def read_all_workers() -> CollectorRegistry | None:
    """Everything that the workers have written; it is read when it is collected. None when there is one process."""
    path = os.environ.get(FOLDER)
    if path is None:
        return None
    registry = CollectorRegistry()
    registry.register(_LockedCollector(Path(path)))
    return registry


class _LockedCollector(MultiProcessCollector):
    """Reads all files while it holds the shared lock."""

    def __init__(self, folder: Path) -> None:
        super().__init__(None, str(folder))  # type: ignore[no-untyped-call]
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        with _locked(self._folder, fcntl.LOCK_SH):
            return tuple(super().collect())  # type: ignore[no-untyped-call]


def merge_dead_worker(folder: Path, process_id: int) -> None:
    """Delete the gauges of a worker that died, and add its counters to those of all dead workers.

    Only the process that made the folder may call this.
    """
    with _locked(folder, fcntl.LOCK_EX):
        mark_process_dead(process_id, str(folder))  # type: ignore[no-untyped-call]
        for kind in KEPT_KINDS:
            file = folder / f"{kind}_{process_id}.db"
            if file.exists():
                _merge_file(file, folder / f"{kind}_{DEAD_WORKERS}.db")
                file.unlink()


def _merge_file(file: Path, total_file: Path) -> None:
    total = MmapedDict(str(total_file))  # type: ignore[no-untyped-call]
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            before, _ = total.read_value(key)  # type: ignore[no-untyped-call]
            total.write_value(key, before + value, 0.0)  # type: ignore[no-untyped-call]
    finally:
        total.close()  # type: ignore[no-untyped-call]


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """Hold the lock of the folder, shared (LOCK_SH) or exclusive (LOCK_EX). Makes the lock file if there is none."""
    with (folder / LOCK).open("a") as file:
        fcntl.flock(file, how)
        yield
