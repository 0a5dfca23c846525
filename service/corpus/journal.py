"""Writing the output, so that a run that was killed at any moment can continue without losing or repeating a record.

`X.part` holds the rows as JSON lines. `X.summary.json` holds the sums, the place in the corpus that they reach, and the
length of `X.part` at that time. What `X.part` has beyond that is cut off when a run continues. Rows are on the disk
before the summary that counts them, and a summary is replaced as a whole. At the end `X.part` becomes `X`: it is
renamed, or converted to Parquet.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Literal

from service.corpus.batches import Position
from service.corpus.counting import COLUMNS
from service.corpus.inputs import PART, SUMMARY
from service.corpus.totals import Totals, as_json, from_json
from service.types import Json

CHECKPOINT_SHARE = 20
"""The time between two checkpoints is this many times the time that one takes, so that at most 5% is spent on them."""

State = Literal["counting", "counted", "finished"]
"""`counted`: all rows are in X.part, or already in X. `finished`: X is complete."""


class CannotResume(Exception):
    """The output cannot be written as asked. The message says why."""


class Journal:
    """The output of one run. It begins at `position` with `totals`, where an earlier run of the same `job` stopped.

    A job (name -> JSON) is everything that decides the rows. A run continues only with the same job. Raises
    CannotResume and OSError.
    """

    def __init__(self, output: Path, job: Mapping[str, Json], *, resume: bool) -> None:
        self.output = output
        self._job = dict(job)
        self._part, self._summary = (output.with_name(output.name + end) for end in (PART, SUMMARY))
        self.state: State = "counting"
        self.position, self.totals, self._length = Position(), Totals(), 0
        if resume and self._summary.exists():
            self._read()
        else:
            self._check_is_new(resume)
        self._file: IO[bytes] | None = self._open() if self.state == "counting" else None
        self._took = self._written = 0.0
        if self._file is not None and not self._summary.exists():
            self.checkpoint()

    def _check_is_new(self, resume: bool) -> None:
        if self._summary.exists():
            raise CannotResume(
                f"{self._summary} is there already, of an earlier run: --resume goes on with it; or name another "
                "output, or remove what is there to start anew"
            )
        # an empty part file is of a run that was killed before its first summary
        begun = resume and self._part.exists() and self._part.stat().st_size == 0
        for path in (self.output, *(() if begun else (self._part,))):
            if path.exists():
                raise CannotResume(f"{path} is there already: name another output, or remove it")

    def _read(self) -> None:
        try:
            told = json.loads(self._summary.read_bytes())
            state, job, length = told["state"], told["job"], told["length"]
            position, totals = Position(**told["position"]), from_json(told)
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
            raise CannotResume(f"{self._summary} cannot be read; remove it and {self._part} to start anew") from None
        other = sorted(name for name in {*job, *self._job} if job.get(name) != self._job.get(name))
        if other:
            raise CannotResume(
                f"{self.output} is of another job ({', '.join(other)} changed): name another output, or remove "
                f"{self._summary} and what is beside it to start anew"
            )
        if state == "finished" and not self.output.exists():
            raise CannotResume(f"{self.output} was finished and is gone; remove {self._summary} to start anew")
        self.state, self.position, self.totals, self._length = state, position, totals, length

    def _open(self) -> IO[bytes]:
        """X.part, locked, and cut off behind the rows that the summary counts."""
        if self._length and not self._part.exists():
            raise CannotResume(f"{self._part} is gone; remove {self._summary} to start anew")
        file = open(self._part, "ab")  # noqa: SIM115 - closed by `close`
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise CannotResume(f"{self._part} is being written by another run") from None
        if os.fstat(file.fileno()).st_size < self._length:
            file.close()
            raise CannotResume(f"{self._part} is damaged; remove it and {self._summary} to start anew")
        file.truncate(self._length)
        return file

    # ------------------------------------------------------------ writing

    def write(self, rows: bytes, end: Position) -> None:
        """Append rows. `end` is the position after them."""
        if self._file is not None:
            self._file.write(rows)
            self._length += len(rows)
            self.position = end
            if time.monotonic() - self._written > CHECKPOINT_SHARE * self._took:
                self.checkpoint()

    def checkpoint(self) -> None:
        """Save what was written until now, so that it is not counted again."""
        began = time.monotonic()
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
        self._write_summary()
        self._written = time.monotonic()
        self._took = self._written - began

    def _write_summary(self) -> None:
        told = as_json(self.totals) | {
            "state": self.state, "output": self.output.name, "job": self._job, "length": self._length,
            "position": asdict(self.position),
        }
        unfinished = self._summary.with_name(f"{self._summary.name}.tmp")
        try:
            with open(unfinished, "wb") as file:
                file.write(json.dumps(told, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, self._summary)
        finally:
            unfinished.unlink(missing_ok=True)

    def finish(self) -> None:
        """Make the output complete, unless an earlier run did."""
        if self.state == "counting":
            self.state = "counted"
            self.checkpoint()
        if self.state == "counted":
            self._publish()
            self.state = "finished"
            self._write_summary()
        self._part.unlink(missing_ok=True)

    def _publish(self) -> None:
        if not self._part.exists():
            if not self.output.exists():
                raise CannotResume(f"{self._part} is gone; remove {self._summary} to start anew")
            return
        if self.output.suffix == ".parquet":
            from service.corpus.tables import write_rows

            write_rows(self._part, self.output, COLUMNS)
        else:
            os.replace(self._part, self.output)
        with suppress(OSError):  # not every file system can sync a folder
            folder = os.open(self.output.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):  # rows that no summary counts do not matter
                file.close()
