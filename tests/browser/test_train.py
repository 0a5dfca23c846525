from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def merges(page: Page) -> list[str]:
    rows = page.get_by_role("table", name="Merge list").get_by_role("row").all()[1:]
    return [row.get_by_role("cell").nth(1).inner_text() for row in rows]


def encoded(page: Page) -> list[str]:
    return page.locator(".encoded summary .id").all_inner_texts()


def test_the_teaching_corpus_gives_the_known_merges_and_ids(visit: Visit) -> None:
    page = visit("train")
    page.get_by_role("button", name="low lower lowest 토큰").click()
    expect(page.locator(".encoded")).to_have_count(3)
    assert merges(page)[:10] == ["we", "lo", "st", "·‹ed›", "·‹ed 86›", "·토", "·토‹ed›", "·토‹ed 81›", "·lo", "·토큰"]
    assert encoded(page) == ["266 258", "257 256 258", "265 237 153 148"]


def test_every_step_shows_its_pairs_and_what_it_made_of_the_corpus(visit: Visit) -> None:
    page = visit("train")
    page.get_by_role("button", name="banana and band").click()
    expect(page.locator(".encoded")).to_have_count(1)
    assert encoded(page) == ["257 100 256 97"]
    pairs = page.get_by_role("table", name="Most frequent pairs now").get_by_role("row")
    expect(pairs.nth(1)).to_contain_text("a + n")
    expect(pairs.nth(1)).to_contain_text("8")
    page.get_by_role("button", name="One step on").first.click()
    expect(page.locator(".merge-said").first).to_have_text("a and n stood side by side 8 times and become an, id 256.")
    expect(pairs.nth(1)).to_contain_text("b + an")
    words = page.get_by_role("list", name="The corpus so far").get_by_role("listitem")
    assert words.first.locator(".tok").all_inner_texts() == ["b", "an", "an", "a"]
    page.get_by_role("button", name="One step on").first.click()
    assert words.first.locator(".tok").all_inner_texts() == ["ban", "an", "a"]
    expect(page.get_by_role("list", name="Newest entries of the vocabulary")).to_contain_text("257")
    page.get_by_role("button", name="One step back").first.click()
    assert words.first.locator(".tok").all_inner_texts() == ["b", "an", "an", "a"]


def test_characters_with_a_mark_at_the_end_of_words(visit: Visit) -> None:
    page = visit("train")
    page.get_by_role("button", name="Characters and word ends").click()
    expect(page.locator(".encoded")).to_have_count(2)
    assert any("</w>" in made for made in merges(page))


def test_a_new_word_is_encoded_with_what_was_learnt(visit: Visit) -> None:
    page = visit("train")
    page.get_by_role("button", name="banana and band").click()
    expect(page.locator(".encoded")).to_have_count(1)
    page.get_by_label("Texts, one a line").fill("ban\nband")
    expect(page.locator(".encoded")).to_have_count(2)
    assert encoded(page) == ["257", "257 100"]
    page.locator(".encoded summary").first.click()
    expect(page.locator(".encoded .mergerow").first).to_contain_text("ban")
