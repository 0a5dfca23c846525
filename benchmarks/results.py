"""RESULTS.md: a section for each part, from its latest run, with the machine and the versions that it ran on."""

from __future__ import annotations

import io
import os
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.figures import write_figures

FILE = Path(__file__).with_name("RESULTS.md")

HEAD = """# How fast it is

Written by `make bench`; each section is from the latest run of its part. Speeds are of one machine, and
ratios, measured in turns within a run, are what can be compared.
"""

PACKAGES = ("splintr-rs", "tiktoken", "tokenizers", "ctok", "uvicorn", "uvloop", "httptools", "fastapi")


class Tee(io.StringIO):
    """Standard output that is shown and kept."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)  # type: ignore[union-attr]
        return super().write(text)

    def flush(self) -> None:
        sys.__stdout__.flush()  # type: ignore[union-attr]

    @property
    def text(self) -> str:
        return self.getvalue()


def write_section(title: str, text: str) -> None:
    """Replace the section of this title, or add it at the end."""
    section = f"## {title}\n\n{_describe_run()}\n\n```text\n{text.rstrip()}\n```\n"
    old = FILE.read_text("utf-8") if FILE.exists() else HEAD
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?^```text\n.*?^```\n", re.MULTILINE | re.DOTALL)
    new = pattern.sub(lambda _: section, old) if pattern.search(old) else f"{old.rstrip()}\n\n{section}"
    FILE.write_text(new, "utf-8")
    write_figures(new)


def _describe_run() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {get_processor_name()}, {os.cpu_count()} cores, "
        f"Linux {platform.release()}, Python {platform.python_version()}; "
        f"load average before and during: {os.getloadavg()[2]:.1f}.\n{versions}."
    )


def get_processor_name() -> str:
    rows = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    return next((row.partition(":")[2].strip() for row in rows if row.startswith("model name")), platform.machine())
