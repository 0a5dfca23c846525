from __future__ import annotations

from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.support.live import HTTP, LiveServer

pytestmark = pytest.mark.browser


def month(page: Page, model: str) -> Decimal:
    row = page.get_by_role("table", name="Cost a month by model").get_by_role("row", name=model)
    return Decimal(row.get_by_role("cell").first.inner_text().strip().removeprefix("$").replace(",", ""))


def per_call(live: LiveServer, model: str, **usage: int) -> Decimal:
    body = {"model": model, "usage": usage}
    return Decimal(HTTP.post(f"{live.url}/v1/estimateCost", json=body).json()["total"])


def test_a_month_is_the_calls_times_what_the_api_says_of_one(visit: Visit, live: LiveServer) -> None:
    page = visit("cost?models=gpt-4o,claude-opus-4-8&calls=123457&input=3001&cached=40&output=777")
    for model in ("gpt-4o", "claude-opus-4-8"):
        total = 123_457 * per_call(live, model, input=1801, cache_read=1200, output=777, requests=1)
        expect(page.get_by_role("table", name="Cost a month by model").get_by_role("row", name=model)).to_be_visible()
        assert month(page, model) == total.quantize(Decimal("0.01"))


def test_the_address_carries_the_numbers_and_opens_them_again(visit: Visit) -> None:
    page = visit("cost")
    page.get_by_label("Calls a month").fill("5000")
    page.get_by_label("Output tokens a call").fill("50")
    page.get_by_label("Service tier").select_option("batch")
    page.get_by_role("button", name="Remove gpt-5").click()
    shared = page.get_by_label("Link to these numbers").input_value()
    assert page.url == shared
    asked = parse_qs(urlsplit(shared).fragment.partition("?")[2])
    assert asked["calls"] == ["5000"]
    assert asked["tier"] == ["batch"]
    other = visit(urlsplit(shared).fragment)
    expect(other.get_by_label("Calls a month")).to_have_value("5000")
    expect(other.get_by_label("Service tier")).to_have_value("batch")
    expect(other.get_by_role("button", name="Remove gpt-5", exact=True)).to_have_count(0)
    expect(other.get_by_role("button", name="Remove claude-opus-4-8")).to_be_visible()


def test_nonsense_in_an_address_is_left_out(visit: Visit) -> None:
    page = visit("cost?calls=-5&input=1e99&cached=abc&tier=free")
    expect(page.get_by_label("Calls a month")).to_have_value("100000")
    expect(page.get_by_label("Service tier")).to_have_value("standard")


def test_the_catalog_is_searched_and_a_model_taken_into_the_sum(visit: Visit) -> None:
    page = visit("cost")
    page.get_by_role("searchbox", name="Search").fill("haiku-4-5 anthropic")
    expect(page.get_by_text("1 of")).to_be_visible()
    row = page.get_by_role("table", name="Catalog").get_by_role("row", name="claude-haiku-4-5")
    for part in ("200,000", "64,000", "$1.00", "$0.10", "$5.00", "claude-v3"):
        expect(row).to_contain_text(part)
    row.get_by_role("checkbox").check()
    table = page.get_by_role("table", name="Cost a month by model")
    expect(table.get_by_role("row", name="claude-haiku-4-5")).to_be_visible()


def test_the_catalog_is_sorted_by_price_and_what_has_none_comes_last(visit: Visit) -> None:
    page = visit("cost")
    table = page.get_by_role("table", name="Catalog")
    sorter = table.get_by_role("columnheader", name="Output").get_by_role("button")
    prices = table.get_by_role("row").locator("td:nth-child(8)")
    sorter.click()
    expect(table.get_by_role("columnheader", name="Output")).to_have_attribute("aria-sort", "ascending")
    cheap = [Decimal(text.split()[0].removeprefix("$")) for text in prices.all_inner_texts()]
    assert cheap == sorted(cheap)
    sorter.click()
    dear = [Decimal(text.split()[0].removeprefix("$").replace(",", "")) for text in prices.all_inner_texts()]
    assert dear == sorted(dear, reverse=True)
    assert dear[0] > cheap[-1]


def test_an_unknown_price_is_unknown_and_never_nothing(visit: Visit, live: LiveServer) -> None:
    answer = HTTP.post(f"{live.url}/v1/estimateCost", json={"model": "claude-1", "usage": {"input": 10}}).json()
    assert answer["total"] is None
    page = visit("cost?models=claude-1")
    row = page.get_by_role("table", name="Cost a month by model").get_by_role("row", name="claude-1")
    expect(row).to_contain_text("unknown")
    expect(row).not_to_contain_text("$")
