"""The tokenizer of Claude 3 and later: normalization, edges, and the choice between the two counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unicodedata import category

from service.tokenizers.base import EdgeSplittable, Engine, Splittable
from service.tokenizers.claude import tables
from service.tokenizers.claude.kernel import KernelPool, KernelUnavailable
from service.tokenizers.claude.memo import MemoCounter
from service.tokenizers.claude.normalize import is_changed, normalize
from service.tokenizers.claude.pieces import Splitter
from service.types import Edge

MAX_REFUSED = 20_000
"""Line ends at which a text must not be cut. After so many (10 ms) the rest stays in one part."""

KERNEL_MIN_CHARS = 64
"""Characters from which the kernel counts. A call of it costs 2.8 us and 5 ns a character; normalizing and counting in
Python costs 0.7 us and 40 ns a character of English (60 of Korean) where it saw every unit before, which puts the
crossover at 60 (45), and 10 us more for every unit that it never saw. Measured 2026-11-30, 2 cores, CPython 3.13, `make
bench PARTS=claude`."""


class ClaudeTokenizer(Splittable, EdgeSplittable):
    """Counts Claude's content tokens: what a text adds to the frame of a message. Thread-safe.

    `open`: ctok's count of the text as a whole message, without the frame's 7 (claude-v3), 11 (v4.7) or 6 (v4.8)
    tokens; "" is 0. `inside`: the text between two letters, without their tokens; a side of the text that is itself a
    letter or digit gets none. `end`: the same with the letter on the left only. A text whose neighbours swallow it
    (a combining mark inside a word) can count less than 0 there.
    """

    engine: Engine = "fast"
    added_tokens = 0
    verified = True

    def __init__(self, family: tables.Family) -> None:
        self.name = family.name
        self.fingerprint = tables.fingerprint(family)
        self._family = family
        self._characters = tables.characters()
        self._memo = MemoCounter(family)
        self._splitter = Splitter(family)
        self.kernel_min_chars = KERNEL_MIN_CHARS
        self.kernel_missing: str | None = None
        self._kernels: KernelPool | None = None
        try:
            self._kernels = KernelPool(family)
        except KernelUnavailable as reason:
            self.kernel_missing = str(reason)

    def count(self, text: str, edge: Edge = "open") -> int:
        """Content tokens of `text`."""
        if not text:
            return 0
        if edge == "open":
            return self._count(text)
        left = "" if self._characters.is_alphanumeric(text[0]) else "a"
        right = "a" if edge == "inside" and not self._characters.is_alphanumeric(text[-1]) else ""
        return self._count(left + text + right) - len(left) - len(right)

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        """`count` of each text, in order."""
        return [self.count(text, edge) for text in texts]

    def pieces(self, text: str) -> list[bytes]:
        """The UTF-8 bytes of each token of `count(text, "open")`.

        They are one valid minimum tiling, not Anthropic's own boundaries, which are not known. A token that only
        marks a word's edge or its capitals has no bytes. Joined they are the normalized text: composed (NFC), without
        control characters, with plain spaces and in claude-v3 plain quotes; case is the text's. Newlines at the end
        that the frame pays for stand in the last piece.
        """
        if not text:
            return []
        head, body, tail = self._trim(text)
        pieces = self._splitter.split(body)
        lengths = self._splitter.newlines(tail + 2) if tail else [2]
        pieces += [b"\n" * length for length in lengths[:-1]]
        if pieces:
            pieces[0] = b" " * head + pieces[0]
            pieces[-1] += b"\n" * (lengths[-1] - 2)
        return pieces

    def can_cut(self, left: str, right: str) -> bool:
        """See `EdgeSplittable`. Only the last character of `left` and the first of `right` matter. Where it is True:
        count(left + right, "inside") = count(left, "inside") + count(right, "inside");
        count(left + right, "open") = count(left, "open") + count(right, "end");
        count(left + right, "end") = count(left, "inside") + count(right, "end").
        It holds before a newline, behind a character that writes the same whether a newline, a letter or nothing
        follows. Not behind a blank (it may be optional, or one run with the newline), an apostrophe (it may open a
        word), or a mark or symbol letter (it would join the letter that `inside` puts there).
        """
        if not left or right[:1] != "\n":
            return False
        last = left[-1]
        if self._characters.is_alphanumeric(last):
            return True
        kind = self._characters.kind(last)
        composes = kind == "Q" and category(last)[0] == "M"  # with the letter before it, which then stands at the cut
        return kind in "PQNVAL" and not composes and last not in "'\u2018\u2019" and not is_changed(last)

    def cut(self, text: str, size: int) -> list[str]:
        """`text` in parts of at least `size` characters, but for the last, that `can_cut` holds between."""
        parts, done, refused = [], 0, 0
        at = text.find("\n", size)
        while at >= 0 and refused < MAX_REFUSED:
            if self.can_cut(text[at - 1], "\n"):
                parts.append(text[done:at])
                done, at = at, at + size
            else:
                refused, at = refused + 1, at + 1
            at = text.find("\n", at)
        return [*parts, text[done:]]

    def _trim(self, text: str) -> tuple[int, str, int]:
        """The spaces that the frame's ⟨bow⟩ stands for (0 or 1), the normalized text without them and without the
        newlines at its end, and the number of those."""
        normal = normalize(text, self._family.fold_quotes)
        body = normal.rstrip("\n")
        tail = len(normal) - len(body)
        # A space that normalization made or laid bare is not the frame's.
        if self._family.frame_bow and text[0] == body[:1] == " " != body[1:2]:
            return 1, body[1:], tail
        return 0, body, tail

    def _count(self, text: str) -> int:
        if self._kernels is not None and len(text) >= self.kernel_min_chars:
            try:
                tokens = self._kernels.count(text)
                return self._count_normalized(text, self._kernels.count_normal) if tokens is None else tokens
            except KernelUnavailable:  # too large for this machine's memory
                pass
        return self._count_normalized(text, self._memo.count)

    def _count_normalized(self, text: str, count: Callable[[str], int]) -> int:
        _, body, tail = self._trim(text)
        # The frame's own two newlines join the text's, and the last token of them is the frame's.
        total = self._memo.newlines(tail + 2) - 1 if tail else 0
        if not body:
            return total + self._family.frame_bow
        return total + count(body)
