"""What OpenAI bills for an image of a given size: tiles of 512 px or patches of 32 px, by the model's rule."""

from __future__ import annotations

import math

from service.families.openai_rules import MAX_PATCHES, ImageRule, PatchImages, Sizing, TileImages

PATCH, TILE = 32, 512

DOUBTED_PATCHES = 1_536
"""The limit in older copies of OpenAI's images guide. Newer copies allow more, so above it a bill may be lower."""


def image_tokens(rule: ImageRule, size: tuple[int, int], detail: str | None, surface: str) -> int:
    """Tokens of one image of `size` (width, height) in px."""
    if isinstance(rule, TileImages):
        return rule.base if detail == "low" else rule.base + rule.tile * _tiles(rule, size)
    patches = _patches(_sizing(rule, detail), size)
    return -(-patches * rule.hundredths // 100) + (rule.responses if surface == "responses" else rule.chat)


def image_bound(rule: ImageRule, detail: str | None, surface: str) -> int:
    """The most tokens that an image can cost, whatever its size."""
    if isinstance(rule, TileImages):
        long = math.ceil(rule.fit / TILE)
        return rule.base if detail == "low" else rule.base + rule.tile * long * math.ceil(rule.shortest / TILE)
    sizing = _sizing(rule, detail)
    patches = min(sizing.patches, math.ceil(sizing.side / PATCH) ** 2, MAX_PATCHES)
    return -(-patches * rule.hundredths // 100) + (rule.responses if surface == "responses" else rule.chat)


def image_doubt(rule: ImageRule, size: tuple[int, int], detail: str | None) -> tuple[int, int]:
    """How far the bill of one image may be below and above `image_tokens`. (0, 0) where the rule is certain."""
    if isinstance(rule, TileImages):
        return 0, 0
    sizing = _sizing(rule, detail)
    over = 0
    if not rule.measured and sizing.patches > DOUBTED_PATCHES:
        over = _patches(sizing, size) - _patches(Sizing(2048, DOUBTED_PATCHES), size)
    return -2 - max(0, over * rule.hundredths // 100), 2


def _sizing(rule: PatchImages, detail: str | None) -> Sizing:
    return rule.sizing.get(detail or "auto") or rule.sizing["auto"]


def _tiles(rule: TileImages, size: tuple[int, int]) -> int:
    width, height = float(size[0]), float(size[1])
    longest = max(width, height)
    if longest > rule.fit:
        width, height = width * rule.fit / longest, height * rule.fit / longest
    shortest = min(width, height)
    if shortest > rule.shortest:
        width, height = width * rule.shortest / shortest, height * rule.shortest / shortest
    return max(1, math.ceil(math.floor(width) / TILE)) * max(1, math.ceil(math.floor(height) / TILE))


def _patches(sizing: Sizing, size: tuple[int, int]) -> int:
    """Patches after the image is resized. Above the budget both sides shrink by one factor, and then once more, so that
    one side fills its last patch. The sides are rounded down."""
    width, height = float(size[0]), float(size[1])
    longest = max(width, height)
    if longest > sizing.side:
        width, height = width * sizing.side / longest, height * sizing.side / longest
    patches = math.ceil(width / PATCH) * math.ceil(height / PATCH)
    if patches <= sizing.patches:
        return max(1, patches)
    scale = math.sqrt(PATCH * PATCH * sizing.patches / (width * height))
    across, down = width * scale / PATCH, height * scale / PATCH
    scale *= min(math.floor(across) / across if across >= 1 else 1, math.floor(down) / down if down >= 1 else 1)
    width, height = math.floor(width * scale), math.floor(height * scale)
    return min(sizing.patches, max(1, math.ceil(width / PATCH)) * max(1, math.ceil(height / PATCH)))
