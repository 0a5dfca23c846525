"""`tallystick keys add | list | revoke`: the API keys of a file or of Redis."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from service.auth.admission import find_store
from service.auth.key_store import FileStore, KeyStore
from service.auth.keys import DEFAULT_SCOPES, NAME, SCOPES, Key, NoKeyFile, key_to_json, make_key
from service.cli.output import EXIT_CODES, print_columns, print_json, print_message
from service.errors import InvalidRequest
from service.settings import KeySettings

DURATION = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[mhdw])")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add: Any = {"epilog": EXIT_CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")

    one = actions.add_parser("add", help="make a key and show it, once", **add)
    one.add_argument("name", metavar="NAME", help="who or what it is for: the project's name in usage and logs")
    one.add_argument(
        "--scope", action="append", default=[], choices=SCOPES, metavar="S",
        help=f"what it opens; repeatable; of {', '.join(SCOPES)} (default {', '.join(DEFAULT_SCOPES)})",
    )
    one.add_argument("--expires", metavar="WHEN", help="30d, 12h, or a date or instant: 2027-01-31")
    one.add_argument("--requests-per-minute", type=int, metavar="N", help="0: no limit; default: the server's setting")
    one.add_argument("--tokens-per-minute", type=int, metavar="N", help="0: no limit; default: the server's setting")
    one.set_defaults(command=run_add)

    listed = actions.add_parser("list", help="list keys: what is kept of them, which is not the keys themselves", **add)
    listed.add_argument("--json", action="store_true", help="print JSON")
    listed.set_defaults(command=run_list)

    gone = actions.add_parser("revoke", help="remove a key; running servers notice within seconds", **add)
    gone.add_argument("key", metavar="ID", help="its id, or a name that only one key has")
    gone.set_defaults(command=run_revoke)
    for action in (one, listed, gone):
        action.add_argument("--file", type=Path, metavar="FILE", help="where keys are kept (TALLYSTICK_KEYS_FILE)")


def _store(arguments: argparse.Namespace, *, make: bool = False) -> KeyStore:
    """Where the keys are kept. Raises NoKeyFile for a file that does not exist, unless `make` allows to make it.

    A mistyped name must not look like a file without keys.
    """
    store = FileStore(arguments.file) if arguments.file else find_store(KeySettings())
    if store is None:
        raise InvalidRequest(
            "say where keys are kept: --file FILE, TALLYSTICK_KEYS_FILE, or TALLYSTICK_KEYS_IN_REDIS=1 with "
            "TALLYSTICK_REDIS_URL."
        )
    if isinstance(store, FileStore) and not make and not store.path.exists():
        raise NoKeyFile(f"{store.path}: there is no such file; tallystick keys add makes it with its first key")
    return store


def run_add(arguments: argparse.Namespace) -> int:
    if not NAME.fullmatch(arguments.name):
        raise InvalidRequest("a name has letters, digits, dots, dashes and underscores, at most 64.")
    rates = {name: getattr(arguments, name) for name in ("requests_per_minute", "tokens_per_minute")}
    if any(rate is not None and rate < 0 for rate in rates.values()):
        raise InvalidRequest("a rate is 0 or more.")
    expires = parse_expiry(arguments.expires, datetime.now(UTC)) if arguments.expires else None
    text, key = make_key(arguments.name, arguments.scope or DEFAULT_SCOPES, expires=expires, **rates)

    def add(keys: dict[str, Key]) -> None:
        keys[key.id] = key

    _store(arguments, make=True).change(add)
    print(text)
    print_message(f"this is the only time that the key of {key.name} is shown; id {key.id}")
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    keys = sorted(_store(arguments).load().by_id.values(), key=lambda key: (key.name, key.created))
    if arguments.json:
        rows = [{name: value for name, value in key_to_json(key).items() if name != "sha256"} for key in keys]
        print_json(rows)
        return 0
    now = datetime.now(UTC)
    print_columns(
        ("name", "id", "scopes", "requests/min", "tokens/min", "created", "expires"),
        [
            (
                key.name, key.id, ",".join(sorted(key.scopes)), _rate(key.requests_per_minute),
                _rate(key.tokens_per_minute), f"{key.created:%Y-%m-%d}", _expiry(key, now),
            )
            for key in keys
        ],
    )
    return 0


def run_revoke(arguments: argparse.Namespace) -> int:
    gone: list[Key] = []

    def revoke(keys: dict[str, Key]) -> None:
        found = [key for key in keys.values() if arguments.key in (key.id, key.name)]
        if not found:
            raise InvalidRequest("there is no such key: tallystick keys list shows them all.")
        if len(found) > 1:
            ids = ", ".join(key.id for key in found)
            raise InvalidRequest(f"several keys have this name; say which by its id: {ids}.")
        gone.append(keys.pop(found[0].id))

    _store(arguments).change(revoke)
    print_message(f"revoked {gone[0].name} ({gone[0].id})")
    return 0


def parse_expiry(text: str, now: datetime) -> datetime:
    """The instant for 30d, 12h, a date (its first moment in UTC) or an instant. Raises InvalidRequest."""
    match = DURATION.fullmatch(text)
    try:
        if match:
            expires = now + timedelta(**{UNITS[match["unit"]]: int(match["number"])})
        else:
            instant = datetime.fromisoformat(text)
            expires = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidRequest("--expires takes 30d, 12h, or a date or instant such as 2027-01-31.") from None
    if expires <= now:
        raise InvalidRequest("--expires lies in the past.")
    return expires


def _rate(rate: int | None) -> str:
    return "default" if rate is None else "no limit" if rate == 0 else str(rate)


def _expiry(key: Key, now: datetime) -> str:
    if key.expires is None:
        return "never"
    return f"{key.expires:%Y-%m-%d %H:%M}" + (" (expired)" if key.is_expired(now) else "")
