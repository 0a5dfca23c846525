from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def module(page: Page, name: str) -> str:
    """The address of a module of the page."""
    main = page.locator("script[type=module]").get_attribute("src") or ""
    return f"/{main.removesuffix('main.js')}{name}"


def words(page: Page, language: str) -> dict[str, str]:
    address = module(page, f"strings-{language}.js")
    found: Any = page.evaluate(f"async () => (await import('{address}')).{language}")
    return dict(found)


def test_both_languages_have_the_same_keys_and_blanks(visit: Visit) -> None:
    page = visit()
    en, ko = words(page, "en"), words(page, "ko")
    assert en.keys() == ko.keys()
    for key, text in en.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", ko[key])), key
        assert text, key
        assert ko[key], key


def test_the_language_follows_the_reader_and_can_be_changed_without_loss(visit: Visit) -> None:
    page = visit(locale="ko-KR")
    expect(page.get_by_role("tab", name="잘리는 과정")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "ko"
    page.get_by_role("textbox", name="글", exact=True).fill("오늘 날씨")
    expect(page.locator(".facts")).to_contain_text("글자 5자")
    page.get_by_role("button", name="English").click()
    assert page.locator("html").get_attribute("lang") == "en"
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("오늘 날씨")
    expect(page.locator(".facts")).to_contain_text("characters: 5 ")
    page.reload()
    expect(page.get_by_role("tab", name="How it was cut")).to_be_visible()


def test_the_theme_is_turned_and_remembered(visit: Visit) -> None:
    page = visit(color_scheme="light")
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(paper) != light
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate(paper) != light


def test_no_text_gets_into_the_address_or_into_storage(visit: Visit) -> None:
    page = visit()
    secret = "Sekretwort4711"
    page.get_by_role("textbox", name="Text", exact=True).fill(secret)
    expect(page.locator(".facts")).to_contain_text("characters: 14 ")
    for tab in ("request", "cut", "train", "cost", "stream"):
        page.locator(f"#tab-{tab}").click()
        field = page.locator(f"#panel-{tab} textarea, #panel-{tab} input[type=search]").first
        field.fill(f'{{"model": "gpt-4o", "prompt": "{secret}"}}')
        page.wait_for_load_state("networkidle")
        kept = page.evaluate(
            "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, "
            "document.title])"
        )
        assert secret not in kept, tab
    entries = page.evaluate("() => performance.getEntriesByType('resource').map(e => e.name)")
    assert entries
    assert not any(secret in entry for entry in entries)


def test_money_is_exact(visit: Visit) -> None:
    page = visit()
    shown = page.evaluate(
        f"async () => {{ const m = await import('{module(page, 'money.js')}');"
        "return [['0.0001525', 1], ['0.0001525', 1000], ['0', 5], ['1234567.895', 1], ['0.1', 3], ['0.00000125', 1],"
        " ['19.999', 1], ['0.99999', 1], ['123456789.12', 1000000]]"
        ".map(([amount, n]) => m.dollars(m.times(m.decimal(amount), n))); }"
    )
    assert shown == [
        "$0.0001525", "$0.1525", "$0.00", "$1,234,567.90", "$0.30", "$0.00000125", "$20.00", "$1.00",
        "$123,456,789,120,000.00",
    ]
