"""How fast tokenizers are, in MB/s of one thread, beside the libraries that others use.

Each text is counted once by a new engine ("first"), and then again ("again"): an engine remembers words that it has
met, as it does in a running service. The libraries remember what they remember by themselves.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.rounds import measure_in_turns, ratio
from benchmarks.texts import corpora
from service.tokenizers import registry
from service.tokenizers.base import EngineChoice
from service.tokenizers.registry import Registry

ROUNDS = 5
SLOW_CHARACTERS = 60_000
"""How much of each corpus is given to a library that needs a second for a megabyte."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """A library to compare with. `call` takes our reference engine and returns the library's usual call on a text."""

    name: str
    call: Callable[[Any], Callable[[str], object]]
    slow: bool


TIKTOKEN = Opponent("tiktoken", lambda tokenizer: tokenizer._encoding.encode_ordinary, slow=False)
HF = Opponent("HF encode", lambda tokenizer: tokenizer._tokenizer.encode, slow=True)
HF_BATCH = Opponent("HF encode_batch_fast", lambda tokenizer: partial(_batch_of_one, tokenizer), slow=True)
CTOK = Opponent("ctok", lambda tokenizer: tokenizer.count, slow=True)

ROWS: tuple[tuple[str, tuple[Opponent, ...]], ...] = (
    ("o200k_base", (TIKTOKEN,)),
    ("cl100k_base", (TIKTOKEN,)),
    ("claude", (HF, HF_BATCH)),
    ("gemma3", (HF, HF_BATCH)),
    ("claude-v3", (CTOK,)),
    ("claude-v4.7", (CTOK,)),
    ("claude-v4.8", (CTOK,)),
)


def _batch_of_one(tokenizer: Any, text: str) -> object:
    return tokenizer._tokenizer.encode_batch_fast([text], add_special_tokens=False)


def run() -> None:
    print(f"{'MB/s':<14}{'corpus':<14}{'first':>8}{'again':>8}   against")
    for name, opponents in ROWS:
        for corpus, text in corpora().items():
            print(f"{name:<14}{corpus:<14}" + _format_row(name, text, opponents), flush=True)


def _format_row(name: str, text: str, opponents: tuple[Opponent, ...]) -> str:
    fresh = Registry().get(name)
    first = _speed(fresh.count, text)
    mine = registry.get_tokenizer(name).count
    calls = {opponent.name: opponent.call(_reference(name)) for opponent in opponents}
    short = text[:SLOW_CHARACTERS]
    sides: dict[str, Callable[[], float]] = {"": lambda: _speed(mine, text)}
    for opponent in opponents:
        sides[opponent.name] = partial(_speed, calls[opponent.name], short if opponent.slow else text)
    mine(text)
    found = measure_in_turns(sides, ROUNDS)
    again = statistics.median(found[""])
    return f"{first:>8.1f}{again:>8.1f}   " + "  ".join(_against(found))


def _against(found: dict[str, list[float]]) -> Iterator[str]:
    for name, speeds in found.items():
        if name:
            yield f"{name} {statistics.median(speeds):.2f} (x {ratio(found[''], speeds):.1f})"


def _reference(name: str) -> Any:
    choice: EngineChoice = "reference"
    return registry.get_tokenizer(name, choice)


def _speed(count: Callable[[str], object], text: str) -> float:
    """MB/s of processor time of all threads. Other processes on the machine do not affect it."""
    began = time.process_time()
    count(text)
    return len(text.encode()) / 1e6 / (time.process_time() - began)
