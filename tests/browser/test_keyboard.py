"""The whole page without a mouse."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Visit

pytestmark = pytest.mark.browser


def focused(page: Page) -> str:
    """Role or tag, and name, of the element that has the focus."""
    return str(page.evaluate(
        "() => { const e = document.activeElement; return `${e.getAttribute('role') ?? e.tagName.toLowerCase()}: "
        "${e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent.slice(0, 40)}`; }"
    ))


def tab_to(page: Page, wanted: str, most: int = 60) -> None:
    """Press Tab until this element has the focus."""
    seen = []
    for _ in range(most):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        if re.fullmatch(wanted, seen[-1]):
            return
    raise AssertionError(f"{wanted} is not reached by Tab: {seen}")


def test_the_first_stop_leads_past_the_head(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("Tab")
    assert focused(page) == "a: Skip to the content"
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    tab_to(page, "button: Remove gpt-5", most=3)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove gpt-5")).to_have_count(0)


def test_tabs_are_changed_by_arrows_and_hold_one_stop(visit: Visit) -> None:
    page = visit()
    tab_to(page, "tab: Tokens")
    for name in ("Request", "How it was cut", "Train a BPE"):
        page.keyboard.press("ArrowRight")
        assert focused(page) == f"tab: {name}"
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    page.keyboard.press("End")
    assert focused(page) == "tab: Dashboard"
    page.keyboard.press("ArrowRight")
    assert focused(page) == "tab: Tokens"
    page.keyboard.press("Home")
    assert page.url.endswith("#tokens")


def test_the_open_tab_is_in_view_on_a_narrow_screen(visit: Visit) -> None:
    page = visit("dashboard", viewport=PHONE)
    expect(page.get_by_role("tab", name="Dashboard")).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("Tab")
    assert focused(page) == "a: Skip to the content"


def test_a_text_is_written_and_its_tokens_walked_through(visit: Visit) -> None:
    page = visit()
    tab_to(page, "textarea: Text")
    page.keyboard.press("Control+a")
    page.keyboard.type("strawberry fields\nfor")
    expect(page.locator(".facts")).to_contain_text("characters: 21")
    tab_to(page, "listbox: Tokens")
    inspector = page.locator(".inspector")
    expect(inspector).to_contain_text("Token 1 /")
    page.keyboard.press("ArrowRight")
    expect(inspector).to_contain_text("Id 1618")
    active = page.locator(".tokenbox").get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-label", "raw, id 1618")
    page.keyboard.press("End")
    expect(inspector).to_contain_text("Characters 18–21")
    page.keyboard.press("ArrowUp")
    expect(inspector).to_contain_text("Token 1 /")
    page.keyboard.press("Enter")
    chosen = page.locator("textarea").first.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)")
    assert chosen == "st"
    assert focused(page) == "listbox: Tokens"


def test_merges_are_stepped_through(visit: Visit) -> None:
    page = visit("cut")
    expect(page.locator(".mergerow").first).to_be_visible()
    tab_to(page, "button: One step back")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert focused(page) == "button: One step back", "the focus stays where it is"
    expect(page.locator("output")).to_have_text("11 of 13")
    tab_to(page, "input: Merges")
    page.keyboard.press("Home")
    expect(page.locator("output")).to_have_text("0 of 13")


def test_a_model_is_added_and_the_dialog_left_by_keys(visit: Visit) -> None:
    page = visit()
    tab_to(page, "input: Add a model")
    page.keyboard.type("gpt-4o")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove gpt-4o")).to_be_visible()
    page.get_by_role("button", name="API key").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert focused(page) == "input: Key"
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert focused(page) == "button: API key"
