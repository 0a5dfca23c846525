"""Metrics of several workers: each writes numbers into files of its own, a scrape adds them up (prometheus_client's
multiprocess mode).

Counters never fall: what a worker counted stays when it dies, merged into one file for all the dead, so that a worker
that dies over and over leaves no heap of files. Its gauges go. Scrapes hold a shared lock and merging an exclusive
one: no scrape sees a number twice, or not at all.
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
"""The library's own variable: where it is set, this process is one of several."""

LOCK = "lock"

DEAD = "0"
"""Stands in a file's name for the process ids of all the dead; no process has it."""

SUMMED = ("counter", "histogram")
"""Kinds of which we have any, and that outlive their process."""


def open_folder() -> Path:
    """Make a folder for the workers of this process; their metrics, made from now on, go there. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix="tallystick-metrics-"))
    (folder / LOCK).touch()
    os.environ[FOLDER] = str(folder)
    use_own_files()
    return folder


def use_own_files() -> None:
    """Let this process begin files of its own: to be called in a worker before it makes metrics."""
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


def close_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop(FOLDER, None)


def read_all_workers() -> CollectorRegistry | None:
    """Everything that the workers wrote, read now; None where this process is the only one."""
    path = os.environ.get(FOLDER)
    if path is None:
        return None
    registry = CollectorRegistry()
    registry.register(_LockedCollector(Path(path)))
    return registry


class _LockedCollector(MultiProcessCollector):
    """Reads all files under the shared lock."""

    def __init__(self, folder: Path) -> None:
        super().__init__(None, str(folder))  # type: ignore[no-untyped-call]
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        with _locked(self._folder, fcntl.LOCK_SH):
            return tuple(super().collect())  # type: ignore[no-untyped-call]


def merge_dead_worker(folder: Path, process_id: int) -> None:
    """A worker has died: its gauges go, its sums join those of the dead. Only the process that made the folder."""
    with _locked(folder, fcntl.LOCK_EX):
        mark_process_dead(process_id, str(folder))  # type: ignore[no-untyped-call]
        for kind in SUMMED:
            file = folder / f"{kind}_{process_id}.db"
            if file.exists():
                _add(file, folder / f"{kind}_{DEAD}.db")
                file.unlink()


def _add(file: Path, total_file: Path) -> None:
    total = MmapedDict(str(total_file))  # type: ignore[no-untyped-call]
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            before, _ = total.read_value(key)  # type: ignore[no-untyped-call]
            total.write_value(key, before + value, 0.0)  # type: ignore[no-untyped-call]
    finally:
        total.close()  # type: ignore[no-untyped-call]


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """The folder's lock file may be missing where somebody else made the folder."""
    with (folder / LOCK).open("a") as file:
        fcntl.flock(file, how)
        yield
