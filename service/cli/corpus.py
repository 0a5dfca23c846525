"""`tallystick count-corpus`: counting each record of a corpus with all cores, in limited memory, resumable."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from service.cli.operator_files import use_operator_files
from service.cli.output import DAMAGED, UNKNOWN, USAGE, fail, print_columns, print_json, print_message
from service.corpus.counting import CountOptions
from service.corpus.inputs import FORMS, PART, SUMMARY, Input, find_inputs
from service.corpus.journal import CannotResume
from service.corpus.pool import ProcessDied, usable_cores
from service.corpus.run import Outcome, count_corpus
from service.corpus.stops import Stopped, Stops
from service.corpus.totals import Sums, as_json
from service.pricing.prices import format_decimal

ALL_COUNTED, SOME_FAILED = 0, 1

STOPPED = 128
"""The exit code is this and the number of the signal, as in shells: 130 for SIGINT, 143 for SIGTERM."""

EPILOG = f"""forms, by the suffix or by --format (which is then that of every file):
  jsonl    .jsonl .ndjson   a JSON value a line; blank lines are no records
  json     .json            a JSON value a file
  parquet  .parquet         a row; needs pip install 'tallystick[parquet]'
  text     .txt             a text a line, empty ones too (also any other file that is named)
  file                      a text a file
All but Parquet may be compressed: .gz, and with 'tallystick[zstd]' or Python 3.14 .zst. A folder is searched for these
suffixes, all the way down; hidden entries and what this command wrote are left out. A file is counted once, however
often it is named.

In jsonl, json and parquet the text is at --field (default: text), a dotted path such as messages.0.content. With
--request a record is a whole request body as a provider takes it, in any dialect, or what is at --field is one: for
OpenAI's batch files, --request --field body --id custom_id.

An output has a row a record, in order, with these columns:
  file, row, id, model, tokenizer, input_tokens, method, low, high, cost_usd, error, reason
A record that cannot be counted (it is no JSON, lacks the field, is longer than 32 MiB, ...) has error and reason in its
row and does not stop the run; a file that cannot be read has a row whose number is null.

X.summary.json, beside output X, has the sums; until the end rows are in X.part. With --resume a run that was stopped or
killed goes on, if inputs, options, tokenizer data and prices are what they were; one that was not begun is begun.
Ctrl-C and SIGTERM save a checkpoint of all that is counted, then end it (a second one, a second later: at once). After
kill -9 it goes on at the last checkpoint: the time between two is 20 times what one takes, so with a disk that takes
10 ms for one, what 0.2 s had counted is counted again.

exit codes:
  {ALL_COUNTED}  every record was counted
  {SOME_FAILED}  some records or files were not, or the output cannot be written
  {USAGE}  wrong usage: an unknown option, model or tokenizer, another job's output
  {DAMAGED}  tokenizer data is missing or damaged
  130, 143  stopped by Ctrl-C, by SIGTERM
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="file, folder or pattern ('data/**/*.jsonl')")
    parser.add_argument("-m", "--model", metavar="M", help="count for this model")
    parser.add_argument("-t", "--tokenizer", metavar="T", help="count with this tokenizer")
    parser.add_argument("--request", action="store_true", help="records are whole request bodies")
    parser.add_argument("--field", metavar="PATH", help="where the text, or the body, is in a record")
    parser.add_argument("--id", metavar="PATH", help="where an id is, to be written into the record's row")
    parser.add_argument("--format", metavar="FORM", help="jsonl, json, parquet, text or file, whatever the suffix")
    parser.add_argument("-o", "--output", type=Path, metavar="X", help="rows of counts: X.jsonl or X.parquet")
    parser.add_argument("--workers", type=_number, metavar="N", help="processes that count (default: the cores)")
    parser.add_argument("--resume", action="store_true", help="go on where an earlier run was stopped")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(command=run_count_corpus)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:4]) <= 256 or len(text) > 3:
        raise argparse.ArgumentTypeError("a number from 1 to 256 is needed")
    return int(text)


def run_count_corpus(arguments: argparse.Namespace) -> int:
    use_operator_files()
    output: Path | None = arguments.output
    if arguments.format not in (None, *FORMS):
        return fail(f"--format is one of {', '.join(FORMS)}.", USAGE)
    if "-" in arguments.inputs:
        return fail("standard input is read once, by `tallystick count`: name files.", USAGE)
    if arguments.resume and output is None:
        return fail("--resume goes on with an output: name it with --output.", USAGE)
    own = [] if output is None else [os.path.realpath(f"{output}{end}") for end in ("", PART, SUMMARY)]
    if any(os.path.realpath(name) in own for name in arguments.inputs):
        return fail("the output is one of the inputs: name another.", USAGE)
    options = CountOptions(
        arguments.model, arguments.tokenizer, arguments.field or (None if arguments.request else "text"),
        arguments.request, arguments.id,
    )
    inputs = find_inputs(arguments.inputs, arguments.format, own)
    try:
        with Stops() as stops, _progress(inputs) as on_progress:
            outcome = count_corpus(
                inputs, options, output, workers=arguments.workers or usable_cores(), resume=arguments.resume,
                on_progress=on_progress, stops=stops,
            )
    except CannotResume as error:
        return fail(f"{error}.", USAGE)
    except ProcessDied:
        return fail(f"a counting process was killed (was memory short?){_way_on(output)}.", SOME_FAILED)
    except OSError as error:
        return fail(f"cannot write {output}: {error.strerror}{_way_on(output)}.", SOME_FAILED)
    except Stopped as stopped:
        return fail(f"stopped after {stopped.records} records{_way_on(output)}.", STOPPED + stopped.signal)
    except KeyboardInterrupt:
        return fail(f"stopped{_way_on(output)}.", STOPPED + (stops.signal or signal.SIGINT))
    (_print_summary if arguments.json else _print_table)(outcome)
    return ALL_COUNTED if outcome.totals.is_clean else SOME_FAILED


def _way_on(output: Path | None) -> str:
    """How to continue, for messages. "" where nothing was begun."""

    return "" if output is None or not os.path.exists(f"{output}{SUMMARY}") else "; --resume goes on"


@contextmanager
def _progress(inputs: list[Input]) -> Iterator[Callable[[int], None]]:
    """A function that takes the number of bytes done. It shows a progress bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("counting", total=sum(item.bytes for item in inputs))
        yield lambda done: bar.update(task, completed=done)


# ---------------------------------------------------------------- showing


def _print_table(outcome: Outcome) -> None:
    """One line for each model, and a line of totals. Failures and the speed go to stderr."""

    def cells(name: str, sums: Sums) -> tuple[str, ...]:
        cost = UNKNOWN if sums.cost is None else format_decimal(sums.cost)
        return (name, *map(str, (sums.records, sums.failed, sums.input_tokens, sums.bytes)), cost)

    totals, all_sums = outcome.totals, outcome.totals.all
    rows = [cells(name, sums) for name, sums in totals.by_model.items()]
    if len(rows) != 1:
        rows.append(cells("total", all_sums))
    print_columns(("model", "records", "failed", "tokens", "bytes", "USD"), rows, right_from=1)
    for failure in totals.first:
        print_message(f"{failure.file}{'' if failure.row is None else f':{failure.row}'}: {failure.reason}")
    if not totals.is_clean:
        kinds = ", ".join(f"{code} {number}" for code, number in sorted(totals.codes.items()))
        print_message(f"not counted: {all_sums.failed} records, {totals.failed_files} files ({kinds})")
    if outcome.resumed and not outcome.bytes:
        print_message("an earlier run has counted all of it")
        return
    print_message(f"{outcome.bytes:,} bytes in {outcome.seconds:,.1f} s: {_speed(outcome):,.1f} MB/s")


def _print_summary(outcome: Outcome) -> None:

    told = as_json(outcome.totals) | {
        "this_run": {
            "resumed": outcome.resumed, "bytes": outcome.bytes, "seconds": round(outcome.seconds, 3),
            "mb_per_second": round(_speed(outcome), 3),
        },
    }
    print_json(told)


def _speed(outcome: Outcome) -> float:
    return outcome.bytes / 1e6 / outcome.seconds if outcome.seconds else 0.0
