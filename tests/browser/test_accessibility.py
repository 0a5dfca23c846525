"""axe-core on every tab, light and dark, and on the key dialog. Screenshots are kept to look at."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Visit, screenshot

pytestmark = pytest.mark.browser

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")

READY = {
    "tokens": "#panel-tokens table tbody tr", "request": "#panel-request .sticky tbody tr", "cut": ".mergerow .tok",
    "train": ".encoded", "cost": "#panel-cost .sticky tbody tr", "stream": ".emitted",
    "dashboard": "#panel-dashboard section",
}
"""Tab -> the element that is there when its results have come."""

DRESSES = {
    "desktop-light-en": {"viewport": DESKTOP, "locale": "en-US", "color_scheme": "light"},
    "phone-dark-ko": {"viewport": PHONE, "locale": "ko-KR", "color_scheme": "dark"},
}


def findings(page: Page) -> list[str]:
    """The findings of axe of every impact, a line each."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    report = page.evaluate("async () => JSON.stringify(await axe.run(document, {resultTypes: ['violations']}))")
    return [
        f"{finding['impact']}: {finding['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for finding in json.loads(report)["violations"] for node in finding["nodes"]
    ]


@pytest.mark.parametrize("dress", DRESSES)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(visit: Visit, dress: str) -> None:
    page = visit(**DRESSES[dress])
    found = []
    for tab, ready in READY.items():
        page.locator(f"#tab-{tab}").click()
        expect(page.locator(ready).first).to_be_visible()
        screenshot(page, f"{tab}-{dress}")
        found += [f"{tab}: {line}" for line in findings(page)]
        width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        if width > room:
            found.append(f"{tab}: {width} px wide on a screen of {room}")
    assert not found, "\n".join(found)


def test_axe_finds_nothing_in_the_key_dialog_and_in_what_goes_wrong(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="API key").click()
    assert not findings(page), "\n".join(findings(page))
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Add a model").fill("gtp-4o")
    page.keyboard.press("Enter")
    expect(page.locator(".failed")).to_be_visible()
    assert not findings(page), "\n".join(findings(page))


def test_motion_is_left_out_for_those_who_ask(visit: Visit) -> None:
    page = visit("cut", reduced_motion="reduce")
    expect(page.locator(".mergerow .tok").first).to_be_visible()
    moving = page.locator(".tok, .node, tr").evaluate_all(
        "all => all.filter(e => getComputedStyle(e).transitionDuration !== '0s').length"
    )
    assert moving == 0
