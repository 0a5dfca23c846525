"""What every test may use, and the rule on skips: what a machine lacks is skipped with a reason, never in CI."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.live import live  # noqa: F401  a fixture

NEEDS = {
    "redis": ("redis-server",), "browser": ("chromium", "chromium-browser", "google-chrome"),
    "promtool": ("promtool",), "nginx": ("nginx", "/usr/sbin/nginx"), "kubectl": ("kubectl",),
}
"""Marker -> commands, one of which it needs on PATH."""

NO_SKIPS = "TALLYSTICK_NO_SKIPS"
"""Set in CI: a skipped test fails the run."""

# How long an example takes says more about the load of the machine than about the code.
settings.register_profile("any_load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_load")


def pytest_configure() -> None:
    """A shell without job control starts its background jobs with SIGINT ignored, and a child inherits that. Tests send
    SIGINT to themselves and to their children, so it gets its usual handler here."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@pytest.fixture(scope="session", autouse=True)
def only_loopback() -> Iterator[None]:
    """No test reaches beyond this machine: the service must work in a closed network."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def check(own: socket.socket, address: Any) -> None:
        if own.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")

    def guarded(own: socket.socket, address: Any) -> None:
        check(own, address)
        connect(own, address)

    def guarded_ex(own: socket.socket, address: Any) -> int:
        check(own, address)
        return connect_ex(own, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        yield
