"""The same counter for tables in memory, as an engine that spreads a corpus over machines hands them out.

    df.mapInPandas(partial(count_frames, model="gpt-4o"), schema)                             # PySpark: SPARK_COLUMNS
    ds.map_batches(count_table, batch_format="pyarrow", fn_kwargs={"model": "gpt-4o"})        # Ray Data

All are plain functions of a module, so they pickle by name: executors need this package installed, its data comes with
it, and nothing is downloaded. A process loads a tokenizer once, whatever number of tables it gets.

What is asked of each: `column` holds texts or, with `request`, whole request bodies as JSON text; they are counted for
`model` or with `tokenizer` (with `request`, bodies may name their own models). The answer has the columns of COLUMNS
more, each named with `prefix` in front; a row that cannot be counted says so in its own. Raised is InvalidRequest,
UnknownModel or TokenizerUnavailable, where no row could be counted: an unknown name, a column that is not there or is
there already, damaged data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from service.corpus.counting import CorpusCounter, Question, count_columns
from service.errors import InvalidRequest, ServiceError, TokenizerUnavailable

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

COLUMNS: dict[str, type] = {
    "input_tokens": int, "method": str, "low": int, "high": int, "cost_usd": str, "error": str, "reason": str,
}
"""What a table is given; all can be null: of a row either the count or the error is."""

SPARK_COLUMNS = ", ".join(f"{name} {'bigint' if kind is int else 'string'}" for name, kind in COLUMNS.items())
"""The same for PySpark's schema (without a prefix)."""


def count_frame(
    frame: DataFrame, *, model: str | None = None, tokenizer: str | None = None, column: str = "text",
    request: bool = False, prefix: str = "",
) -> DataFrame:
    """A pandas frame with its counts; see above. Columns are of pandas' types that can be null, Int64 and string."""
    import pandas

    counter = _counter(Question(model, tokenizer, request=request))
    _check(list(frame.columns), column, prefix)
    rows = [_count(counter, _without_nan(value)) for value in frame[column]]
    columns: dict[str, Any] = {
        prefix + name: pandas.Series(
            [row.get(name) for row in rows], dtype="Int64" if kind is int else "string", index=frame.index
        )
        for name, kind in COLUMNS.items()
    }
    return frame.assign(**columns)


def count_frames(frames: Iterable[DataFrame], **options: Any) -> Iterator[DataFrame]:
    """`count_frame` of each, with its options."""
    for frame in frames:
        yield count_frame(frame, **options)


def count_table(
    table: Table, *, model: str | None = None, tokenizer: str | None = None, column: str = "text",
    request: bool = False, prefix: str = "",
) -> Table:
    """An Arrow table with its counts; see above. Its types are the same whatever the rows are: of pandas, a column of
    nulls alone may come out of Ray as one without a type."""
    import pyarrow

    counter = _counter(Question(model, tokenizer, request=request))
    _check(table.column_names, column, prefix)
    rows = [_count(counter, value.as_py()) for value in table.column(column)]
    for name, kind in COLUMNS.items():
        array = pyarrow.array([row.get(name) for row in rows], pyarrow.int64() if kind is int else pyarrow.string())
        table = table.append_column(prefix + name, array)
    return table


@lru_cache(16)
def _counter(question: Question) -> CorpusCounter:
    """Of this process; what raises is not remembered."""
    question.check()
    return CorpusCounter(question)


def _check(names: list[str], column: str, prefix: str) -> None:
    if column not in names:
        raise InvalidRequest(f"there is no column {column}; name another in column.", field="column")
    taken = [prefix + name for name in COLUMNS if prefix + name in names]
    if taken:
        raise InvalidRequest(f"there is a column {taken[0]} already; give a prefix.", field="prefix")


def _count(counter: CorpusCounter, value: Any) -> dict[str, Any]:
    try:
        return count_columns(counter.count(value))
    except TokenizerUnavailable:
        raise
    except ServiceError as error:
        return {"error": error.code, "reason": error.message}


def _without_nan(value: Any) -> Any:
    """None for what pandas has in its place: NaN, NA, NaT."""
    from pandas import api, isna

    return None if not isinstance(value, (str, bytes)) and api.types.is_scalar(value) and isna(value) else value
