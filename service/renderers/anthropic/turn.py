"""One turn of a Claude conversation: its texts, and what stands between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

BreakKind = Literal["media", "tag"]
LastKind = Literal["", "text", "image", "document", "call", "result", "thinking", "other"]


@dataclass(slots=True)
class Turn:
    """One turn. Each of the `breaks` (media or a special token) stands between two of its texts, the `pieces`.

    `last` is the kind of what was written last.
    """

    role: Literal["system", "user", "assistant"]
    pieces: list[list[str]] = field(default_factory=lambda: [[]])
    breaks: list[BreakKind] = field(default_factory=list)
    last: LastKind = ""
    opens_with_call: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.breaks and not self.pieces[0]

    @property
    def ends_in_result(self) -> bool:
        """Whether the turn ends in tool results. The model then continues this turn."""
        return self.last == "result"

    def write(self, text: str) -> None:
        if text:
            self.pieces[-1].append(text)

    def add_break(self, kind: BreakKind) -> None:
        """End the current text and begin another."""
        self.breaks.append(kind)
        self.pieces.append([])

    def join_texts(self) -> list[str]:
        """The texts between the breaks: one more than there are breaks."""
        return ["".join(run) for run in self.pieces]
