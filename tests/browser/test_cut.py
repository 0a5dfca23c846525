from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.support.live import HTTP, LiveServer

pytestmark = pytest.mark.browser


def row(page: Page) -> list[str]:
    return page.locator(".mergerow").first.get_by_role("listitem").all_inner_texts()


def explain(live: LiveServer, tokenizer: str, text: str) -> Any:
    return HTTP.post(f"{live.url}/v1/explain", json={"tokenizer": tokenizer, "text": text}).json()


def test_merges_are_stepped_through_forwards_and_backwards(visit: Visit, live: LiveServer) -> None:
    page = visit("cut")
    page.get_by_role("button", name="strawberry").click()
    first = explain(live, "o200k_base", "strawberry Strawberry strawberries")["pre_tokens"][0]
    merges = len(first["nodes"]) - first["leaves"]
    expect(page.locator("output")).to_have_text(f"{merges} of {merges}")
    assert row(page) == ["st", "raw", "berry"]
    page.get_by_role("button", name="To the beginning").click()
    assert row(page) == list("strawberry")
    for count in range(1, merges + 1):
        page.get_by_role("button", name="One step on").click()
        made = first["nodes"][first["leaves"] + count - 1]
        expect(page.locator(".mergeview .merge-said")).to_contain_text(f"become {made['text']} (Rank: {made['rank']:,}")
        assert len(row(page)) == first["leaves"] - count
        assert page.locator(".tree .node:not(.later)").count() == first["leaves"] + count
    page.get_by_role("button", name="One step back").click()
    assert len(row(page)) == first["leaves"] - merges + 1
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    assert row(page) == ["st", "raw", "berry"]


def test_hangul_begins_as_bytes(visit: Visit) -> None:
    page = visit("cut")
    page.get_by_role("button", name="Bytes of Hangul").click()
    expect(page.get_by_role("heading", name="The result: 6 tokens")).to_be_visible()
    expect(page.get_by_text("No pair in it can be merged.")).to_be_visible()
    assert row(page) == ["ed", "86", "a0", "ed", "81", "b0"]


def test_the_two_kinds_of_rules_are_told_apart(visit: Visit, live: LiveServer) -> None:
    page = visit("cut")
    page.get_by_role("button", name="36 blanks (the rules differ)").click()
    expect(page.get_by_text("By a merge list:")).to_be_visible()
    answer = explain(live, "gemma3", f"x{' ' * 36}y")
    index, blanks = next((n, p) for n, p in enumerate(answer["pre_tokens"]) if " " * 36 in p["text"])
    assert blanks["other_rule"]["same"] is False
    page.locator(".pretoken").nth(index).click()
    expect(page.get_by_role("heading", name="The same vocabulary by ranks")).to_be_visible()
    expect(page.get_by_text("It gives other tokens:")).to_be_visible()
    page.get_by_role("button", name="Digits").click()
    expect(page.get_by_text("By ranks (OpenAI):")).to_be_visible()


def test_tokenizers_without_merges_say_so(visit: Visit) -> None:
    page = visit("cut")
    page.get_by_label("Tokenizer").select_option("claude-v4.8")
    expect(page.get_by_text("By tiling (Claude 3 and later)")).to_be_visible()
    expect(page.get_by_text("not Anthropic’s own boundaries")).to_be_visible()
    page.get_by_label("Tokenizer").select_option("llama3")
    expect(page.get_by_text("The steps are not known; the tokens are.")).to_be_visible()


def test_a_pre_token_too_wide_for_a_tree_keeps_its_list(visit: Visit) -> None:
    page = visit("cut")
    page.get_by_role("textbox", name="Text (up to 2,000 characters)").fill("x" * 400)
    expect(page.get_by_text("400 pieces are too many for a tree")).to_be_visible()
    assert page.get_by_role("table", name="Merges in their order").get_by_role("row").count() > 100
