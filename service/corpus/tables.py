"""Reading and writing Parquet, a few rows at a time. It needs pyarrow, from the extra `parquet`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from service.corpus.inputs import Damaged

BUFFER_BYTES = 1 << 20
"""Bytes of a column that are read at once. Without it pyarrow reads the column of a whole row group."""

MAX_ROWS = 4096

_TYPES = {int: pa.int64(), str: pa.string()}


def read_rows(
    path: str, columns: Sequence[str], skip: int, chunk_bytes: int
) -> Iterator[tuple[list[dict[str, Any]], int, float]]:
    """The rows after the first `skip`, as objects of the named columns.

    Yields rows, their bytes, and the share of the file that is read then. Raises Damaged for a file that is not Parquet
    or has no such column.
    """
    try:
        with pq.ParquetFile(path, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                raise Damaged(f"no column {missing[0]}")
            yield from _rows(file, list(dict.fromkeys(columns)), skip, chunk_bytes)
    except (pa.ArrowException, UnicodeDecodeError):
        raise Damaged(_DAMAGED) from None
    except OSError as error:
        if error.errno is not None:  # without a number it means that pyarrow cannot decode a page
            raise
        raise Damaged(_DAMAGED) from None


_DAMAGED = "not Parquet, or damaged"


def _rows(
    file: pq.ParquetFile, columns: list[str], skip: int, chunk_bytes: int
) -> Iterator[tuple[list[dict[str, Any]], int, float]]:
    total, done = max(1, file.metadata.num_rows), 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        if done + group.num_rows <= skip:
            done += group.num_rows
            continue
        average = max(1, group.total_byte_size // max(1, group.num_rows))
        size = max(1, min(MAX_ROWS, chunk_bytes // average))
        for batch in file.iter_batches(size, row_groups=[number], columns=columns, use_threads=False):
            wanted = batch.slice(max(0, skip - done))
            done += batch.num_rows
            if wanted.num_rows:
                yield wanted.to_pylist(), wanted.nbytes, done / total


def write_rows(rows: Path, target: Path, columns: dict[str, type]) -> None:
    """Write a file of JSON lines as Parquet, in full or not at all. Each column may be null."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    unfinished = target.with_name(f"{target.name}.tmp")
    try:
        with open(rows, "rb") as lines, pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            while chunk := [json.loads(line) for line in islice(lines, 16 * MAX_ROWS)]:
                arrays = [
                    pa.array([_as(kind, row[name]) for row in chunk], schema.field(name).type)
                    for name, kind in columns.items()
                ]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        with open(unfinished, "rb") as written:
            os.fsync(written.fileno())
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _as(kind: type, value: Any) -> Any:
    return None if value is None else kind(value)
