"""Bodies changed at random, given to every operation as the routes give them: read, answered, refused.

Whatever comes, an operation answers or raises a ServiceError; the refusal names a place that the body has, and repeats
nothing of what stood there. `python -m tests.security.parser_fuzz --seconds 60` goes on for as long as it is told
(`make fuzzparsers`); with --atheris, where that is installed, its coverage of the code chooses the changes.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import base64
import copy
import json
import random
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic_core import to_json

from service.api.context import open_context
from service.api.routing import KeyedRoute
from service.api.schemas.examples import get_example
from service.app import create_app
from service.dialects.json import read_json
from service.errors import InvalidRequest, ServiceError
from service.settings import Settings
from service.types import Json
from tests.media.media_files import docx, jpeg, mp3, pdf, png, wav
from tests.security.bodies import CHAT, RICH, native_bodies
from tests.security.conformance import BUDGETS

CANARY = "zq9canary"
"""It is in every string that a change writes. No error message may contain it."""


@dataclass(frozen=True, slots=True)
class Target:
    """An operation, with bodies that it accepts."""

    app: FastAPI
    route: KeyedRoute
    bodies: tuple[Json, ...]

    @property
    def path(self) -> str:
        return self.route.path

    async def answer(self, raw: bytes) -> None:
        """As the middleware has a request answered. Raises what the route raises."""
        arriving = [{"type": "http.request", "body": raw, "more_body": False}]
        scope: dict[str, Any] = {
            "type": "http", "app": self.app, "method": "POST", "path": self.path, "root_path": "", "query_string": b"",
            "headers": [], "path_params": dict(PARAMS),
        }
        open_context(scope)

        async def receive() -> Any:
            return arriving.pop()

        async def send(message: Any) -> None:
            assert message.get("status", 200) == 200

        await self.route.app(scope, receive, send)


@cache
def targets() -> tuple[Target, ...]:
    """All operations of the service that take a body, in an app of their own with a budget."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "budgets.toml")
        file.write_text(BUDGETS)
        app = create_app(Settings(budgets_file=file, warm=()))
    native = [*native_bodies(), {"tokenizer": "gemma3", "texts": ["a", "b"]}]
    more: dict[str, list[Json]] = {
        "/tokenize": [CHAT], "/utils/token_counter": [CHAT, {"model": "gemini-2.5-flash", **RICH["google"][0]}],
        "/v1/countTokens": native, "/v1/countTokens:batch": [{"items": native}],
        "/v1/truncate": [{"model": "gpt-4o", "max_tokens": 50_000, "request": CHAT}],
    }
    found = []
    for route in app.state.pipeline.routes.routes:
        if route.body_field is not None:
            rich = RICH.get(route.dialect.name, ())
            bodies = (get_example(route.operation_id or "").request, *rich, *more.pop(route.path, ()))
            found.append(Target(app, route, bodies))
    assert not more
    return tuple(found)


@cache
def loop() -> asyncio.Runner:
    """The event loop that all attempts share."""
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


# ---------------------------------------------------------------- changes

FILES = (png(3, 5), jpeg(3, 5), pdf((612, 792, "x")), docx("x"), mp3(2), wav(0.1))

ODD: tuple[Callable[[random.Random], Json], ...] = (
    lambda _: None, lambda _: True, lambda _: 0, lambda _: -1, lambda _: 1.5, lambda _: 10**25, lambda _: -(2**63),
    lambda _: 1e308, lambda _: [], lambda _: {}, lambda _: "", lambda _: [None], lambda _: {"": None},
    lambda _: CANARY, lambda _: f"{CANARY}\ud800", lambda _: f"\ufeff{CANARY}\0\r\n",
    lambda _: f"<|endoftext|>{CANARY}", lambda _: f"data:;base64,{CANARY}",
    lambda _: f"data:image/png;base64,{CANARY}=", lambda _: f"{CANARY}=", lambda _: "=",
    lambda _: f"https://{CANARY}.example/a", lambda _: {"type": CANARY}, lambda _: {"role": CANARY}, lambda _: [CANARY],
    lambda _: {"k": CANARY}, lambda _: f'{{"{CANARY}": [', lambda _: "[" * 200,
    lambda chance: CANARY * chance.randrange(50),
    lambda chance: nested([], chance.randrange(2, 120)), lambda chance: nested({}, chance.randrange(2, 120)),
    lambda chance: {"type": "base64", "media_type": "", "data": base64.b64encode(chance.choice(FILES)).decode()},
    lambda chance: [CANARY] * chance.randrange(200),
    lambda chance: {f"k{i}": CANARY for i in range(chance.randrange(200))},
    lambda chance: "".join(chr(chance.choice((0, 9, 0x300, 0xD800, 0xDFFF, 0xFFFF, 0x10FFFF))) for _ in range(20)),
)


def nested(inner: Json, depth: int) -> Json:
    for _ in range(depth):
        inner = {"a": inner} if isinstance(inner, dict) else [inner]
    return inner


def places(value: Json) -> list[tuple[Any, Any]]:
    """All (container, key) pairs of a body."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            found.append((node, key))
            stack.append(node[key])
    return found


def change(body: Json, chance: random.Random) -> Json:
    """The body with one to four changed values."""
    body = copy.deepcopy(body)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        there = places(body)
        if not there:
            return chance.choice(ODD)(chance)
        node, key = chance.choice(there)
        kind = chance.randrange(8)
        if kind == 0:
            del node[key]
        elif kind == 1:
            node[key] = [node[key]]
        elif kind == 2 and isinstance(node, dict):
            node[chance.choice((CANARY[:3], "type", "text", "role", "content", "parts"))] = node.pop(key)
        elif kind == 3:
            other, name = chance.choice(there)
            node[key] = copy.deepcopy(other[name]) if len(there) < 400 else None
        else:
            node[key] = chance.choice(ODD)(chance)
    return body


PATCHES = (
    b"NaN", b"Infinity", b"1e999", b"-1e999", b"1" * 5_000, b"0123", b"+1", b"1.", b".5", b"0x10", b"\\ud800", b"\\u12",
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"'", b'"', b",", b"}", b"[" * 150, b"//x\n",
    b"\xef\xbb\xbf", b'{"a":1,"a":2}', b'"a":{},' * 50, b"\x1f\x8b", b"\t\x0b\x0c",
)


def damage(raw: bytes, chance: random.Random) -> bytes:
    """The bytes, as JSON that is none, or is doubtful: cut, doubled, in another encoding, with numbers of no size."""
    at = chance.randrange(len(raw) + 1)
    patch = chance.choice(PATCHES)
    kind = chance.randrange(7)
    if kind == 0:
        return raw[:at]
    if kind == 1:
        return raw[:at] + patch + raw[at:]
    if kind == 2:
        return raw[:at] + patch + raw[at + len(patch):]
    if kind == 3:
        return raw.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-16-be", "utf-32", "utf-7")))
    if kind == 4:
        return b"\xef\xbb\xbf" + raw
    if kind == 5:
        return re.sub(rb'"(\w+)":', rb'"\1":null,"\1":', raw, count=chance.randrange(1, 9))
    return raw[at:] + raw


# ---------------------------------------------------------------- the check

PARAMS = {"model": "gemini-2.5-flash", "name": "team-a", "project": "p", "location": "l", "publisher": "google"}


def check(target: Target, raw: bytes) -> str:
    """How it ended: `answered`, or the code of the refusal. Raises AssertionError for a refusal that says too much or
    names no place, and whatever else an operation raises."""
    value: Json = None
    try:
        with suppress(ServiceError):
            value, _ = read_json(raw)
        loop().run(target.answer(raw))
    except ServiceError as refusal:
        error = refusal
    else:
        return "answered"
    _, body = target.route.dialect.error(error, "r1")
    assert CANARY not in to_json(body).decode(), f"the refusal repeats what was sent: {error.message}"
    assert error.status < 500, error.message
    if isinstance(value, dict) and isinstance(error, InvalidRequest):
        assert error.field is not None, f"the refusal names no place: {error.message}"
        assert leads_somewhere(value, error.field), f"the refusal names a place there is not: {error.field}"
    return error.code


def leads_somewhere(value: Json, field: str) -> bool:
    """Whether all but the last step of a JSON path is in a body; names may be those of a missing field."""
    steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", field)
    for place, (index, name) in enumerate(steps):
        last = place == len(steps) - 1
        if index:
            if isinstance(value, list) and int(index) < len(value):
                value = value[int(index)]
            elif int(index) or not isinstance(value, dict):  # one object may stand for a list of one
                return last
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0].get(name)
        elif not isinstance(value, dict) or name not in value:
            return last or any(name in key for key in value if isinstance(value, dict))  # a key with dots in it
        else:
            value = value[name]
    return True


def attempt(seed: int) -> tuple[Target, bytes]:
    """The changed body for a random number."""
    chance = random.Random(seed)
    target = chance.choice(targets())
    body = change(chance.choice(target.bodies), chance)
    raw = json.dumps(body, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return target, damage(raw, chance) if chance.random() < 0.25 else raw


def fuzz(seconds: float, first: int) -> tuple[Counter[str], list[str]]:
    """How the attempts ended until the time was over, and the findings, a line each."""
    ends: Counter[str] = Counter()
    findings: dict[str, str] = {}
    until = time.monotonic() + seconds
    for seed in range(first, sys.maxsize):
        if time.monotonic() > until:
            break
        target, raw = attempt(seed)
        try:
            ends[check(target, raw)] += 1
        except BaseException as error:  # noqa: BLE001  a Rust panic is no Exception
            ends["found"] += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            about = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"
            findings.setdefault(about[:100], f"seed {seed}, {target.path}: {about[:300]}")
    return ends, list(findings.values())


def fuzz_by_coverage(arguments: list[str]) -> None:
    """Until atheris is told to stop. The first byte chooses the operation, the rest is its body."""
    import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

    rows = targets()
    atheris.instrument_all()

    def one(data: bytes) -> None:
        if data:
            check(rows[data[0] % len(rows)], data[1:])

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        index = data[0] % len(rows) if data else chance.randrange(len(rows))
        try:
            body = json.loads(data[1:])
        except ValueError:
            body = chance.choice(rows[index].bodies)
        raw = json.dumps(change(body, chance)).encode("utf-8", "surrogatepass")
        return (bytes([index]) + (damage(raw, chance) if chance.random() < 0.1 else raw))[:most]

    atheris.Setup([sys.argv[0], *arguments], one, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> int:
    """Print how many bodies were tried and how they ended. Returns 1 if there were findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=0, help="number of the first attempt")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage (pip install atheris)")
    arguments, more = parser.parse_known_args()
    if arguments.atheris:
        fuzz_by_coverage([f"-max_total_time={arguments.seconds:.0f}", "-max_len=20000", *more])
        return 0
    ends, findings = fuzz(arguments.seconds, arguments.first)
    print(f"{ends.total()} bodies to {len(targets())} operations: {dict(ends.most_common())}; {len(findings)} findings")
    print(*findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
