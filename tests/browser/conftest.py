"""Tests with a real Chromium and the real service. No page that a test opens may write an error to its console, or
request anything from another origin."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.conftest import NEEDS
from tests.support.live import ROOT, LiveServer

OUTPUT = ROOT / "test-output"
"""Screenshots to look at. They are not in git."""

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)
"""Options to run Chromium as root in a container, without requests of its own to the network."""

PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

DESKTOP = {"width": 1360, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for this package. While it is open, no other test of this process can run an event loop."""
    found = next(filter(None, map(shutil.which, NEEDS["browser"])), None)
    assert found, "the marker `browser` skips these tests without one"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watch:
    """What pages did that they should not do. `expected` are parts of console lines that a test causes on purpose."""

    origin: str
    expected: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("weberror", lambda error: self.found.append(f"uncaught: {error.error}"))
        context.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(part in message.text for part in self.expected):
            self.found.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        there = urlsplit(request.url)
        if f"{there.scheme}://{there.netloc}" != self.origin:
            self.found.append(f"asked elsewhere: {request.url}")


Visit = Callable[..., Page]


@pytest.fixture
def watch(live: LiveServer) -> Watch:
    return Watch(live.url)


@pytest.fixture
def visit(browser: Browser, live: LiveServer, watch: Watch) -> Iterator[Visit]:
    """`visit("cut", locale="ko-KR")` opens a tab of the page in a new browser context. `url` chooses another server."""
    contexts: list[BrowserContext] = []

    def open_page(place: str = "tokens", *, url: str = live.url, **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, "locale": "en-US", **settings})
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        watch.origin = url
        watch.over(context)
        page = context.new_page()
        page.goto(f"{url}/#{place}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watch.found == []


def screenshot(page: Page, name: str) -> Path:
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path
