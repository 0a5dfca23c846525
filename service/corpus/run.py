"""Counting a corpus from its beginning, or from where an earlier run was stopped."""

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
from service.corpus.counting import CountOptions
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
"""A smaller corpus is counted in this process, since starting others would take as long as counting it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for a corpus. `bytes` and `seconds` are those of this run, without the earlier run that it continues.
    """

    totals: Totals
    bytes: int
    seconds: float
    resumed: bool


def count_corpus(
    inputs: Sequence[Input], options: CountOptions, output: Path | None = None, *, workers: int = 1,
    resume: bool = False, on_progress: Callable[[int], None] = lambda _: None, stops: Stops | None = None,
) -> Outcome:
    """Count each record of the inputs. With an `output`, write a row for each, in order.

    `on_progress` is called with the number of bytes of the files that are done. Raises ServiceError where no record
    could be counted, CannotResume, ProcessDied, OSError where the output cannot be written, and Stopped where a signal
    stopped the run, after a checkpoint.
    """
    stops = stops or Stops()
    options.check()
    check_parquet(inputs, output)
    journal = None if output is None else Journal(output, describe_job(inputs, options), resume=resume)
    start, totals = (Position(), Totals()) if journal is None else (journal.position, journal.totals)
    resumed, before, began = start != Position(), totals.all.bytes, time.monotonic()
    try:
        if journal is None or journal.state == "counting":
            ends = _sum_sizes(inputs)
            workers = workers if _estimate_bytes_left(inputs, start) > ALONE_BYTES else 1
            batches = stops.between(read_batches(inputs, options.columns, start, options.limit))
            with closing(count_batches(batches, options, workers)) as counted:
                for batch, result in counted:
                    totals.add(result.totals)
                    if journal is not None:
                        journal.write(result.rows, batch.end)
                    on_progress(ends[batch.end.input] + batch.end.read)
        if journal is not None:
            with stops.at_once():  # writing a large table takes long
                journal.finish()
    except (Stopped, ProcessDied) as error:
        if stops.signal is None:
            raise
        if journal is not None:  # also where the same signal ended a counting process
            journal.checkpoint()
        raise Stopped(stops.signal, totals.all.records) from error
    finally:
        if journal is not None:
            journal.close()
    return Outcome(totals, totals.all.bytes - before, time.monotonic() - began, resumed)


def check_parquet(inputs: Sequence[Input], output: Path | None) -> None:
    """Raise InvalidRequest where Parquet is needed and pyarrow is not installed, or the output has another suffix."""
    if output is not None and output.suffix not in OUTPUTS:
        raise InvalidRequest(f"the output must end in {' or '.join(OUTPUTS)}.")
    wanted = any(item.form == "parquet" for item in inputs) or (output is not None and output.suffix == ".parquet")
    if wanted and importlib.util.find_spec("pyarrow") is None:
        raise InvalidRequest("Parquet needs pyarrow: pip install 'tallystick[parquet]'.")


def _sum_sizes(inputs: Sequence[Input]) -> list[int]:
    """The bytes of all files before each file, and of all files."""
    ends = [0]
    for item in inputs:
        ends.append(ends[-1] + item.bytes)
    return ends


def _estimate_bytes_left(inputs: Sequence[Input], start: Position) -> int:
    """About how many bytes are still to be counted. Compressed files are taken for four times their size."""
    return sum(item.bytes * (4 if item.packed or item.form == "parquet" else 1) for item in inputs[start.input:])


def describe_job(inputs: Sequence[Input], options: CountOptions) -> Mapping[str, Json]:
    """Everything that decides the rows. A run continues an earlier one only where all of it is the same."""
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
        "inputs": files.hexdigest(), "options": asdict(options), "tokenizer data and prices": data.hexdigest(),
        "version": __version__,
    }
