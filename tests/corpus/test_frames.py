from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.corpus import frames
from service.corpus.frames import COLUMNS, SPARK_COLUMNS, count_frame, count_frames, count_table
from service.counting.counter import Counter
from service.errors import InvalidRequest, TokenizerUnavailable, UnknownModel
from service.pricing.prices import format_decimal
from service.types import CountRequest
from tests.support.texts import odd_texts, unhurried

NOTHING = dict.fromkeys(COLUMNS)


def expected(text: str) -> dict[str, Any]:
    count = Counter.in_memory(0).count(CountRequest(model_ref="claude-sonnet-4-5", texts=(text,)))
    assert count.cost is not None
    return NOTHING | {
        "input_tokens": count.input_tokens, "method": count.method, "low": count.low, "high": count.high,
        "cost_usd": format_decimal(count.cost.usd),
    }


def rows_of(table: pd.DataFrame | pa.Table) -> list[dict[str, Any]]:
    if isinstance(table, pa.Table):
        return list(table.select(list(COLUMNS)).to_pylist())
    found = table[list(COLUMNS)].astype(object)
    return list(found.where(found.notna(), None).to_dict("records"))


@given(st.lists(odd_texts(), max_size=8))
@unhurried
def test_every_row_counts_as_its_text_does(texts: list[str]) -> None:
    wanted = [expected(text) for text in texts]
    index = range(5, 5 + len(texts))
    frame = pd.DataFrame({"text": pd.Series(texts, index, dtype="str"), "n": pd.Series(index, index)})
    counted = count_frame(frame, model="claude-sonnet-4-5")
    assert rows_of(counted) == wanted
    assert list(counted.columns) == ["text", "n", *COLUMNS]
    assert counted.index.equals(frame.index)
    table = pa.table({"text": pa.array(texts, pa.string())})
    assert rows_of(count_table(table, model="claude-sonnet-4-5")) == wanted


def test_a_row_that_cannot_be_counted_says_so_and_the_others_are() -> None:
    values = ["a", None, float("nan"), 5, b"\xff", pd.NA, [1]]
    wanted = [None, "null_field", "null_field", "wrong_type", "not_utf8", "null_field", "wrong_type"]
    counted = count_frame(pd.DataFrame({"text": pd.Series(values, dtype=object)}), tokenizer="o200k_base")
    assert [row["error"] for row in rows_of(counted)] == wanted
    assert [row["input_tokens"] for row in rows_of(counted)] == [1, *[None] * 6]
    table = count_table(pa.table({"text": pa.array(["a", None])}), tokenizer="o200k_base")
    assert [row["error"] for row in rows_of(table)] == [None, "null_field"]


def test_types_are_the_same_whatever_the_rows_are() -> None:
    """Parts of a table are counted far from each other, and must fit together."""
    for texts in ([], [None], ["a"]):
        frame = count_frame(pd.DataFrame({"text": pd.Series(texts, dtype="str")}), tokenizer="o200k_base")
        table = count_table(pa.table({"text": pa.array(texts, pa.string())}), tokenizer="o200k_base")
        assert [str(kind) for kind in frame.dtypes[1:]] == [
            "Int64" if kind is int else "string" for kind in COLUMNS.values()
        ]
        assert table.schema.types[1:] == [pa.int64() if kind is int else pa.string() for kind in COLUMNS.values()]
    assert SPARK_COLUMNS.startswith("input_tokens bigint, method string, low bigint,")


def test_whole_requests_may_name_their_own_models() -> None:
    body = '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello!"}]}'
    frame = pd.DataFrame({"body": [body, "{}", "no JSON"]})
    own = count_frame(frame, column="body", request=True)
    asked = count_frame(frame, column="body", request=True, model="claude-sonnet-4-5")
    assert [row["error"] for row in rows_of(own)] == [None, "invalid_request", "invalid_json"]
    assert rows_of(own)[0]["input_tokens"] == 9
    assert rows_of(asked)[0]["input_tokens"] == 9
    assert rows_of(own)[0]["cost_usd"] != rows_of(asked)[0]["cost_usd"]


def test_as_an_engine_calls_it_a_tokenizer_is_loaded_once() -> None:
    """Pickled, in another process' stead, and frame after frame."""
    frames._counter.cache_clear()
    job = pickle.loads(pickle.dumps(partial(count_frames, model="gpt-4o", prefix="n_")))
    parts = list(job(pd.DataFrame({"text": [f"part {n}", "Hello, world!"]}) for n in range(5)))
    assert [int(part["n_input_tokens"].sum()) for part in parts] == [7] * 5
    assert frames._counter.cache_info().misses == 1


@pytest.mark.parametrize(("options", "error"), [
    ({}, InvalidRequest), ({"model": "gtp-4o"}, UnknownModel), ({"tokenizer": "nope"}, InvalidRequest),
    ({"model": "gpt-4o", "column": "prompt"}, InvalidRequest),
    ({"model": "gpt-4o", "tokenizer": "gemma3"}, InvalidRequest),
])
def test_where_no_row_can_be_counted_the_job_fails(options: dict[str, Any], error: type[Exception]) -> None:
    for _ in range(2):
        with pytest.raises(error):
            count_frame(pd.DataFrame({"text": ["a"]}), **options)
        with pytest.raises(error):
            count_table(pa.table({"text": ["a"]}), **options)


def test_no_column_is_overwritten() -> None:
    frame = pd.DataFrame({"text": ["a"], "error": ["mine"]})
    with pytest.raises(InvalidRequest, match="error already"):
        count_frame(frame, model="gpt-4o")
    counted = count_frame(frame, model="gpt-4o", prefix="gpt_")
    assert (counted["error"][0], counted["gpt_input_tokens"][0]) == ("mine", 1)


def test_damaged_data_fails_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    count_frame(pd.DataFrame({"text": ["a"]}), model="gpt-4o")

    def fail(*_: object) -> None:
        raise TokenizerUnavailable("damaged")

    monkeypatch.setattr("service.tokenizers.registry.get_tokenizer", fail)
    with pytest.raises(TokenizerUnavailable):
        count_frame(pd.DataFrame({"text": ["a"]}), model="gpt-4o")
