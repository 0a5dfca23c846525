"""What every test may use, and the rule on skips: what a machine lacks is skipped with a reason, never in CI."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.live import live  # noqa: F401  a fixture

NEEDS = {"redis": ("redis-server",), "browser": ("chromium", "chromium-browser", "google-chrome")}
"""Marker -> commands, one of which it needs on PATH."""

NO_SKIPS = "TALLYSTICK_NO_SKIPS"
"""Set in CI: a skipped test fails the run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, commands in NEEDS.items():
        if not any(shutil.which(command) for command in commands):
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(reason=f"needs {' or '.join(commands)} on PATH"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get(NO_SKIPS) and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if os.environ.get(NO_SKIPS) and skipped:
        terminalreporter.write_line(f"{NO_SKIPS} is set and {len(skipped)} were skipped: the run fails", red=True)
