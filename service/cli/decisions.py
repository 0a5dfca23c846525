"""What `tallystick fits` and `tallystick compare` share: their arguments, and reading files as requests."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from service.cli.files import NotText, find_sources, read_text
from service.cli.output import UNKNOWN, print_message
from service.dialects import native
from service.dialects.json import read_json
from service.dialects.values import MAX_TOKENS
from service.pricing.prices import Quote, format_decimal
from service.types import CountRequest


def add_request_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--request", action="store_true", help="files are whole request bodies (JSON), as a provider takes them"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def parse_whole_number(text: str) -> int:

    if not text.isascii() or not text.isdigit() or int(text[:20]) > MAX_TOKENS:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {MAX_TOKENS} is needed")
    return int(text)


def read_texts(paths: list[str]) -> Iterator[tuple[str, str | None]]:
    """Path and text of each file.

    A file that is no text or cannot be read gets a message on stderr. Its text is None where the user named the file;
    in a folder it is left out.
    """

    for path in paths:
        try:
            for source in find_sources([path]):
                try:
                    yield source.path, read_text(source)
                except NotText as reason:
                    print_message(f"{source.path}: {reason}")
                    if source.named:
                        yield source.path, None
        except OSError as error:
            print_message(f"{path}: {error.strerror or 'cannot be read'}")
            yield path, None


def make_request(text: str, model: str, *, whole: bool) -> CountRequest:

    if not whole:
        return native.read({"model": model, "text": text})
    body, _ = read_json(text.encode("utf-8", "surrogatepass"))
    return native.read({"model": model, "request": body})


def format_usd(quote: Quote | None) -> str:

    return UNKNOWN if quote is None or quote.total is None else format_decimal(quote.total)
