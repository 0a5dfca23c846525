"""Collecting a rendering piece by piece: texts, fixed costs, and what is not certain."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.types import Doubt, Edge, Overhead, Rendering, Section, Segment, Uncounted, Warned


@dataclass(slots=True)
class RenderingBuilder:
    """What a renderer writes into. `build` makes the immutable Rendering of it.

    `rules` is the name of the rule set. Neighbouring spans of one section are joined.
    """

    rules: str
    segments: list[Segment] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)
    uncounted: list[Uncounted] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)

    def add_text(self, section: Section, text: str, edge: Edge = "open") -> None:
        """Add a segment of one section. An empty text adds nothing."""
        if text:
            self.segments.append(Segment(((section, text),), edge))

    def add_spans(self, spans: list[tuple[Section, str]], edge: Edge = "open") -> None:
        """Add one segment that spans several sections, in their order."""
        joined: list[tuple[Section, str]] = []
        for section, text in spans:
            if joined and joined[-1][0] == section:
                joined[-1] = (section, joined[-1][1] + text)
            elif text:
                joined.append((section, text))
        if joined:
            self.segments.append(Segment(tuple(joined), edge))

    def add_cost(self, section: Section, tokens: int, rule: str) -> None:
        """Add a fixed number of tokens, which may be negative. `rule` names their reason."""
        if tokens:
            self.overheads.append(Overhead(section, tokens, rule))

    def add_doubt(self, low: int, high: int, reason: str) -> None:
        """Widen the error band: the true number may be off by `low` (at most 0) to `high` tokens."""
        self.doubts.append(Doubt(low, high, reason))

    def add_uncounted(self, path: str, kind: str, reason: str, assumed_tokens: int = 0) -> None:
        """List something that cannot be counted from the body.

        `assumed_tokens` are only named here: the caller must add them with `add_cost`, too.
        """
        self.uncounted.append(Uncounted(path, kind, reason, assumed_tokens))

    def build(self) -> Rendering:
        return Rendering(
            tuple(self.segments), tuple(self.overheads), self.rules,
            tuple(self.uncounted), tuple(self.doubts), tuple(self.warnings),
        )
