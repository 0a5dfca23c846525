"""`tallystick verify-data`: every vocabulary file, checked against its hash."""

from __future__ import annotations

import argparse

from service.cli.output import DAMAGED, OK, print_message
from service.tokenizers.registry import verify_data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=run_verify)


def run_verify(arguments: argparse.Namespace) -> int:
    damaged = False
    for check in verify_data():
        print(f"{'ok     ' if check.ok else 'DAMAGED'}  {check.file}  {check.sha256}")
        if not check.ok:
            damaged = True
            print_message(str(check.problem))
    return DAMAGED if damaged else OK
