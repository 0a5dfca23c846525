"""`tallystick tokenizers`: a list of the tokenizers, and where their data is from."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from service.cli.output import OK, print_columns, print_json
from service.tokenizers.registry import describe_tokenizers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run_tokenizers)


def run_tokenizers(arguments: argparse.Namespace) -> int:
    rows = describe_tokenizers()
    if arguments.json:
        print_json([asdict(row) for row in rows])
    else:
        print_columns(
            ("tokenizer", "revision", "engines", "confirmed", "source"),
            [(r.name, r.revision, ", ".join(r.engines), "yes" if r.verified else "no", r.source) for r in rows],
        )
    return OK
