"""Counting tables in memory, for engines that spread a corpus over several machines.

df.mapInPandas(partial(count_frames, model="gpt-4o"), schema)                             # PySpark: SPARK_COLUMNS
    ds.map_batches(count_table, batch_format="pyarrow", fn_kwargs={"model": "gpt-4o"})        # Ray Data

These are plain functions of a module, so they are pickled by name: executors need this package, whose data is installed
with it. Nothing is downloaded. A process loads a tokenizer once, whatever the number of tables.

Each function takes the same options. `column` holds texts or, with `request`, whole request bodies as JSON text. They
are counted for `model` or with `tokenizer`; with `request`, bodies may name their own models. The result has the
columns of COLUMNS, too, each with `prefix` in front of its name. A row that cannot be counted has `error` and `reason`.
Where no row could be counted, InvalidRequest, UnknownModel or TokenizerUnavailable is raised: an unknown name, a column
that is missing or already there, damaged data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from service.corpus.counting import CorpusCounter, CountOptions, count_columns
from service.errors import InvalidRequest, ServiceError, TokenizerUnavailable

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

COLUMNS: dict[str, type] = {
    "input_tokens": int, "method": str, "low": int, "high": int, "cost_usd": str, "error": str, "reason": str,
}
"""The columns that are added to a table. All can be null: either the count or the error of a row is."""

SPARK_COLUMNS = ", ".join(f"{name} {'bigint' if kind is int else 'string'}" for name, kind in COLUMNS.items())
"""The same as a schema for PySpark, without a prefix."""


def count_frame(
    frame: DataFrame, *, model: str | None = None, tokenizer: str | None = None, column: str = "text",
    request: bool = False, prefix: str = "",
) -> DataFrame:
    """A pandas frame with its counts, see above. The new columns have the pandas types that can be null: Int64 and
    string."""
    import pandas

    counter = _counter(CountOptions(model, tokenizer, request=request))
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
    """Each frame with its counts. Takes the options of `count_frame`."""
    for frame in frames:
        yield count_frame(frame, **options)


def count_table(
    table: Table, *, model: str | None = None, tokenizer: str | None = None, column: str = "text",
    request: bool = False, prefix: str = "",
) -> Table:
    """An Arrow table with its counts, see above.

    The types are the same whatever the rows hold. From a pandas frame Ray may make a column of nulls that has no type.
    """
    import pyarrow

    counter = _counter(CountOptions(model, tokenizer, request=request))
    _check(table.column_names, column, prefix)
    rows = [_count(counter, value.as_py()) for value in table.column(column)]
    for name, kind in COLUMNS.items():
        array = pyarrow.array([row.get(name) for row in rows], pyarrow.int64() if kind is int else pyarrow.string())
        table = table.append_column(prefix + name, array)
    return table


@lru_cache(16)
def _counter(options: CountOptions) -> CorpusCounter:
    """The counter of this process for these options. Where making it raises, nothing is kept."""
    options.check()
    return CorpusCounter(options)


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
    """None for NaN, NA and NaT, which pandas has in its place."""
    from pandas import api, isna

    return None if not isinstance(value, (str, bytes)) and api.types.is_scalar(value) and isna(value) else value
