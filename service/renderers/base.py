"""Collecting a rendering piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.types import Doubt, Edge, Overhead, Rendering, Section, Segment, Uncounted, Warned


@dataclass(slots=True)
class RenderingBuilder:
    """What a renderer writes into; `build` freezes it. Neighbouring spans of one section are joined."""

    rules: str
    segments: list[Segment] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)
    uncounted: list[Uncounted] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)

    def add_text(self, section: Section, text: str, edge: Edge = "open") -> None:
        """A segment of one section; nothing for ""."""
        if text:
            self.segments.append(Segment(((section, text),), edge))

    def add_spans(self, spans: list[tuple[Section, str]], edge: Edge = "open") -> None:
        """A segment over several sections, in order."""
        joined: list[tuple[Section, str]] = []
        for section, text in spans:
            if joined and joined[-1][0] == section:
                joined[-1] = (section, joined[-1][1] + text)
            elif text:
                joined.append((section, text))
        if joined:
            self.segments.append(Segment(tuple(joined), edge))

    def add_cost(self, section: Section, tokens: int, rule: str) -> None:
        if tokens:
            self.overheads.append(Overhead(section, tokens, rule))

    def add_doubt(self, low: int, high: int, reason: str) -> None:
        self.doubts.append(Doubt(low, high, reason))

    def add_uncounted(self, path: str, kind: str, reason: str, assumed_tokens: int = 0) -> None:
        """Something the body does not tell; `assumed_tokens` must be added with `cost` by the caller."""
        self.uncounted.append(Uncounted(path, kind, reason, assumed_tokens))

    def build(self) -> Rendering:
        return Rendering(
            tuple(self.segments), tuple(self.overheads), self.rules,
            tuple(self.uncounted), tuple(self.doubts), tuple(self.warnings),
        )
