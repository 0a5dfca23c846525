"""`tallystick count`: the tokens of files, counted by the same Counter as in the service, one text at a time."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from service.cli.files import STDIN, NotText, Source, find_sources, read_text
from service.cli.operator_files import use_operator_files
from service.cli.output import OK, UNCOUNTED, UNKNOWN, USAGE, fail, print_columns, print_json, print_message
from service.counting.counter import Counter
from service.pricing.prices import format_decimal
from service.types import CountRequest, Json, TokenCount

PROGRESS_AFTER_SECONDS = 0.5
PROGRESS_AFTER_BYTES = 16 << 20
"""Work that is shorter and smaller than both has no progress bar."""


@dataclass(frozen=True, slots=True)
class FileTally:
    """The counts of one file, in the order of the targets."""

    path: str
    counts: tuple[TokenCount, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not counted. `named` says that the user named it, which makes it a failure."""

    path: str
    reason: str
    named: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted. `targets` are the models and tokenizers as the user wrote them. `models` are the indices of
    those that are models: only they have a price."""

    targets: tuple[str, ...]
    models: tuple[int, ...]
    files: tuple[FileTally, ...]
    skipped: tuple[Skipped, ...]

    def totals(self) -> tuple[int, ...]:
        """The tokens of all files, by target."""
        return tuple(sum(file.counts[i].input_tokens for file in self.files) for i in range(len(self.targets)))

    def total_cost(self, target: int) -> Decimal | None:
        """US dollars for all files, or None where the price of one is not known."""
        costs = [file.counts[target].cost for file in self.files]
        known = [cost.usd for cost in costs if cost is not None]
        return sum(known, start=Decimal(0)) if len(known) == len(costs) else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="FILE", help="file, folder, or - for standard input")
    parser.add_argument(
        "-m", "--model", action="append", default=[], metavar="M", help="count for this model; repeatable"
    )
    parser.add_argument(
        "-t", "--tokenizer", action="append", default=[], metavar="T", help="count with this tokenizer; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run_count)


def run_count(arguments: argparse.Namespace) -> int:
    use_operator_files()
    paths = arguments.paths or ([] if sys.stdin.isatty() else ["-"])
    if not paths:
        return fail("name a file or folder to count, or pipe text in.", USAGE)
    if not arguments.model and not arguments.tokenizer:
        return fail("say what to count for: --model M or --tokenizer T.", USAGE)
    targets = make_targets(arguments.model, arguments.tokenizer)
    result = count_files(paths, targets)
    if arguments.json:
        print_json(as_json(result))
    else:
        print_table(result)
    for skipped in result.skipped:
        print_message(f"skipped {skipped.path}: {skipped.reason}")
    return UNCOUNTED if any(skipped.named for skipped in result.skipped) else OK


def make_targets(models: Iterable[str], tokenizers: Iterable[str]) -> tuple[CountRequest, ...]:
    """A request for each target, without its text."""
    return (
        *(CountRequest(model_ref=model) for model in models),
        *(CountRequest(tokenizer=tokenizer) for tokenizer in tokenizers),
    )


def count_files(paths: list[str], targets: Sequence[CountRequest]) -> Tally:
    """Count every file for every target. Raises ServiceError for an unknown target or damaged data."""
    counter = Counter.in_memory(0)
    for target in targets:  # so that an unknown name is found before an hour of counting
        counter.count(replace(target, texts=("",)))
    files: list[FileTally] = []
    skipped: list[Skipped] = []
    for source in _with_progress(_existing(paths, skipped)):
        try:
            text = read_text(source)
        except NotText as reason:
            skipped.append(Skipped(source.path, str(reason), source.named))
        except OSError as error:
            skipped.append(Skipped(source.path, error.strerror or "cannot be read", source.named))
        else:
            counts = tuple(counter.count(replace(target, texts=(text,))) for target in targets)
            files.append(FileTally(source.path, counts))
    names = tuple(target.model_ref or target.tokenizer or "" for target in targets)
    models = tuple(i for i, target in enumerate(targets) if target.model_ref is not None)
    return Tally(names, models, tuple(files), tuple(skipped))


def _existing(paths: list[str], skipped: list[Skipped]) -> list[Source]:
    found: list[Source] = []
    for path in paths:
        try:
            found.extend(find_sources([path]))
        except OSError as error:
            skipped.append(Skipped(path, error.strerror or "cannot be read", named=True))
    return found


def _with_progress(sources: list[Source]) -> Iterator[Source]:
    """The sources. Where stderr is a terminal and the work takes a while, it shows a progress bar of bytes."""
    if not sys.stderr.isatty():
        yield from sources
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )
    total = sum(source.bytes for source in sources)
    task = bar.add_task("counting", total=total)
    began = time.monotonic()
    try:
        for source in sources:
            if total > PROGRESS_AFTER_BYTES or time.monotonic() - began > PROGRESS_AFTER_SECONDS:
                bar.start()
            yield source
            bar.advance(task, source.bytes)
    finally:
        bar.stop()


# ---------------------------------------------------------------- showing


def as_json(tally: Tally) -> Json:
    return {
        "files": [
            {
                "path": file.path,
                "counts": [
                    {
                        "for": target,
                        "model": count.model,
                        "tokenizer": count.tokenizer,
                        "input_tokens": count.input_tokens,
                        "method": count.method,
                        "error_band": {"low": count.low, "high": count.high},
                        "cost": count.cost and {
                            "currency": "USD", "input": format_decimal(count.cost.usd),
                            "price_status": count.cost.price_status, "prices_version": count.cost.prices_version,
                        },
                    }
                    for target, count in zip(tally.targets, file.counts, strict=True)
                ],
            }
            for file in tally.files
        ],
        "totals": [
            {"for": target, "input_tokens": total, "cost_usd": _usd(tally.total_cost(i)) if i in tally.models else None}
            for i, (target, total) in enumerate(zip(tally.targets, tally.totals(), strict=True))
        ],
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in tally.skipped],
    }


def print_table(tally: Tally) -> None:
    """One line for each file, and a line of totals for several: tokens by target, then the cost by model."""
    shown, number = (_with_band, "{:,}".format) if sys.stdout.isatty() else (_bare, str)
    rows = [
        (
            "(standard input)" if file.path == STDIN else file.path, *(shown(count) for count in file.counts),
            *(_cost(file.counts[i]) for i in tally.models),
        )
        for file in tally.files
    ]
    if len(rows) > 1:
        costs = (_usd(tally.total_cost(i)) or UNKNOWN for i in tally.models)
        rows.append((f"total of {len(rows)} files", *(number(total) for total in tally.totals()), *costs))
    titles = ("file", *tally.targets, *(f"{tally.targets[i]} USD" for i in tally.models))
    print_columns(titles, rows, right_from=1)




def _usd(amount: Decimal | None) -> str | None:
    return None if amount is None else format_decimal(amount)


def _cost(count: TokenCount) -> str:
    return UNKNOWN if count.cost is None else format_decimal(count.cost.usd)


def _bare(count: TokenCount) -> str:
    return str(count.input_tokens)


def _with_band(count: TokenCount) -> str:
    shown = f"{count.input_tokens:,}"
    return shown if count.low == count.high else f"{shown} ({count.low:,} to {count.high:,})"
