"""The pages of the documentation, and what their twins are in Korean."""

from __future__ import annotations

from pathlib import Path

from tests.support.live import ROOT

TWINS = {
    "README.md": "docs/ko/README.md",
    "docs/accuracy.md": "docs/ko/accuracy.md",
    "docs/api.md": "docs/ko/api.md",
    "docs/clients.md": "docs/ko/clients.md",
    "docs/command-line.md": "docs/ko/command-line.md",
    "docs/configuration.md": "docs/ko/configuration.md",
    "docs/costs.md": "docs/ko/costs.md",
    "docs/keys.md": "docs/ko/keys.md",
    "docs/running.md": "docs/ko/running.md",
}
"""English page -> Korean page."""

ONLY_ENGLISH = ("docs/README.md", "docs/operating.md")

FOR_CONTRIBUTORS = ("docs/architecture.md",)
"""Pages that list nothing for users; only their links are checked."""

PAGES = (*TWINS, *ONLY_ENGLISH)

ADDRESS = "http://127.0.0.1:8080"
"""Of the service in every example."""


def path(name: str) -> Path:
    return ROOT / name
