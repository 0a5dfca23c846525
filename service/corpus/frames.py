"""The same counter for pandas frames, as an engine that spreads a corpus over machines hands them out.

    df.mapInPandas(partial(count_frames, model="gpt-4o"), f"{df_schema}, {SPARK_COLUMNS}")      # PySpark
    ds.map_batches(count_frame, batch_format="pandas", fn_kwargs={"model": "gpt-4o"})           # Ray Data

Both are plain functions of a module, so they pickle by name: executors need this package installed, its data comes with
it, and nothing is downloaded. A process loads a tokenizer once, whatever number of frames it gets. Needs pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from service.corpus.counting import CorpusCounter, Question, count_columns
from service.errors import InvalidRequest, ServiceError, TokenizerUnavailable

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = {
    "input_tokens": "Int64", "method": "string", "low": "Int64", "high": "Int64", "cost_usd": "string",
    "error": "string", "reason": "string",
}
"""What a frame is given, with pandas' types, all of which can be null: of a row either the count or the error is."""

SPARK_COLUMNS = (
    "input_tokens bigint, method string, low bigint, high bigint, cost_usd string, error string, reason string"
)
"""The same for PySpark's schema."""


def count_frame(
    frame: DataFrame, *, model: str | None = None, tokenizer: str | None = None, column: str = "text",
    request: bool = False, prefix: str = "",
) -> DataFrame:
    """The frame with the columns of COLUMNS, each named with `prefix` in front.

    `column` holds texts or, with `request`, whole request bodies as JSON text. A row that cannot be counted
    says so in its own columns. Raises InvalidRequest, UnknownModel or TokenizerUnavailable where no row could be
    counted: an unknown name, a column that is not there, one that is there already, damaged data.
    """
    import pandas  # noqa: PLC0415

    counter = _counter(Question(model, tokenizer, request=request))
    if column not in frame.columns:
        raise InvalidRequest(f"the frame has no column {column}; name another in column.", field="column")
    taken = [prefix + name for name in COLUMNS if prefix + name in frame.columns]
    if taken:
        raise InvalidRequest(f"the frame has a column {taken[0]} already; give a prefix.", field="prefix")
    rows = [_count(counter, _without_nan(value)) for value in frame[column]]
    columns: dict[str, Any] = {
        prefix + name: pandas.Series([row.get(name) for row in rows], dtype=kind, index=frame.index)
        for name, kind in COLUMNS.items()
    }
    return frame.assign(**columns)


def count_frames(frames: Iterable[DataFrame], **options: Any) -> Iterator[DataFrame]:
    """`count_frame` of each, with its options."""
    for frame in frames:
        yield count_frame(frame, **options)


@lru_cache(16)
def _counter(question: Question) -> CorpusCounter:
    """Of this process; what raises is not remembered."""
    question.check()
    return CorpusCounter(question)


def _count(counter: CorpusCounter, value: Any) -> dict[str, Any]:
    try:
        return count_columns(counter.count(value))
    except TokenizerUnavailable:
        raise
    except ServiceError as error:
        return {"error": error.code, "reason": error.message}


def _without_nan(value: Any) -> Any:
    """None for what pandas has in its place: NaN, NA, NaT."""
    from pandas import api, isna  # noqa: PLC0415

    return None if not isinstance(value, (str, bytes)) and api.types.is_scalar(value) and isna(value) else value
