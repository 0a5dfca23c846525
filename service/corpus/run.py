"""Counting a corpus from beginning to end, or from where an earlier run of the same was stopped."""

from __future__ import annotations

import hashlib
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from service import __version__, catalog
from service.corpus.batches import Position, read_batches
from service.corpus.counting import Question
from service.corpus.inputs import Input
from service.corpus.journal import Journal
from service.corpus.pool import ProcessDied, count_batches
from service.corpus.stops import Stopped, Stops
from service.corpus.totals import Totals
from service.errors import InvalidRequest
from service.tokenizers.registry import describe_tokenizers
from service.types import Json

OUTPUTS = (".jsonl", ".parquet")

ALONE_BYTES = 32 << 20
"""A corpus that is smaller is counted by this process: starting others takes as long as counting it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a corpus came to. `bytes` and `seconds` are of this run alone, which began where an earlier one stopped."""

    totals: Totals
    bytes: int
    seconds: float
    resumed: bool


def count_corpus(
    inputs: Sequence[Input], question: Question, output: Path | None = None, *, workers: int = 1, resume: bool = False,
    on_progress: Callable[[int], None] = lambda _: None, stops: Stops | None = None,
) -> Outcome:
    """Count every record of the inputs and, with an `output`, write a row for each, in order.

    `on_progress` hears how many bytes of the files are done. Raises ServiceError (nothing could be counted),
    CannotResume, ProcessDied, OSError where the output cannot be written, and Stopped where `stops` was asked to stop:
    after a checkpoint.
    """
    stops = stops or Stops()
    question.check()
    check_parquet(inputs, output)
    journal = None if output is None else Journal(output, job_of(inputs, question), resume=resume)
    start, totals = (Position(), Totals()) if journal is None else (journal.position, journal.totals)
    resumed, before, began = start != Position(), totals.all.bytes, time.monotonic()
    try:
        if journal is None or journal.state == "counting":
            ends = _ends(inputs)
            workers = workers if _left(inputs, start) > ALONE_BYTES else 1
            batches = stops.between(read_batches(inputs, question.columns, start, question.limit))
            with closing(count_batches(batches, question, workers)) as counted:
                for batch, result in counted:
                    totals.add(result.totals)
                    if journal is not None:
                        journal.write(result.rows, batch.end)
                    on_progress(ends[batch.end.input] + batch.end.read)
        if journal is not None:
            with stops.at_once():  # a table is written for as long as it is large
                journal.finish()
    except (Stopped, ProcessDied) as error:
        if stops.signal is None:
            raise
        if journal is not None:  # also of a process that the same signal ended
            journal.checkpoint()
        raise Stopped(stops.signal, totals.all.records) from error
    finally:
        if journal is not None:
            journal.close()
    return Outcome(totals, totals.all.bytes - before, time.monotonic() - began, resumed)


def check_parquet(inputs: Sequence[Input], output: Path | None) -> None:
    """Raise InvalidRequest where Parquet is asked for and cannot be read or written."""
    if output is not None and output.suffix not in OUTPUTS:
        raise InvalidRequest(f"the output must end in {' or '.join(OUTPUTS)}.")
    wanted = any(item.form == "parquet" for item in inputs) or (output is not None and output.suffix == ".parquet")
    if wanted and importlib.util.find_spec("pyarrow") is None:
        raise InvalidRequest("Parquet needs pyarrow: pip install 'tallystick[parquet]'.")


def _ends(inputs: Sequence[Input]) -> list[int]:
    """Bytes of the files before each, and of all."""
    ends = [0]
    for item in inputs:
        ends.append(ends[-1] + item.bytes)
    return ends


def _left(inputs: Sequence[Input], start: Position) -> int:
    """Bytes that are to be counted, more or less: what is compressed holds more than it is long."""
    return sum(item.bytes * (4 if item.packed or item.form == "parquet" else 1) for item in inputs[start.input:])


def job_of(inputs: Sequence[Input], question: Question) -> Mapping[str, Json]:
    """What makes the rows what they are: a run goes on only where all of it is the same."""
    files = hashlib.sha256()
    for item in inputs:
        files.update(f"{item.shown}\0{item.form}\0{item.bytes}\0{item.mtime_ns}\0".encode())
    data = hashlib.sha256()
    for tokenizer in describe_tokenizers():
        data.update(f"{tokenizer.name}\0{tokenizer.revision}\0".encode())
    now = catalog.current()
    data.update(f"{catalog.version()}\0{sorted(now.aliases.items())}\0".encode())
    data.update(now.file.read_bytes() if now.file is not None else b"")
    return {
        "inputs": files.hexdigest(), "options": asdict(question), "tokenizer data and prices": data.hexdigest(),
        "version": __version__,
    }
