from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.support.live import HTTP, LiveServer

pytestmark = pytest.mark.browser

EXAMPLES = {
    "OpenAI Chat with a tool": "gpt-4o",
    "Anthropic Messages with a tool": "claude-sonnet-4-5",
    "Gemini with a function": "gemini-2.5-flash",
}


def body_of(page: Page) -> Any:
    return json.loads(page.get_by_role("textbox", name="Request body (JSON)").input_value())


def write(page: Page, body: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    page.get_by_role("textbox", name="Request body (JSON)").fill(text)


def number(text: str) -> int:
    return int(text.replace(",", "").strip())


@pytest.mark.parametrize(("example", "model"), EXAMPLES.items())
def test_a_request_is_broken_down_by_section_and_turn(visit: Visit, live: LiveServer, example: str, model: str) -> None:
    page = visit("request")
    page.get_by_label("Examples").select_option(example)
    body = body_of(page)
    assert body["model"] == model
    count = HTTP.post(f"{live.url}/v1/countTokens", json={"model": model, "request": body}).json()
    expect(page.locator(".total strong")).to_have_text(f"{count['input_tokens']:,}")
    expect(page.locator(".total .badge")).to_have_text(count["method"])
    rows = page.get_by_role("table", name="Tokens by section").get_by_role("row").all()[1:]
    shown = {
        row.get_by_role("rowheader").inner_text().split()[0].lower(): number(row.get_by_role("cell").first.inner_text())
        for row in rows
    }
    assert shown == {section: tokens for section, tokens in count["details"].items() if tokens}
    assert sum(shown.values()) == count["input_tokens"]
    bar = page.get_by_role("img", name=re.compile("^By section"))
    expect(bar).to_be_visible()
    assert bar.locator(".slice").count() == len(shown)
    turns = page.get_by_role("region", name="Turn by turn").get_by_role("row").all()[1:]
    assert len(turns) == len(body.get("messages") or body["contents"])
    assert number(turns[-1].get_by_role("cell").last.inner_text()) == count["input_tokens"]


def test_the_budget_is_met_against_the_window(visit: Visit) -> None:
    page = visit("request")
    result = page.get_by_role("region", name="What it comes to")
    expect(result).to_contain_text("of 128,000 tokens of the window")
    expect(result).to_contain_text("It fits.")
    expect(result).to_contain_text(re.compile(r"Cost with 500 tokens of output: \$0\.00\d+"))
    write(page, {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 20_000})
    expect(result).to_contain_text("It does not fit. 20000 output tokens, 16384 allowed.")


def test_what_cannot_be_counted_is_listed_with_what_is_assumed(visit: Visit) -> None:
    page = visit("request")
    page.get_by_label("Examples").select_option("OpenAI Responses with a picture")
    table = page.get_by_role("table", name="Not countable from the body")
    expect(table).to_contain_text("input[0].content[1]")
    assert number(table.get_by_role("cell").last.inner_text()) > 0


def test_the_same_request_stands_on_other_models(visit: Visit) -> None:
    page = visit("request")
    table = page.get_by_role("region", name="The same request on other models").get_by_role("table")
    for model in ("gpt-4o", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"):
        expect(table.get_by_role("row", name=model).first).to_contain_text("$0.00")


def test_what_is_no_request_yet_is_said_in_words(visit: Visit) -> None:
    page = visit("request")
    result = page.get_by_role("region", name="What it comes to")
    expect(result).to_contain_text("input tokens")
    write(page, '{"model": "gpt-4o", ')
    expect(result).to_contain_text("This is not JSON yet.")
    write(page, {"messages": []})
    expect(result).to_contain_text("The body names no model.")
    page.get_by_role("combobox", name="Model", exact=True).fill("gpt-4o")
    page.keyboard.press("Tab")
    expect(page.locator(".total strong")).to_be_visible()


def test_what_the_service_refuses_is_said_with_its_path(visit: Visit, watch: Any) -> None:
    watch.expected.append("status of 400")
    page = visit("request")
    write(page, {"model": "gpt-4o", "messages": [{"role": "user", "content": 7}]})
    result = page.get_by_role("region", name="What it comes to")
    expect(result).to_contain_text("The service could not take this.")
    expect(result).to_contain_text("messages[0].content")
