"""`tallystick fits` and `tallystick compare`: decisions about files, for people and for CI."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from service.errors import InvalidRequest

if TYPE_CHECKING:
    from service.budgets.budget import Decision, Verdict
    from service.pricing.prices import Quote
    from service.types import CountRequest, Json, TokenCount

FITS, DOES_NOT_FIT, CANNOT_DECIDE = 0, 1, 3

ALL_COMPARED, SOME_MISSING = 0, 1

EXIT_CODES_OF_FITS = f"""exit codes:
  {FITS}  every file fits
  {DOES_NOT_FIT}  one does not fit
  2  wrong usage: an unknown option or model
  {CANNOT_DECIDE}  of one it cannot be decided (no price, no window, not a text, damaged data), and no other is too much
"""

EXIT_CODES_OF_COMPARE = f"""exit codes:
  {ALL_COMPARED}  every model has its row
  {SOME_MISSING}  the file cannot be read, or a model cannot be counted for
  2  wrong usage
"""


def add_decision_parsers(commands: Any) -> None:
    form = argparse.RawDescriptionHelpFormatter
    fits = commands.add_parser(
        "fits", help="check that files fit a model's window, a number of tokens, an amount of money",
        epilog=EXIT_CODES_OF_FITS, formatter_class=form,
    )
    fits.add_argument("paths", nargs="+", metavar="FILE", help="file, folder, or - for standard input")
    fits.add_argument("-m", "--model", required=True, metavar="M", help="the model it is for")
    fits.add_argument("--max-tokens", type=_whole, metavar="N", help="most input tokens")
    fits.add_argument("--max-cost", metavar="USD", help="most US dollars for the input and --max-output together")
    fits.add_argument("--max-output", type=_whole, metavar="N", help="output tokens that will be asked for")
    fits.add_argument("--tier", default="standard", metavar="T", help="standard, batch, flex, priority or fast")
    fits.set_defaults(command=run_fits, names_models=True)

    compare = commands.add_parser(
        "compare", help="count a file for several models, the cheapest first",
        epilog=EXIT_CODES_OF_COMPARE, formatter_class=form,
    )
    compare.add_argument("path", metavar="FILE", help="file, or - for standard input")
    compare.add_argument(
        "-m", "--model", action="append", required=True, metavar="M", help="a model; repeatable, up to 50"
    )
    compare.add_argument("--output-tokens", type=_whole, default=0, metavar="N", help="output to be priced along")
    compare.set_defaults(command=run_compare, names_models=True)
    for parser in (fits, compare):
        parser.add_argument(
            "--request", action="store_true", help="files are whole request bodies (JSON), as a provider takes them"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")


def _whole(text: str) -> int:
    from service.dialects.values import MAX_TOKENS  # noqa: PLC0415

    if not text.isascii() or not text.isdigit() or int(text[:20]) > MAX_TOKENS:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {MAX_TOKENS} is needed")
    return int(text)


# ---------------------------------------------------------------- files


def _texts(paths: list[str]) -> Iterator[tuple[str, str | None]]:
    """Path and text of each file. What is no text or cannot be read is told on stderr, and is None where it was named:
    in a folder it is only left out."""
    from service.cli.files import NotText, find_sources, read_text  # noqa: PLC0415

    for path in paths:
        try:
            for source in find_sources([path]):
                try:
                    yield source.path, read_text(source)
                except NotText as reason:
                    _say(f"{source.path}: {reason}")
                    if source.named:
                        yield source.path, None
        except OSError as error:
            _say(f"{path}: {error.strerror or 'cannot be read'}")
            yield path, None


def _request(text: str, model: str, *, whole: bool) -> CountRequest:
    from service.dialects import native  # noqa: PLC0415
    from service.dialects.json import read_json  # noqa: PLC0415

    if not whole:
        return native.read({"model": model, "text": text})
    body, _ = read_json(text.encode("utf-8", "surrogatepass"))
    return native.read({"model": model, "request": body})


def _say(message: str) -> None:
    print(f"tallystick: {message}", file=sys.stderr)


# ---------------------------------------------------------------- fits


def run_fits(arguments: argparse.Namespace) -> int:
    from service import catalog  # noqa: PLC0415
    from service.budgets.budget import Limit, check_budget  # noqa: PLC0415
    from service.counting.counter import Counter  # noqa: PLC0415
    from service.dialects.values import parse_money, parse_tier  # noqa: PLC0415

    limit = Limit(
        arguments.max_tokens, arguments.max_output, parse_money(arguments.max_cost, "--max-cost"),
        parse_tier(arguments.tier, "--tier"),
    )
    model, counter = catalog.resolve(arguments.model), Counter.in_memory(0)
    judged: list[tuple[str, TokenCount, Verdict]] = []
    decisions: set[Decision] = set()
    for path, text in _texts(arguments.paths):
        try:
            count = None if text is None else counter.count(_request(text, arguments.model, whole=arguments.request))
        except InvalidRequest as error:
            _say(f"{path}: {error.message}")
            count = None
        if count is None:
            decisions.add("cannot_decide")
            continue
        verdict = check_budget(count, model, limit)
        decisions.add(verdict.decision)
        judged.append((path, count, verdict))
        for finding in verdict.findings:
            if not finding.fits:
                _say(f"{path}: {finding.constraint}: {finding.reason}")
    _print_verdicts(judged, as_json=arguments.json)
    return DOES_NOT_FIT if "does_not_fit" in decisions else CANNOT_DECIDE if "cannot_decide" in decisions else FITS


def _print_verdicts(judged: list[tuple[str, TokenCount, Verdict]], *, as_json: bool) -> None:
    from service import catalog  # noqa: PLC0415
    from service.answers.cost import verdict_json  # noqa: PLC0415
    from service.cli.count import UNKNOWN, print_columns  # noqa: PLC0415

    if as_json:
        files = [
            {"path": path, **verdict_json(verdict, count, catalog.resolve(count.model_ref or ""))}
            for path, count, verdict in judged
        ]
        _print_json({"files": files})
        return
    rows = [
        (
            path, verdict.decision, str(count.high), _usd(verdict.quote),
            UNKNOWN if verdict.largest_output is None else str(verdict.largest_output),
        )
        for path, count, verdict in judged
    ]
    print_columns(("file", "decision", "tokens at most", "USD", "largest output"), rows, right_from=2)


# ---------------------------------------------------------------- compare


def run_compare(arguments: argparse.Namespace) -> int:
    from service import catalog  # noqa: PLC0415
    from service.answers.cost import row_json  # noqa: PLC0415
    from service.cli.count import UNKNOWN, print_columns  # noqa: PLC0415
    from service.counting.counter import Counter  # noqa: PLC0415
    from service.pricing.compare import MAX_MODELS, compare  # noqa: PLC0415
    from service.pricing.prices import plain  # noqa: PLC0415

    if len(arguments.model) > MAX_MODELS:
        raise InvalidRequest(f"at most {MAX_MODELS} models are compared at once.")
    if os.path.isdir(arguments.path):
        raise InvalidRequest(f"{arguments.path} is a folder: compare takes one file, or - for standard input.")
    texts = list(_texts([arguments.path]))
    if len(texts) != 1 or texts[0][1] is None:
        return SOME_MISSING
    text, counter = texts[0][1], Counter.in_memory(0)

    def count(model: str) -> TokenCount:
        return counter.count(_request(text, model, whole=arguments.request))

    rows = compare(arguments.model, count, catalog.resolve, arguments.output_tokens)
    if arguments.json:
        _print_json({"rows": [row_json(row) for row in rows]})
    else:
        cells = [
            (
                row.model_ref, str(row.count.input_tokens), row.count.method, _usd(row.quote),
                UNKNOWN if row.window_share is None else plain(row.window_share),
            )
            for row in rows if row.count is not None
        ]
        print_columns(("model", "tokens", "method", "USD", "share of window"), cells, right_from=1)
    failed = [row for row in rows if row.error is not None]
    for row in failed:
        _say(f"{row.model_ref}: {row.error.message if row.error else ''}")
    return SOME_MISSING if failed else ALL_COMPARED


def _usd(quote: Quote | None) -> str:
    from service.cli.count import UNKNOWN  # noqa: PLC0415
    from service.pricing.prices import plain  # noqa: PLC0415

    return UNKNOWN if quote is None or quote.total is None else plain(quote.total)


def _print_json(value: Json) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))
