"""When keys are on, the page asks for one and keeps it in memory only."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, Watch
from tests.support.live import ROOT, live_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server that needs keys, and a key that the command made."""
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    made = subprocess.run(
        [sys.executable, "-m", "service.cli", "keys", "add", "page", "--file", str(file)],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    key = re.search(r"\S{30,}", made.stdout)
    assert key, made.stdout
    with live_server(warm="o200k_base", keys_file=file) as url:
        yield url, key[0]


def give(page: Page, key: str) -> None:
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Use this key").click()


def test_a_key_is_asked_for_once_and_kept_in_memory_only(
    visit: Visit, watch: Watch, keyed: tuple[str, str]
) -> None:
    watch.expected.append("status of 401")
    url, key = keyed
    page = visit(url=url)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_count(1)
    expect(dialog).to_contain_text("kept in the memory of this page only")
    give(page, "not-a-key-of-this-service-0000000000")
    expect(dialog).to_contain_text("The key was not accepted.")
    give(page, key)
    expect(page.locator(".facts")).to_contain_text("Tokens:")
    expect(dialog).to_have_count(0)
    page.get_by_role("tab", name="How it was cut").click()
    expect(page.locator(".mergerow").first).to_be_visible()
    kept = page.evaluate(
        "async () => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, "
        "history.state, await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML])"
    )
    assert key not in kept
    page.reload()
    expect(dialog).to_have_count(1)


def test_who_gives_no_key_is_told_so_and_may_try_again(visit: Visit, watch: Watch, keyed: tuple[str, str]) -> None:
    watch.expected.append("status of 401")
    url, key = keyed
    page = visit(url=url, place="cut")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert").first).to_contain_text("A key is needed.")
    page.get_by_role("button", name="API key").click()
    give(page, key)
    page.get_by_role("button", name="Digits").click()
    expect(page.locator(".mergerow").first).to_be_visible()
