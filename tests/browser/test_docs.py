"""The API's documentation in a browser: an operation is opened and tried out, and the page keeps to its policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from service.auth.key_store import FileStore
from service.auth.keys import make_key
from tests.browser.conftest import DESKTOP, PATIENCE_MS, Visit, Watch, screenshot
from tests.browser.test_accessibility import findings
from tests.support.live import LiveServer, running_server

pytestmark = pytest.mark.browser

LISTEN = """
window.violations = [];
addEventListener('securitypolicyviolation', (e) => violations.push(`${e.effectiveDirective}: ${e.blockedURI}`), true);
"""


@pytest.fixture
def page(browser: Browser, live: LiveServer, watch: Watch) -> Page:
    context = browser.new_context(viewport=DESKTOP, locale="en-US")
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(LISTEN)
    watch.over(context)
    return context.new_page()


def open_operation(page: Page, tag: str, name: str) -> Locator:
    operation = page.locator(f"#operations-{tag}-{name}")
    operation.locator("button.opblock-summary-control").click()
    return operation


def execute(operation: Locator) -> dict[str, object]:
    """The JSON of the answer that the page shows."""
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    shown = operation.locator(".live-responses-table .response .highlight-code code").first
    expect(shown).to_be_visible()
    answer: dict[str, object] = json.loads(shown.inner_text())
    return answer


def check(page: Page, watch: Watch) -> None:
    """Nothing that the policy forbids was tried, and nobody else was asked."""
    assert page.evaluate("violations") == []
    assert watch.found == []


def test_an_operation_is_opened_and_tried_out(page: Page, live: LiveServer, watch: Watch) -> None:
    page.goto(f"{live.url}/docs")
    operation = open_operation(page, "native", "count_tokens")
    answer = execute(operation)
    assert (answer["model"], answer["input_tokens"]) == ("gpt-4o", 7)
    expect(operation.locator(".request-url")).to_contain_text(f"{live.url}/v1/countTokens")
    open_operation(page, "google", "gemini_count_tokens")
    page.get_by_role("button", name="Authorize", exact=True).click()
    expect(page.locator(".dialog-ux")).to_contain_text("x-goog-api-key")
    page.locator(".close-modal").click()
    page.get_by_role("button", name="Schemas").click()
    expect(page.locator(".models")).to_contain_text("AccuracyClass")
    screenshot(page, "docs")
    check(page, watch)


def test_the_policy_is_in_force(page: Page, live: LiveServer, watch: Watch) -> None:
    """The other tests would pass without a policy, too."""
    watch.expected += ["Content Security Policy", "Content-Security-Policy", "TrustedScript"]
    page.goto(f"{live.url}/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    page.evaluate("""() => {
        const script = document.createElement('script');
        try {
            script.textContent = 'window.ran = true';
        } catch (error) {
            window.refused = String(error);
        }
        document.body.append(script);
        const style = document.createElement('style');
        style.textContent = 'body { color: red }';
        document.body.append(style);
    }""")
    assert "TrustedScript" in page.evaluate("refused")
    assert page.evaluate("window.ran") is None
    assert any(line.startswith("style-src") for line in page.evaluate("violations"))


def test_the_playground_leads_there_in_both_languages(visit: Visit) -> None:
    for locale, name in (("en-US", "API documentation"), ("ko-KR", "API 문서")):
        page = visit(locale=locale)
        link = page.get_by_role("link", name=name)
        link.focus()
        expect(link).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**/docs")
        expect(page.locator(".opblock").first).to_be_visible()
        page.get_by_role("link", name="Tallystick", exact=True).click()
        expect(page.get_by_role("tablist")).to_be_visible()


def test_where_a_key_is_needed_the_page_asks_for_it(page: Page, watch: Watch, tmp_path: Path) -> None:
    text, key = make_key("somebody", ["models", "count"])
    FileStore(tmp_path / "keys.json").change(lambda kept: kept.update({key.id: key}))
    watch.expected.append("401")
    with running_server(keys_file=tmp_path / "keys.json") as server:
        watch.origin = server.url
        page.goto(f"{server.url}/docs")
        field = page.get_by_label("API key")
        expect(field).to_be_visible()
        assert findings(page) == []
        field.fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("not known")
        field.fill(text)
        page.keyboard.press("Enter")
        answer = execute(open_operation(page, "native", "count_tokens"))
        assert answer["input_tokens"] == 7
        check(page, watch)
