from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.support.live import HTTP, live_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def used() -> Iterator[str]:
    """A server that has counted nothing."""
    with live_server(warm="o200k_base", projects="team-a") as url:
        yield url


def test_what_was_counted_and_billed_is_shown(visit: Visit, used: str) -> None:
    page = visit("dashboard", url=used)
    expect(page.get_by_text("Nothing was counted in this time.")).to_be_visible()
    for words, project in (("hello", "team-a"), ("hello there, world", "")):
        body = {"model": "gpt-4o", "text": words}
        HTTP.post(f"{used}/v1/countTokens", json=body, headers={"x-tallystick-project": project}).raise_for_status()
    usage = {"prompt_tokens": 61, "completion_tokens": 9, "total_tokens": 70}
    bill = {"model": "gpt-4o", "counted_tokens": 60, "usage": usage}
    HTTP.post(f"{used}/v1/usage", json=bill).raise_for_status()
    page.get_by_role("button", name="Refresh").click()
    total = page.get_by_role("region", name="In all")
    expect(total).to_contain_text("2")
    expect(total).to_contain_text("$0.0002425")
    models = page.get_by_role("table", name="By model").get_by_role("row", name="gpt-4o")
    assert models.get_by_role("cell").all_inner_texts()[:2] == ["2", "5"]
    projects = page.get_by_role("table", name="By project")
    assert projects.get_by_role("row", name="team-a").get_by_role("cell").first.inner_text() == "1"
    drift = page.get_by_role("region", name="Drift: counted against billed")
    expect(drift).to_contain_text("gpt-4o")
    expect(drift).to_contain_text("-1")
    page.get_by_role("button", name="Today").click()
    expect(page.locator(".daychart .day")).to_have_count(1)
