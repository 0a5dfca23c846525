from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.support.live import HTTP, LiveServer

pytestmark = pytest.mark.browser

HELLO = "Hello, world! 안녕하세요."


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Text", exact=True).fill(text)


def choose(page: Page, *models: str) -> None:
    """Compare these tokenizers, and no others."""
    remove = page.get_by_role("button", name=re.compile("^Remove "))
    while remove.count():
        remove.first.click()
    for model in models:
        page.get_by_role("combobox", name="Add a model").fill(model)
        page.get_by_role("button", name="Add", exact=True).click()


def tokens(page: Page) -> list[str]:
    return page.locator(".tokenbox [role=option]").all_inner_texts()


def facts(page: Page, words: str) -> None:
    expect(page.locator(".facts")).to_have_text(words)


def test_a_text_is_shown_as_coloured_tokens_with_ids_and_bytes(visit: Visit) -> None:
    page = visit()
    choose(page, "gpt-4o")
    write(page, "strawberry")
    facts(page, "Tokens: 3 · characters: 10 · bytes: 10")
    assert tokens(page) == ["st", "raw", "berry"]
    options = page.locator(".tokenbox [role=option]")
    colours = options.evaluate_all("all => all.map(e => getComputedStyle(e).backgroundColor)")
    assert len(set(colours)) == 3
    page.locator(".tokenbox").get_by_text("raw").hover()
    for part in ("Token 2 / 3", "Id 1618", "Text raw", "Bytes 72 61 77", "Characters 2–5"):
        expect(page.locator(".inspector")).to_contain_text(part)
    page.get_by_role("button", name="Ids", exact=True).click()
    assert tokens(page) == ["302", "1618", "19772"]


def test_models_stand_side_by_side_with_what_the_api_says_of_them(visit: Visit, live: LiveServer) -> None:
    models = ["gpt-4o", "gemini-2.5-flash", "claude-sonnet-4-5"]
    page = visit()
    choose(page, *models)
    write(page, HELLO)
    facts(page, "Tokens: 7 · characters: 20 · bytes: 30")
    rows = HTTP.post(f"{live.url}/v1/compare", json={"models": models, "text": HELLO}).json()["rows"]
    assert {row["model"]: row["input_tokens"] for row in rows} | {"gpt-4o": 7, "gemini-2.5-flash": 6} == {
        row["model"]: row["input_tokens"] for row in rows
    }
    table = page.get_by_role("table", name="Side by side")
    for place, row in enumerate(rows, 1):
        cells = table.get_by_role("row").nth(place)
        expect(cells).to_contain_text(row["model"])
        shown = cells.get_by_role("cell").all_inner_texts()
        assert shown[0].strip() == str(row["input_tokens"])
        assert shown[1] == f"{20 / row['input_tokens']:.2f}".rstrip("0")
        assert float(shown[3].removeprefix("$")) == pytest.approx(1000 * float(row["cost"]), rel=1e-3)
        assert shown[5] == row["method"]


def test_bytes_of_split_characters_and_invisible_characters_are_shown(visit: Visit) -> None:
    page = visit()
    choose(page, "gpt-4o")
    write(page, "뷁 a\u200bb\u00a0c\td\n")
    expect(page.locator(".facts")).to_contain_text("characters: 10 · bytes: 15")
    shown = "".join(tokens(page))
    assert re.match(r"(?:[0-9a-f]{2} ?){3}", shown)
    assert all(sign in shown for sign in ("[ZWSP]", "⍽", "→", "↵", "·"))
    page.locator(".tokenbox [role=option]").first.hover()
    expect(page.locator(".inspector")).to_contain_text("Bytes of 뷁")


def test_claude_3_and_later_have_pieces_but_no_ids_and_the_page_says_so(visit: Visit) -> None:
    page = visit()
    choose(page, "claude-sonnet-4-5")
    write(page, "hello, world")
    facts(page, "Tokens: 3 · characters: 12 · bytes: 12")
    expect(page.get_by_text("publishes no vocabulary")).to_be_visible()
    expect(page.get_by_role("button", name="Ids", exact=True)).to_be_hidden()
    page.locator(".tokenbox [role=option]").first.hover()
    expect(page.locator(".inspector")).to_contain_text("Id not published")


def test_a_click_on_a_token_selects_its_characters_in_the_text(visit: Visit) -> None:
    page = visit()
    choose(page, "gpt-4o")
    write(page, "one two three")
    facts(page, "Tokens: 3 · characters: 13 · bytes: 13")
    page.locator(".tokenbox [role=option]").nth(1).click()
    selected = page.locator("textarea").first.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)")
    assert selected == " two"


def test_a_file_is_opened_and_another_one_dropped_with_its_line_ends(visit: Visit, tmp_path: Path) -> None:
    page = visit()
    choose(page, "gpt-4o")
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\ntwo")
    page.locator("#panel-tokens input[type=file]").set_input_files(file)
    facts(page, "Tokens: 3 · characters: 8 · bytes: 8")
    transfer = page.evaluate_handle(
        "() => { const d = new DataTransfer(); d.items.add(new File(['셋'], 'b.txt')); return d; }"
    )
    page.locator("#panel-tokens .editor").dispatch_event("drop", {"dataTransfer": transfer})
    facts(page, "Tokens: 2 · characters: 1 · bytes: 3")
    file.write_bytes(b"\xff\xfe\x00")
    page.locator("#panel-tokens input[type=file]").set_input_files(file)
    expect(page.get_by_text("a.txt is no UTF-8 text.")).to_be_visible()


def test_an_unknown_model_is_said_to_be_unknown_and_close_names_are_offered(visit: Visit) -> None:
    page = visit()
    choose(page, "gpt-4o", "gtp-4o")
    near = page.get_by_role("table", name="Side by side").get_by_role("button", name="gpt-4o", exact=True)
    expect(near).to_be_visible()
    near.click()
    expect(page.get_by_role("button", name="Remove gtp-4o")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove gpt-4o")).to_have_count(1)


def test_nothing_and_no_model_are_said_in_words(visit: Visit) -> None:
    page = visit()
    write(page, "")
    expect(page.locator(".tokenbox")).to_contain_text("Nothing to count yet.")
    choose(page)
    expect(page.locator(".tokenbox")).to_contain_text("Choose at least one model.")
