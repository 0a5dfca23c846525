"""`tallystick compare`: what one file counts and costs for several models."""

from __future__ import annotations

import argparse
import os

from service import catalog
from service.answers.cost import row_json
from service.cli.decisions import add_request_arguments, format_usd, make_request, parse_whole_number, read_texts
from service.cli.operator_files import use_operator_files
from service.cli.output import UNKNOWN, print_columns, print_json, print_message
from service.counting.counter import Counter
from service.errors import InvalidRequest
from service.pricing.compare import MAX_MODELS, compare
from service.pricing.prices import format_decimal
from service.types import TokenCount

ALL_COMPARED, SOME_MISSING = 0, 1

EXIT_CODES = f"""exit codes:
  {ALL_COMPARED}  every model has its row
  {SOME_MISSING}  the file cannot be read, or a model cannot be counted for
  2  wrong usage
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXIT_CODES
    parser.add_argument("path", metavar="FILE", help="file, or - for standard input")
    parser.add_argument(
        "-m", "--model", action="append", required=True, metavar="M", help="a model; repeatable, up to 50"
    )
    parser.add_argument(
        "--output-tokens", type=parse_whole_number, default=0, metavar="N", help="output to be priced along"
    )
    parser.set_defaults(command=run_compare)
    add_request_arguments(parser)


def run_compare(arguments: argparse.Namespace) -> int:
    use_operator_files()
    if len(arguments.model) > MAX_MODELS:
        raise InvalidRequest(f"at most {MAX_MODELS} models are compared at once.")
    if os.path.isdir(arguments.path):
        raise InvalidRequest(f"{arguments.path} is a folder: compare takes one file, or - for standard input.")
    texts = list(read_texts([arguments.path]))
    if len(texts) != 1 or texts[0][1] is None:
        return SOME_MISSING
    text, counter = texts[0][1], Counter.in_memory(0)

    def count(model: str) -> TokenCount:
        return counter.count(make_request(text, model, whole=arguments.request))

    rows = compare(arguments.model, count, catalog.resolve, arguments.output_tokens)
    if arguments.json:
        print_json({"rows": [row_json(row) for row in rows]})
    else:
        cells = [
            (
                row.model_ref, str(row.count.input_tokens), row.count.method, format_usd(row.quote),
                UNKNOWN if row.window_share is None else format_decimal(row.window_share),
            )
            for row in rows if row.count is not None
        ]
        print_columns(("model", "tokens", "method", "USD", "share of window"), cells, right_from=1)
    failed = [row for row in rows if row.error is not None]
    for row in failed:
        print_message(f"{row.model_ref}: {row.error.message if row.error else ''}")
    return SOME_MISSING if failed else ALL_COMPARED
