"""One tokenizer for each name and engine in a process. It is built on first use, under a lock, and only once.

A load that fails is not remembered: the next call tries again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.errors import InvalidRequest, ServiceError, TokenizerUnavailable
from service.tokenizers.base import Engine, EngineChoice, Tokenizer
from service.tokenizers.data import FileCheck, read_verified, verify_files
from service.tokenizers.golden import find_golden_mismatch
from service.tokenizers.specs import TOKENIZERS, Supply, TokenizerRow

logger = logging.getLogger(__name__)

PROVIDER_ALIASES: Mapping[str, str] = {
    "openai_o200k": "o200k_base",
    "openai_cl100k": "cl100k_base",
    "openai_p50k": "p50k_base",
    "anthropic": "claude",
    "google": "gemma3",
}
"""Legacy names of a tokenizer by provider. `anthropic` is the one of Claude 1 and 2, an estimate for later models."""

DEFAULT_WARM_SET = ("o200k_base", "cl100k_base", "gemma3", "claude-v3", "claude-v4.7", "claude-v4.8")


@dataclass(frozen=True, slots=True)
class EngineState:
    """Which engine answers for one loaded tokenizer.

    `golden` is "ok", "unconfirmed" (no independent answers exist), "not checked" (no fast engine) or the reason why
    the fast engine is not used, without any text; `fallbacks` counts the loads that ended at the reference.
    """

    name: str
    engine: Engine
    golden: str
    fallbacks: int

    @property
    def ok(self) -> bool:
        return self.fallbacks == 0


@dataclass(frozen=True, slots=True)
class TokenizerDescription:
    """A row of GET /v1/tokenizers. `revision` is the fingerprint that answers carry."""

    name: str
    revision: str
    engines: tuple[Engine, ...]
    verified: bool
    loaded: bool
    source: str
    licence: str


class Registry:
    """The tokenizers of one data folder; `rows` and `read` are other than the defaults only in tests."""

    def __init__(self, rows: Sequence[TokenizerRow] = TOKENIZERS, read: Callable[[str], bytes] = read_verified) -> None:
        self._rows = {row.name: row for row in rows}
        self._read = read
        self._loaded: dict[tuple[str, EngineChoice], Tokenizer] = {}
        self._states: dict[str, EngineState] = {}
        self._mismatches: dict[str, str] = {}
        self._locks = {row.name: threading.RLock() for row in rows}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._rows)

    def get(self, name: str, engine: EngineChoice = "auto") -> Tokenizer:
        """The tokenizer `name`; raises InvalidRequest for an unknown name or an engine it does not have, and
        TokenizerUnavailable when its data is missing or changed."""
        found = self._loaded.get((name, engine))
        if found is not None:
            return found
        row = self._rows.get(name)
        if row is None:
            raise InvalidRequest(f"no such tokenizer; known are {', '.join(self._rows)}", field="tokenizer")
        with self._locks[name]:
            found = self._loaded.get((name, engine))
            if found is None:
                found = self._load(row, engine)
                self._loaded[name, engine] = found
            return found

    def is_loaded(self, name: str, engine: EngineChoice = "auto") -> bool:
        """Whether `get` would answer without loading anything."""
        return (name, engine) in self._loaded

    def _load(self, row: TokenizerRow, engine: EngineChoice) -> Tokenizer:
        build = {"auto": self._load_auto, "reference": self._load_reference, "fast": self._load_fast}[engine]
        try:
            return build(row)
        except ServiceError:
            raise
        except Exception as error:
            logger.exception("tokenizer %s cannot be loaded", row.name)
            raise TokenizerUnavailable(f"tokenizer {row.name} cannot be loaded ({type(error).__name__})") from error

    def _load_reference(self, row: TokenizerRow) -> Tokenizer:
        if row.reference is None:
            raise InvalidRequest(f"{row.name} has no reference engine; use auto or fast", field="engine")
        return row.reference(row, self._supply(row))

    def _supply(self, row: TokenizerRow) -> Supply:
        return Supply(self._read, lambda: self.get(row.name, "reference"))

    def _load_fast(self, row: TokenizerRow) -> Tokenizer:
        if row.fast is None:
            raise InvalidRequest(f"{row.name} has no fast engine; use auto or reference", field="engine")
        tokenizer = row.fast(row, self._supply(row))
        mismatch = find_golden_mismatch(tokenizer)
        if mismatch is None:
            return tokenizer
        if row.reference is not None:
            raise TokenizerUnavailable(f"the fast engine of {row.name} failed its self-check: {mismatch}")
        # there is no reference to fall back to: from now on its counts are estimates
        self._mismatches[row.name] = mismatch
        logger.error("tokenizer %s is no longer verified: %s", row.name, mismatch)
        tokenizer.verified = False
        return tokenizer

    def _load_auto(self, row: TokenizerRow) -> Tokenizer:
        if row.fast is None:
            self._states[row.name] = EngineState(row.name, "reference", "not checked", 0)
            return self.get(row.name, "reference")
        try:
            tokenizer = self.get(row.name, "fast")
        except TokenizerUnavailable as error:
            return self._fall_back(row, error)
        golden = self._mismatches.get(row.name) or ("ok" if tokenizer.verified else "unconfirmed")
        self._states[row.name] = EngineState(row.name, "fast", golden, 0)
        return tokenizer

    def _fall_back(self, row: TokenizerRow, error: TokenizerUnavailable) -> Tokenizer:
        if row.reference is None:
            raise error
        tokenizer = self.get(row.name, "reference")
        before = self._states.get(row.name)
        fallbacks = 1 + (before.fallbacks if before else 0)
        self._states[row.name] = EngineState(row.name, "reference", error.message, fallbacks)
        logger.error("tokenizer %s runs on its reference: %s", row.name, error.message)
        return tokenizer

    def states(self) -> tuple[EngineState, ...]:
        """The states of the tokenizers that "auto" has loaded, in the table's order."""
        return tuple(self._states[name] for name in self._rows if name in self._states)

    def describe(self) -> tuple[TokenizerDescription, ...]:
        """All tokenizers; nothing is loaded for it."""
        return tuple(self._describe(row) for row in self._rows.values())

    def _describe(self, row: TokenizerRow) -> TokenizerDescription:
        engines: tuple[tuple[Engine, object], ...] = (("fast", row.fast), ("reference", row.reference))
        return TokenizerDescription(
            name=row.name, revision=row.fingerprint(), engines=tuple(name for name, build in engines if build),
            verified=row.verified, loaded=any(name == row.name for name, _ in list(self._loaded)),
            source=row.source, licence=row.licence,
        )


_REGISTRY = Registry()


def get_tokenizer(name: str, engine: EngineChoice = "auto") -> Tokenizer:
    """The process's tokenizer `name`; see `Registry.get` for what is raised."""
    return _REGISTRY.get(name, engine)


def is_loaded(name: str, engine: EngineChoice = "auto") -> bool:
    return _REGISTRY.is_loaded(name, engine)


def tokenizer_names() -> tuple[str, ...]:
    return _REGISTRY.names


def describe_tokenizers() -> tuple[TokenizerDescription, ...]:
    return _REGISTRY.describe()


def engine_states() -> tuple[EngineState, ...]:
    return _REGISTRY.states()


def warm(names: Iterable[str] = DEFAULT_WARM_SET) -> None:
    """Loads the tokenizers and counts one text with each, so that the first request does not wait for a load."""
    for name in names:
        get_tokenizer(name).count("Hello, world! 안녕하세요.")


def verify_data() -> Iterator[FileCheck]:
    """One result a shipped file; see `service.tokenizers.data.verify_files`."""
    return verify_files()
