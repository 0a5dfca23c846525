"""How many patches (Gemini 3 and later) or tiles (up to 2.5) a picture of a given size is cut into."""

from __future__ import annotations

import math
from fractions import Fraction

Size = tuple[float, float]

MAX_SIDE = 3_072
"""Pixels. A larger picture is scaled down to this side before it is cut (documented)."""

SMALL_SIDE = 384
"""Pixels. A picture that is not larger is not cut (documented; 8 x 8 and 239 x 178 cost one tile)."""

MAX_TILES = 17
"""4 x 4 tiles of 768 px, and the whole picture once more."""


def patch_grid(size: Size, budget: int) -> int:
    """Patches of the largest grid that has the picture's shape and at most `budget` patches.

    The size in pixels does not matter. The grid is floor(sqrt(B w / h)) x floor(sqrt(B h / w)): with B = 1,120 a square
    has 1,089 patches, 16:9 has 1,100 and 4:3 has 1,064.
    """
    width, height = (Fraction(side) if side >= 1 else Fraction(1) for side in size)
    across = math.isqrt(math.floor(budget * width / height))
    down = math.isqrt(math.floor(budget * height / width))
    return min(budget, max(1, across) * max(1, down))


def tile_count(size: Size) -> int:
    """Tiles of a picture, with one for the whole: 7 for 540 x 360, 13 for 3008 x 2000, 5 for a Letter page.

    The side of a tile is the smaller side of the picture / 1.5, rounded down, but at least 256 and at most 768 pixels.
    """
    if max(size) <= SMALL_SIDE:
        return 1
    longest = max(*size, MAX_SIDE)
    # Whole pixels by exact fractions: 5,766 x (3,072 / 5,766) is a little over 3,072 as a float, one row of tiles more.
    width, height = (max(1, math.floor(Fraction(side) * MAX_SIDE / Fraction(longest))) for side in size)
    crop = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return 1 + math.ceil(width / crop) * math.ceil(height / crop)
