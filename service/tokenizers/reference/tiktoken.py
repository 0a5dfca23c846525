"""Byte-pair encoding by ranks, on tiktoken: the reference for OpenAI's vocabularies."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence

import tiktoken

from service.tokenizers.base import Engine
from service.tokenizers.splitting import LONG_RUN, find_long_runs
from service.tokenizers.vocabulary import Vocabulary


def parse_ranks(content: bytes) -> dict[bytes, int]:
    """Token bytes -> rank, from the lines `base64(bytes) rank` of a `.tiktoken` file."""
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in content.splitlines())}


def find_run_pre_token(text: str, start: int, end: int, *, newlines_apart: bool) -> tuple[int, int]:
    """The one pre-token that holds most of the white space run `text[start:end]`.

    All of OpenAI's patterns take a run up to its last newline by itself (`newlines_apart`; the GPT-2 pattern does
    not), then the rest as one pre-token, except that a last blank before a visible character goes with what follows.
    """
    if newlines_apart:
        start = max(start, text.rfind("\n", start, end) + 1, text.rfind("\r", start, end) + 1)
    return start, end if end == len(text) else end - 1


class RankBpe(Vocabulary):
    """tiktoken over ranks that were read and verified from disk.

    tiktoken panics (a BaseException) where a pattern with look-ahead meets a million blanks in a row. So a long run is
    taken out: most of it is one pre-token whatever stands around it, and that one is encoded by itself.
    """

    engine: Engine = "reference"

    def __init__(
        self, name: str, fingerprint: str, ranks: Mapping[bytes, int], pattern: str, specials: Mapping[str, int],
        *, newlines_apart: bool, long_run: int = LONG_RUN,
    ) -> None:
        super().__init__(name, fingerprint, specials)
        self._encoding = tiktoken.Encoding(
            name, pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens=dict(specials)
        )
        self._encode_one: Callable[[bytes], list[int]] = self._encoding._core_bpe.encode_single_piece
        self._newlines_apart = newlines_apart
        self._long_run = long_run

    def _ids(self, text: str) -> Sequence[int]:
        if len(text) < self._long_run:
            return self._encoding.encode_ordinary(text)
        ids: list[int] = []
        for stretch, whole in self._stretches(text):
            ids.extend(self._encode_one(stretch.encode()) if whole else self._encoding.encode_ordinary(stretch))
        return ids

    def _stretches(self, text: str) -> Iterator[tuple[str, bool]]:
        """The text in order, as stretches; True marks one that is a single pre-token."""
        done = 0
        for start, end in find_long_runs(text, self._long_run):
            first, last = find_run_pre_token(text, start, end, newlines_apart=self._newlines_apart)
            if first < last:
                yield text[done:first], False
                yield text[first:last], True
                done = last
        yield text[done:], False

    def _token_bytes(self, token: int) -> bytes | None:
        try:
            return self._encoding.decode_single_token_bytes(token)
        except (KeyError, OverflowError):
            return None
