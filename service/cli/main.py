"""The command line: `tallystick count | count-corpus | fits | compare | serve | keys | tokenizers | verify-data`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from service import __version__
from service.auth.keys import KeyStoreError, NoKeyFile
from service.cli.corpus import add_corpus_parser
from service.cli.fits import add_decision_parsers
from service.cli.keys import add_keys_parser
from service.errors import InvalidRequest, ServiceError, TokenizerUnavailable

OK, UNCOUNTED, USAGE, DAMAGED = 0, 1, 2, 3

EXIT_CODES = f"""exit codes:
  {OK}  all is well
  {UNCOUNTED}  something that was named could not be counted or served (missing, unreadable, not text)
  {USAGE}  wrong usage: an unknown option, model or tokenizer
  {DAMAGED}  tokenizer data is missing or damaged
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code. Errors go to stderr, answers to stdout."""
    arguments = make_parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        if getattr(arguments, "names_models", False):
            _use_operator_files()
        return command(arguments)
    except TokenizerUnavailable as error:
        return _fail(error.message, DAMAGED)
    except ServiceError as error:
        return _fail(error.message, USAGE)
    except NoKeyFile as error:
        return _fail(f"{error}.", UNCOUNTED)
    except KeyStoreError as error:
        return _fail(f"{error}.", USAGE)
    except ValueError as error:
        mistake = _mistake_in_settings(error)
        if mistake is None:
            raise
        return _fail(mistake, USAGE)
    except BrokenPipeError:  # `tallystick count ... | head` is no error
        sys.stderr.close()
        return OK
    except KeyboardInterrupt:
        return 130


def _use_operator_files() -> None:
    """Let names mean what the operator's settings say; pydantic, which takes a while, only where they say anything."""
    if not any(name.upper() in _CATALOG_VARIABLES for name in os.environ):
        return
    from service.catalog import CatalogFileError  # noqa: PLC0415
    from service.services import OperatorFiles  # noqa: PLC0415
    from service.settings import CatalogSettings  # noqa: PLC0415

    try:
        OperatorFiles(CatalogSettings())
    except CatalogFileError as error:
        raise InvalidRequest(f"{error}") from None


_CATALOG_VARIABLES = ("TALLYSTICK_CATALOG_FILE", "TALLYSTICK_BUDGETS_FILE", "TALLYSTICK_ALIASES")


def _mistake_in_settings(error: ValueError) -> str | None:
    """What is wrong with a setting, by the name of its variable and never its value; None for any other error."""
    from pydantic import ValidationError  # noqa: PLC0415 - whoever has read settings has imported it

    if not isinstance(error, ValidationError) or not error.title.endswith("Settings"):
        return None
    first = error.errors(include_url=False, include_input=False)[0]
    name = "".join(f"TALLYSTICK_{str(part).upper()}: " for part in first["loc"][:1])
    return f"{name}{first['msg'].removeprefix('Value error, ')}"


def _fail(message: str, code: int) -> int:
    print(f"tallystick: {message}", file=sys.stderr)
    return code


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tallystick", description="Count tokens, offline, for OpenAI, Claude, Gemini and open models.",
        epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tallystick {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "epilog": EXIT_CODES}

    count: Any = commands.add_parser("count", help="count the tokens of files, folders or standard input", **add)
    count.add_argument("paths", nargs="*", metavar="FILE", help="file, folder, or - for standard input")
    count.add_argument(
        "-m", "--model", action="append", default=[], metavar="M", help="count for this model; repeatable"
    )
    count.add_argument(
        "-t", "--tokenizer", action="append", default=[], metavar="T", help="count with this tokenizer; repeatable"
    )
    count.add_argument("--json", action="store_true", help="print JSON")
    count.set_defaults(command=run_count, names_models=True)

    add_corpus_parser(commands)
    add_decision_parsers(commands)

    serve: Any = commands.add_parser("serve", help="serve the HTTP API", **add)
    serve.add_argument("--host", help="address to listen on (TALLYSTICK_HOST, default 127.0.0.1)")
    serve.add_argument("--port", type=int, help="port to listen on (TALLYSTICK_PORT, default 8080; 0: a free one)")
    serve.add_argument("--workers", type=int, help="processes that answer (TALLYSTICK_WORKERS, default 1)")
    serve.add_argument(
        "--allow-anonymous", action="store_const", const=True,
        help="listen on other than loopback without API keys (TALLYSTICK_ALLOW_ANONYMOUS)",
    )
    serve.set_defaults(command=run_serve)

    add_keys_parser(commands, add)

    tokenizers: Any = commands.add_parser("tokenizers", help="list the tokenizers", **add)
    tokenizers.add_argument("--json", action="store_true", help="print JSON")
    tokenizers.set_defaults(command=run_tokenizers)

    verify: Any = commands.add_parser("verify-data", help="check every vocabulary file against its hash", **add)
    verify.set_defaults(command=run_verify)
    return parser


# ---------------------------------------------------------------- commands; each imports what it alone needs


def run_count(arguments: argparse.Namespace) -> int:
    from service.cli import count  # noqa: PLC0415

    paths = arguments.paths or ([] if sys.stdin.isatty() else ["-"])
    if not paths:
        return _fail("name a file or folder to count, or pipe text in.", USAGE)
    if not arguments.model and not arguments.tokenizer:
        return _fail("say what to count for: --model M or --tokenizer T.", USAGE)
    targets = count.make_targets(arguments.model, arguments.tokenizer)
    result = count.count_files(paths, targets)
    if arguments.json:
        print(json.dumps(count.as_json(result), ensure_ascii=False, indent=2))
    else:
        count.print_table(result)
    for skipped in result.skipped:
        print(f"tallystick: skipped {skipped.path}: {skipped.reason}", file=sys.stderr)
    return UNCOUNTED if any(skipped.named for skipped in result.skipped) else OK


def run_serve(arguments: argparse.Namespace) -> int:
    from service.auth.admission import Exposed  # noqa: PLC0415
    from service.catalog import CatalogFileError  # noqa: PLC0415
    from service.server.run import serve  # noqa: PLC0415
    from service.settings import Settings  # noqa: PLC0415

    names = ("host", "port", "workers", "allow_anonymous")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    settings = Settings(**given)
    try:
        return serve(settings)
    except (Exposed, CatalogFileError) as error:
        return _fail(str(error), USAGE)
    except OSError as error:
        return _fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}.", UNCOUNTED)


def run_tokenizers(arguments: argparse.Namespace) -> int:
    from service.cli.count import print_columns  # noqa: PLC0415
    from service.tokenizers.registry import describe_tokenizers  # noqa: PLC0415

    rows = describe_tokenizers()
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print_columns(
            ("tokenizer", "revision", "engines", "confirmed", "source"),
            [(r.name, r.revision, ", ".join(r.engines), "yes" if r.verified else "no", r.source) for r in rows],
        )
    return OK


def run_verify(arguments: argparse.Namespace) -> int:
    from service.tokenizers.registry import verify_data  # noqa: PLC0415

    damaged = False
    for check in verify_data():
        print(f"{'ok     ' if check.ok else 'DAMAGED'}  {check.file}  {check.sha256}")
        if not check.ok:
            damaged = True
            print(f"tallystick: {check.problem}", file=sys.stderr)
    return DAMAGED if damaged else OK


if __name__ == "__main__":
    sys.exit(main())
