"""`tallystick fits`: whether files fit a window, a number of tokens, an amount of money. For people and for CI."""

from __future__ import annotations

import argparse

from service import catalog
from service.answers.cost import verdict_json
from service.budgets.budget import Decision, Limit, Verdict, check_budget
from service.cli.decisions import add_request_arguments, format_usd, make_request, parse_whole_number, read_texts
from service.cli.operator_files import use_operator_files
from service.cli.output import UNKNOWN, print_columns, print_json, print_message
from service.counting.counter import Counter
from service.dialects.values import parse_money, parse_tier
from service.errors import InvalidRequest
from service.types import TokenCount

FITS, DOES_NOT_FIT, CANNOT_DECIDE = 0, 1, 3

EXIT_CODES = f"""exit codes:
  {FITS}  every file fits
  {DOES_NOT_FIT}  one does not fit
  2  wrong usage: an unknown option or model
  {CANNOT_DECIDE}  of one it cannot be decided (no price, no window, not a text, damaged data), and no other is too much
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXIT_CODES
    parser.add_argument("paths", nargs="+", metavar="FILE", help="file, folder, or - for standard input")
    parser.add_argument("-m", "--model", required=True, metavar="M", help="the model it is for")
    parser.add_argument("--max-tokens", type=parse_whole_number, metavar="N", help="most input tokens")
    parser.add_argument("--max-cost", metavar="USD", help="most US dollars for the input and --max-output together")
    parser.add_argument(
        "--max-output", type=parse_whole_number, metavar="N", help="output tokens that will be asked for"
    )
    parser.add_argument("--tier", default="standard", metavar="T", help="standard, batch, flex, priority or fast")
    parser.set_defaults(command=run_fits)
    add_request_arguments(parser)


def run_fits(arguments: argparse.Namespace) -> int:
    use_operator_files()
    limit = Limit(
        arguments.max_tokens, arguments.max_output, parse_money(arguments.max_cost, "--max-cost"),
        parse_tier(arguments.tier, "--tier"),
    )
    model, counter = catalog.resolve(arguments.model), Counter.in_memory(0)
    judged: list[tuple[str, TokenCount, Verdict]] = []
    decisions: set[Decision] = set()
    for path, text in read_texts(arguments.paths):
        try:
            count = None
            if text is not None:
                count = counter.count(make_request(text, arguments.model, whole=arguments.request))
        except InvalidRequest as error:
            print_message(f"{path}: {error.message}")
            count = None
        if count is None:
            decisions.add("cannot_decide")
            continue
        verdict = check_budget(count, model, limit)
        decisions.add(verdict.decision)
        judged.append((path, count, verdict))
        for finding in verdict.findings:
            if not finding.fits:
                print_message(f"{path}: {finding.constraint}: {finding.reason}")
    _print_verdicts(judged, as_json=arguments.json)
    return DOES_NOT_FIT if "does_not_fit" in decisions else CANNOT_DECIDE if "cannot_decide" in decisions else FITS


def _print_verdicts(judged: list[tuple[str, TokenCount, Verdict]], *, as_json: bool) -> None:

    if as_json:
        files = [
            {"path": path, **verdict_json(verdict, count, catalog.resolve(count.model_ref or ""))}
            for path, count, verdict in judged
        ]
        print_json({"files": files})
        return
    rows = [
        (
            path, verdict.decision, str(count.high), format_usd(verdict.quote),
            UNKNOWN if verdict.largest_output is None else str(verdict.largest_output),
        )
        for path, count, verdict in judged
    ]
    print_columns(("file", "decision", "tokens at most", "USD", "largest output"), rows, right_from=2)
