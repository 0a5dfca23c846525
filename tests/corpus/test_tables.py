from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.corpus.batches import Batch, Failed, Position, Values, read_batches
from service.corpus.counting import COLUMNS
from service.corpus.inputs import find_inputs
from service.corpus.tables import read_rows, write_rows

ROWS = [{"id": number, "text": f"text {number}" * (number % 7)} for number in range(1000)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    other = pa.array([b"x" * 1000] * len(ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS).append_column("unread", other), path, row_group_size=300)
    return path


def read(path: Path, columns: tuple[str, ...] = ("text", "id"), start: Position | None = None) -> list[Batch]:
    return list(read_batches(find_inputs([str(path)]), columns, start))


@pytest.mark.parametrize("skip", [0, 1, 299, 300, 301, 999, 1000])
@pytest.mark.parametrize("chunk_bytes", [1, 5000, 1 << 20])
def test_rows_are_read_from_anywhere_by_their_columns_alone(table: Path, skip: int, chunk_bytes: int) -> None:
    parts = list(read_rows(str(table), ("text", "id"), skip, chunk_bytes))
    assert [row for rows, _, _ in parts for row in rows] == [
        {"text": row["text"], "id": row["id"]} for row in ROWS[skip:]
    ]
    assert all(len(rows) <= 4096 for rows, _, _ in parts)
    assert not parts or parts[-1][2] == 1.0


def test_reading_goes_on_behind_every_batch(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.corpus.batches.CHUNK_BYTES", 3000)
    whole = read(table)
    assert len(whole) > 10

    def values(batches: list[Batch]) -> list[tuple[int, object]]:
        return [
            (row, value) for batch in batches for block in batch.blocks if isinstance(block, Values)
            for row, value in enumerate(block.values, block.first)
        ]

    assert [row for row, _ in values(whole)] == list(range(1, 1001))
    for number, batch in enumerate(whole, 1):
        assert values(read(table, start=batch.end)) == values(whole[number:])


@pytest.mark.parametrize(("content", "columns", "reason"), [
    (b"no table at all", ("text",), "not Parquet, or damaged"),
    (b"", ("text",), "not Parquet, or damaged"),
    (None, ("prompt",), "no column prompt"),
])
def test_what_is_no_such_table_is_told_of_the_file(
    table: Path, content: bytes | None, columns: tuple[str, ...], reason: str
) -> None:
    if content is not None:
        table.write_bytes(content)
    (batch,) = read(table, columns)
    assert batch.blocks == (Failed(str(table), None, "unreadable", reason),)


def test_a_table_that_is_damaged_in_its_middle_is_read_up_to_there(table: Path) -> None:
    data = bytearray(table.read_bytes())
    metadata = pq.ParquetFile(table).metadata
    start = metadata.row_group(2).column(1).data_page_offset
    data[start:start + 40] = b"\xff" * 40
    table.write_bytes(data)
    blocks = [block for batch in read(table) for block in batch.blocks]
    assert blocks[-1] == Failed(str(table), None, "unreadable", "not Parquet, or damaged")
    assert sum(len(block.values) for block in blocks if isinstance(block, Values)) == 600


def test_nested_texts_nulls_and_bytes_come_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [{"m": {"text": "a"}}, {"m": {"text": None}}, {"m": None}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    (batch,) = read(path, ("m",))
    (block,) = batch.blocks
    assert isinstance(block, Values)
    assert list(block.values) == rows


def test_rows_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    rows, target = tmp_path / "rows", tmp_path / "out.parquet"
    lines = [
        dict.fromkeys(COLUMNS) | {"file": "f", "row": 1, "id": 7, "input_tokens": 3, "cost_usd": "0.1"},
        dict.fromkeys(COLUMNS) | {"file": "f", "id": "b", "error": "unreadable"},
    ]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_rows(rows, target, COLUMNS)
    written = pq.read_table(target)
    assert written.to_pylist() == [lines[0] | {"id": "7"}, lines[1]]
    assert written.schema.field("low").type == pa.int64()
    assert written.schema.field("reason").type == pa.string()

    rows.write_text("")
    write_rows(rows, target, COLUMNS)
    assert pq.read_table(target).num_rows == 0
    rows.write_text('{"file": "f"}\n')
    with pytest.raises(KeyError):
        write_rows(rows, target, COLUMNS)
    assert pq.read_table(target).num_rows == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "rows"]
