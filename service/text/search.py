"""Searching the longest text that counts at most N tokens, by counting candidates.

Lists of token ids are never cut: ids break characters in two, and text made of them may count differently. Counts of
growing texts are not quite monotonic, so every result is one that was counted itself. The search looks at texts not
much longer than the result, so it is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable

Count = Callable[[str], int]

GUESSED_CHARS_PER_TOKEN = 4


def find_longest(most: int, limit: int, locate_tokens: Callable[[int], int], first: int = 0) -> tuple[int, int]:
    """A length that fits `limit` while the next longer one does not, and its tokens. `most` must not fit, 0 must.

    The search begins at `first`, or at 4 characters a token, and doubles the length until it does not fit. Then it
    narrows the range by interpolation, and by halving in every third step. That takes about ten counts of texts that
    are at most twice as long as the result.
    """
    low, low_tokens = 0, 0
    high = min(most, first or limit * GUESSED_CHARS_PER_TOKEN + 16)
    while high < most and (tokens := locate_tokens(high)) <= limit:
        low, low_tokens = high, tokens
        high = min(most, high * 2)
    high_tokens = limit + 1 if high == most else locate_tokens(high)
    step = 0
    while high - low > 1:
        step += 1
        span, share = high - low, (limit - low_tokens) / max(1, high_tokens - low_tokens)
        middle = low + (span // 2 if step % 3 == 0 else min(span - 1, max(1, int(span * share))))
        tokens = locate_tokens(middle)
        if tokens <= limit:
            low, low_tokens = middle, tokens
        else:
            high, high_tokens = middle, tokens
    return low, locate_tokens(low)
