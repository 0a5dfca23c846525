"""`tallystick serve`: the HTTP API."""

from __future__ import annotations

import argparse

from service.auth.admission import Exposed
from service.catalog import CatalogFileError
from service.cli.output import UNCOUNTED, USAGE, fail
from service.server.run import serve
from service.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (TALLYSTICK_HOST, default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (TALLYSTICK_PORT, default 8080; 0: a free one)")
    parser.add_argument("--workers", type=int, help="processes that answer (TALLYSTICK_WORKERS, default 1)")
    parser.add_argument(
        "--allow-anonymous", action="store_const", const=True,
        help="listen on other than loopback without API keys (TALLYSTICK_ALLOW_ANONYMOUS)",
    )
    parser.set_defaults(command=run_serve)


def run_serve(arguments: argparse.Namespace) -> int:
    names = ("host", "port", "workers", "allow_anonymous")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    settings = Settings(**given)
    try:
        return serve(settings)
    except (Exposed, CatalogFileError) as error:
        return fail(str(error), USAGE)
    except OSError as error:
        return fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}.", UNCOUNTED)
