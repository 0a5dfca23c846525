"""One turn of a Claude conversation: its texts, and what interrupts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Cut = Literal["media", "tag"]
Last = Literal["", "text", "image", "document", "call", "result", "thinking", "other"]


@dataclass(slots=True)
class Turn:
    """One turn: `runs` are its texts between what interrupts them (`cuts`: media, or a special token)."""

    role: Literal["system", "user", "assistant"]
    runs: list[list[str]] = field(default_factory=lambda: [[]])
    cuts: list[Cut] = field(default_factory=list)
    last: Last = ""
    opens_with_call: bool = False

    @property
    def empty(self) -> bool:
        return not self.cuts and not self.runs[0]

    @property
    def open_result(self) -> bool:
        """Whether the turn ends in tool results: the model then goes on in this turn."""
        return self.last == "result"

    def write(self, text: str) -> None:
        if text:
            self.runs[-1].append(text)

    def cut(self, kind: Cut) -> None:
        self.cuts.append(kind)
        self.runs.append([])

    def texts(self) -> list[str]:
        return ["".join(run) for run in self.runs]
