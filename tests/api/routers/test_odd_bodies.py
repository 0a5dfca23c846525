"""Whatever stands in a body of JSON, an operation that is no count answers or refuses; nothing fails inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.operations import BUDGETS, Operations
from tests.support.texts import unhurried
from tests.support.web import make_app

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8,
)
NAMES = st.sampled_from(sorted({
    "model", "models", "tokenizer", "text", "texts", "request", "usage", "max_tokens", "max_cost_usd", "at", "lease_id",
    "amount_usd", "tokens", "service_tier", "marker", "cut_from", "overlap_tokens", "max_output_tokens", "dialect",
}))
BODIES = st.dictionaries(NAMES, VALUES, max_size=6) | VALUES

NAMED = sorted(name for name, route in Operations(make_app(warm=())).routes.items() if route.body_field is not None)


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Operations:
    file: Path = tmp_path_factory.mktemp("budgets") / "budgets.toml"
    file.write_text(BUDGETS, encoding="utf-8")
    return Operations(make_app(warm=(), budgets_file=file))


@pytest.mark.parametrize("name", NAMED)
@unhurried
@given(body=BODIES)
async def test_no_body_is_answered_with_a_failure(operations: Operations, name: str, body: Any) -> None:
    params = {"name": "usd"} if name in ("reserve", "settle", "release") else {}
    response = await operations.call(name, body, **params)
    assert response.status_code in (200, 400, 404, 413), response.text
    json.loads(response.content, parse_constant=pytest.fail)
