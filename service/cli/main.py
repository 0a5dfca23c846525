"""The command line: `tallystick count | count-corpus | fits | compare | serve | keys | tokenizers | verify-data`.

Each command is a module with `add_arguments(parser)` and a function that runs it and returns the exit code. Only the
module of the command that was named is imported, so that `tallystick --help` takes 0.1 s.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

from service import __version__
from service.auth.keys import KeyStoreError, NoKeyFile
from service.cli.output import DAMAGED, EXIT_CODES, OK, UNCOUNTED, USAGE, fail
from service.errors import ServiceError, TokenizerUnavailable

COMMANDS: Mapping[str, tuple[str, str]] = {
    "count": ("service.cli.count", "count the tokens of files, folders or standard input"),
    "count-corpus": ("service.cli.corpus", "count every record of JSONL, Parquet and text files"),
    "fits": ("service.cli.fits", "check that files fit a model's window, a number of tokens, an amount of money"),
    "compare": ("service.cli.compare", "count a file for several models, the cheapest first"),
    "serve": ("service.cli.serve", "serve the HTTP API"),
    "keys": ("service.cli.keys", "add, list or revoke API keys"),
    "tokenizers": ("service.cli.tokenizers", "list the tokenizers"),
    "verify-data": ("service.cli.verify_data", "check every vocabulary file against its hash"),
}
"""Name of a command -> its module, and its line in the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Errors go to stderr, answers to stdout."""
    argv = sys.argv[1:] if argv is None else argv
    named = [word for word in argv if not word.startswith("-")][:1]
    arguments = make_parser(named).parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except TokenizerUnavailable as error:
        return fail(error.message, DAMAGED)
    except ServiceError as error:
        return fail(error.message, USAGE)
    except NoKeyFile as error:
        return fail(f"{error}.", UNCOUNTED)
    except KeyStoreError as error:
        return fail(f"{error}.", USAGE)
    except ValueError as error:
        mistake = _describe_wrong_setting(error)
        if mistake is None:
            raise
        return fail(mistake, USAGE)
    except BrokenPipeError:  # `tallystick count ... | head` is no error
        sys.stderr.close()
        return OK
    except KeyboardInterrupt:
        return 130


def make_parser(loaded: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of all commands. The modules of those in `loaded` are imported, to add their arguments."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="tallystick", description="Count tokens, offline, for OpenAI, Claude, Gemini and open models.",
        epilog=EXIT_CODES, formatter_class=form,
    )
    parser.add_argument("--version", action="version", version=f"tallystick {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    names = frozenset(loaded)
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, epilog=EXIT_CODES, formatter_class=form)
        if name in names:
            import_module(module).add_arguments(command)
    return parser


def _describe_wrong_setting(error: ValueError) -> str | None:
    """What is wrong with a setting, by the name of its variable and without its value. None for any other error."""
    pydantic = sys.modules.get("pydantic")  # whatever has read settings has imported it
    if pydantic is None or not isinstance(error, pydantic.ValidationError) or not error.title.endswith("Settings"):
        return None
    first = error.errors(include_url=False, include_input=False)[0]
    name = "".join(f"TALLYSTICK_{str(part).upper()}: " for part in first["loc"][:1])
    return f"{name}{first['msg'].removeprefix('Value error, ')}"


if __name__ == "__main__":
    sys.exit(main())
