"""What all engines of published vocabularies have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from service.errors import InvalidRequest
from service.tokenizers.base import Engine, VocabularyTokenizer
from service.tokenizers.surrogates import repair_surrogates
from service.types import Edge


class Vocabulary(VocabularyTokenizer, ABC):
    """Base of the engines. A subclass finds the ids of ordinary text and the bytes of an id; all else is made of these.

    Special-token strings are ordinary text unless `parse_special`: then the text is cut at them first, as every
    original implementation does, and the parts between are ordinary text. Lone surrogates count as U+FFFD.
    """

    engine: Engine

    def __init__(
        self, name: str, fingerprint: str, specials: Mapping[str, int], *, added_tokens: int = 0, verified: bool = True
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.added_tokens = added_tokens
        self.verified = verified
        self.specials: Mapping[str, int] = dict(specials)
        self._special_at = compile_alternatives(self.specials)

    @abstractmethod
    def _ids(self, text: str) -> Sequence[int]:
        """Ids of ordinary text; may raise UnicodeEncodeError on surrogates, and nothing else."""

    @abstractmethod
    def _token_bytes(self, token: int) -> bytes | None:
        """The bytes that a non-special id stands for, None when there is no such id."""

    def _count(self, text: str) -> int:
        return len(self._ids(text))

    def _count_batch(self, texts: Sequence[str]) -> list[int]:
        return [self._count(text) for text in texts]

    def count(self, text: str, edge: Edge = "open") -> int:
        if not text:
            return 0
        try:
            return self._count(text)
        except UnicodeEncodeError:
            return self._count(repair_surrogates(text))

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        try:
            return self._count_batch(texts)
        except UnicodeEncodeError:
            return self._count_batch([repair_surrogates(text) for text in texts])

    def encode(self, text: str, *, parse_special: bool = False) -> list[int]:
        try:
            return self._encode(text, parse_special)
        except UnicodeEncodeError:
            return self._encode(repair_surrogates(text), parse_special)

    def _encode(self, text: str, parse_special: bool) -> list[int]:
        if not parse_special:
            return list(self._ids(text))
        ids: list[int] = []
        for part, special in self._parts(text, self._special_at, self.specials):
            if part:
                ids.extend(self._ids(part))
            if special is not None:
                ids.append(special)
        return ids

    @staticmethod
    def _parts(text: str, at: re.Pattern[str], tokens: Mapping[str, int]) -> Iterator[tuple[str, int | None]]:
        """The stretches between the strings of `tokens`, each with the id of the one after it (None for the last)."""
        start = 0
        for found in at.finditer(text):
            yield text[start:found.start()], tokens[found.group()]
            start = found.end()
        yield text[start:], None

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        return b"".join(self._known_bytes(token) for token in ids)

    def _known_bytes(self, token: int) -> bytes:
        found = self._special_bytes.get(token)
        if found is None:
            found = self._token_bytes(token)
        if found is None:
            raise InvalidRequest(f"ids holds {int(token)}, which {self.name} does not have", field="ids")
        return found

    @cached_property
    def _special_bytes(self) -> Mapping[int, bytes]:
        return {token: text.encode() for text, token in self.specials.items()}

    def pieces(self, text: str) -> list[bytes]:
        return [self._known_bytes(token) for token in self.encode(text)]


def compile_alternatives(strings: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches any of the strings, leftmost and then longest. Without strings it never matches."""
    return re.compile("|".join(map(re.escape, sorted(strings, key=len, reverse=True))) or "(?!)")
