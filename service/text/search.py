"""Searching the longest text that counts at most N tokens, by counting candidates.

Lists of token ids are never cut: ids break characters in two, and text made of them may count differently. Counts of
growing texts are not quite monotonic, so every result is one that was counted itself. The search looks at texts not
much longer than the result, so it is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable

Count = Callable[[str], int]

GUESSED_CHARS_PER_TOKEN = 4


def find_longest(most: int, limit: int, tokens_of: Callable[[int], int], first: int = 0) -> tuple[int, int]:
    """(length, tokens) of a length that fits `limit` where the next longer one does not; `most` is known not to fit.

    `tokens_of(0)` fits. Gallops from `first` (a guess, or 4 characters a token), then narrows by interpolation and,
    every third step, by halving: about ten counts of texts at most twice as long as the result.
    """
    low, low_tokens = 0, 0
    high = min(most, first or limit * GUESSED_CHARS_PER_TOKEN + 16)
    while high < most and (tokens := tokens_of(high)) <= limit:
        low, low_tokens = high, tokens
        high = min(most, high * 2)
    high_tokens = limit + 1 if high == most else tokens_of(high)
    step = 0
    while high - low > 1:
        step += 1
        span, share = high - low, (limit - low_tokens) / max(1, high_tokens - low_tokens)
        middle = low + (span // 2 if step % 3 == 0 else min(span - 1, max(1, int(span * share))))
        tokens = tokens_of(middle)
        if tokens <= limit:
            low, low_tokens = middle, tokens
        else:
            high, high_tokens = middle, tokens
    return low, tokens_of(low)
