"""How many tokens a picture of a given shape makes on Gemini: patches of a grid (3 and later) or tiles (up to 2.5)."""

from __future__ import annotations

import math
from fractions import Fraction

Size = tuple[float, float]

MAX_SIDE = 3_072
"""Larger pictures are scaled down to it before they are cut (documented)."""

SMALL_SIDE = 384
"""A picture no larger is not cut (documented; 8 x 8 and 239 x 178 cost one tile)."""

MOST_TILES = 17
"""4 x 4 tiles of 768 px and the whole."""


def patch_grid(size: Size, budget: int) -> int:
    """Patches of the largest grid of a picture's shape with at most `budget` of them, whatever its size in pixels.

    floor(sqrt(B w / h)) x floor(sqrt(B h / w)): 1,089 for a square, 1,100 for 16:9, 1,064 for 4:3 at B = 1,120.
    """
    width, height = (Fraction(side) if side >= 1 else Fraction(1) for side in size)
    across = math.isqrt(math.floor(budget * width / height))
    down = math.isqrt(math.floor(budget * height / width))
    return min(budget, max(1, across) * max(1, down))


def tile_count(size: Size) -> int:
    """Tiles of a picture that is cut, the whole included: 7 for 540 x 360, 13 for 3008 x 2000, 5 for a Letter page.

    A crop is the smaller side / 1.5, rounded down, from 256 to 768.
    """
    if max(size) <= SMALL_SIDE:
        return 1
    longest = max(*size, MAX_SIDE)
    # Whole pixels, by whole numbers: 5,766 x (3,072 / 5,766) is a little over 3,072 as a float and would cost a row.
    width, height = (max(1, math.floor(Fraction(side) * MAX_SIDE / Fraction(longest))) for side in size)
    crop = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return 1 + math.ceil(width / crop) * math.ceil(height / crop)
