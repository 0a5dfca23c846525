"""Usage: what was or will be billed, in disjoint buckets. No token is in two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

InputBucket = Literal[
    "input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h",
    "input_audio", "input_image", "input_video", "cache_read_audio", "cache_read_image", "cache_read_video",
]
OutputBucket = Literal["output", "reasoning", "output_audio", "output_image", "output_video"]
OtherBucket = Literal["web_searches", "storage_searches", "requests"]
Bucket = InputBucket | OutputBucket | OtherBucket

INPUT_BUCKETS: tuple[InputBucket, ...] = get_args(InputBucket)
OUTPUT_BUCKETS: tuple[OutputBucket, ...] = get_args(OutputBucket)
BUCKETS: tuple[Bucket, ...] = (*INPUT_BUCKETS, *OUTPUT_BUCKETS, *get_args(OtherBucket))

MAX_AMOUNT = 10**15
"""The largest number accepted in a bucket. A larger one is a mistake; up to here sums are exact."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers by bucket, without the zeros. They are tokens, except for searches and requests."""

    buckets: Mapping[Bucket, int]

    @property
    def input_tokens(self) -> int:
        """All input tokens. Price tiers depend on this number."""
        return sum(self.buckets.get(bucket, 0) for bucket in INPUT_BUCKETS)

    @property
    def output_tokens(self) -> int:
        return sum(self.buckets.get(bucket, 0) for bucket in OUTPUT_BUCKETS)


def make_usage(numbers: Mapping[Bucket, int]) -> Usage:
    """Usage in the order of BUCKETS, without the zeros of `numbers`: an empty bucket needs no price."""
    return Usage({bucket: number for bucket in BUCKETS if (number := numbers.get(bucket))})
