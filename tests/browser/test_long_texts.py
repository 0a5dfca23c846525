"""A million characters: typing stays fast, and only what is visible is in the page."""

from __future__ import annotations

import random
import statistics
import string
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

MILLION = 1_000_000

MEASURE = """() => {
  window.keys = [];
  document.querySelector('textarea').addEventListener('keydown', () => {
    const begun = performance.now();
    requestAnimationFrame(() => {
      const drawn = new MessageChannel();
      drawn.port1.onmessage = () => window.keys.push(performance.now() - begun);
      drawn.port2.postMessage(0);
    });
  });
}"""
"""Milliseconds from pressing a key to the end of the frame that shows it."""


def english() -> str:
    chance = random.Random(7)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(3000)]
    text = " ".join(chance.choice(words) + chance.choice(("", "", "", ",", ".\n")) for _ in range(200_000))
    return text[:MILLION]


def one_line() -> str:
    return english().replace("\n", " ")


def korean() -> str:
    return ("오늘 부산의 날씨는 맑고 토크나이저는 느립니다.\n" * 50_000)[:MILLION]


def paste(page: Page, text: str) -> None:
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator("textarea").first.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


@pytest.mark.parametrize("make", [english, one_line, korean])
def test_keys_are_quick_after_a_million_characters(
    visit: Visit, capsys: pytest.CaptureFixture[str], make: Callable[[], str]
) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator(".facts")).to_be_visible()
    page.evaluate(MEASURE)
    paste(page, make())
    typed = "while it is counted, "
    for char in typed:
        page.keyboard.press(char if char != " " else "Space")
        shown = page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {"
            "const e = document.activeElement; done(e.value.slice(0, e.selectionEnd).at(-1)); })))"
        )
        assert shown == char, "a key is shown within two frames"
    area = page.locator("textarea").first
    assert area.evaluate("e => e.value.slice(0, e.selectionEnd)").endswith(typed)
    expect(page.locator(".facts")).to_contain_text(f"characters: {MILLION + len(typed):,}", timeout=60_000)
    keys = page.evaluate("window.keys")
    with capsys.disabled():
        print(f"\n  {make.__name__}: keys after 1,000,000 characters: median {statistics.median(keys):.0f} ms, "
              f"longest {max(keys):.0f} ms of {len(keys)}")
    assert page.locator("*").count() < 4000, "only what can be seen is in the page"
    box = page.locator(".tokenbox")
    box.focus()
    page.keyboard.press("End")
    expect(page.locator(".inspector")).to_contain_text(f"–{MILLION + len(typed):,}")
    assert page.locator(".tokenbox .row").count() < 60


def test_all_of_it_is_selected_copied_and_replaced(visit: Visit) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    text = english()[:100_000]
    paste(page, text)
    expect(page.locator(".pager")).to_contain_text("of 13")
    page.keyboard.press("Control+a")
    expect(page.get_by_text("All parts are selected.")).to_be_visible()
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == text
    page.keyboard.type("short")
    expect(page.locator(".facts")).to_contain_text("characters: 5 ")
    expect(page.locator(".pager")).to_be_hidden()


def test_a_token_leads_to_its_part(visit: Visit) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    text = english()[:60_000]
    paste(page, text)
    expect(page.locator(".facts")).to_contain_text("characters: 60,000")
    page.locator(".tokenbox").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator(".pager")).to_contain_text("Part 1 of")
    assert page.locator("textarea").first.input_value() == text[: len(page.locator("textarea").first.input_value())]
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator(".pager")).not_to_contain_text("Part 1 of")
    area = page.locator("textarea").first
    chosen = area.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)")
    assert chosen
    assert text.endswith(chosen)


def test_a_text_beyond_what_is_shown_is_counted_all_the_same(visit: Visit) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator(".facts")).to_be_visible()
    paste(page, "word " * 300_000)
    expect(page.locator(".tokenbox")).to_contain_text("This one is longer: it is counted below.")
    row = page.get_by_role("table", name="Side by side").get_by_role("row", name="gpt-5")
    expect(row).to_contain_text("300,001", timeout=60_000)
