from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

TOKEN = "169 228 254 169 223 108"
"""The word for token in Korean. In gpt2 each of its six bytes is a token: two characters of three bytes."""


def test_half_a_character_is_held_back_until_it_is_whole(visit: Visit) -> None:
    page = visit("stream")
    page.get_by_role("textbox", name="Ids, as they come").fill(TOKEN)
    expect(page.locator("output")).to_have_text("6 of 6")
    expect(page.locator(".emitted")).to_have_text("토큰")
    page.get_by_role("button", name="To the beginning").click()
    seen = []
    for _ in range(6):
        page.get_by_role("button", name="One step on").click()
        seen.append((page.locator(".emitted").inner_text(), page.locator(".held").inner_text().replace("\n", " ")))
    assert seen == [("", "ed"), ("", "ed 86"), ("토", ""), ("토", "ed"), ("토", "ed 81"), ("토큰", "")]


def test_ids_are_taken_from_a_text_and_broken_ends_are_said(visit: Visit) -> None:
    page = visit("stream")
    page.get_by_role("textbox", name="Ids of this text").fill("토큰")
    ids = page.get_by_role("textbox", name="Ids, as they come")
    expect(ids).to_have_value(TOKEN)
    ids.fill("169 228")
    expect(page.get_by_text("The last bytes completed no character")).to_be_visible()
    ids.fill("one two")
    expect(page.get_by_text("Ids are whole numbers")).to_be_visible()


def test_it_plays_by_itself(visit: Visit) -> None:
    page = visit("stream")
    expect(page.locator("output")).to_have_text("15 of 15")
    page.get_by_role("textbox", name="Ids, as they come").fill("169 228 254")
    expect(page.locator("output")).to_have_text("3 of 3")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("output")).to_have_text("3 of 3")
    expect(page.locator(".emitted")).to_have_text("토")
