"""Reading a corpus in batches of limited size. Nothing is decoded here.

One process counts a batch at a time, and its rows are written at once. `end` is where reading continues after it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from service.corpus.inputs import Damaged, Form, Input, get_damage_errors, get_openers
from service.types import Json

CHUNK_BYTES = 256 << 10
"""Bytes that are read at once, and the most of a batch unless one record is longer.

Counting them takes 10 ms, so that several processes stay busy and the progress bar moves. That is 50 times the cost of
sending a batch to a process.
"""

LINE_BYTES = 64
"""Bytes that a line is counted as at least, since even an empty line has a row of a hundred bytes."""

BATCH_BLOCKS = 256

MAX_RECORD_BYTES = 32 << 20
"""A longer record is not counted. It is the default limit of the service for a body (TALLYSTICK_MAX_BODY_BYTES)."""

SNIFF_BYTES = 8_192
"""A file with a NUL among its first bytes, this many, is binary, as in `tallystick count`."""

UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading continues: in input number `input`, after `row` records and `offset` bytes (decompressed) of it.

    `read` is the number of bytes of the file up to there, for a progress bar.
    """

    input: int = 0
    row: int = 0
    offset: int = 0
    read: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines of a file. The first of them is line number `first`."""

    file: str
    form: Form
    first: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Values:
    """Separate records: rows of a table (objects), or a whole file (bytes)."""

    file: str
    form: Form
    first: int
    values: Sequence[Json]


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that cannot be read: a record, or a file or the rest of it where `row` is None."""

    file: str
    row: int | None
    code: str
    reason: str
    bytes: int = 0


Block = Lines | Values | Failed
Placed = tuple[Block, int, Position]
"""A block, its size in bytes, and the position after it."""


@dataclass(frozen=True, slots=True)
class Batch:
    blocks: tuple[Block, ...]
    bytes: int
    end: Position


def read_batches(
    inputs: Sequence[Input], columns: Sequence[str] = (), start: Position | None = None, limit: int = MAX_RECORD_BYTES
) -> Iterator[Batch]:
    """The corpus from `start` on. What cannot be read is a Failed in a batch, and nothing is raised for it.

    `columns` are the top-level columns that are needed of a table.
    """
    blocks: list[Block] = []
    size = 0
    end = start or Position()
    for block, held, after in _read_all(inputs, columns, end, limit):
        if blocks and (size + held > CHUNK_BYTES or len(blocks) >= BATCH_BLOCKS):
            yield Batch(tuple(blocks), size, end)
            blocks, size = [], 0
        blocks.append(block)
        size += held
        end = after
    if blocks:
        yield Batch(tuple(blocks), size, end)


def _read_all(inputs: Sequence[Input], columns: Sequence[str], start: Position, limit: int) -> Iterator[Placed]:
    for number in range(start.input, len(inputs)):
        item = inputs[number]
        here = start if number == start.input else Position(number)
        after = Position(number + 1)
        if item.problem is not None:
            yield Failed(item.shown, None, "unreadable", item.problem), 0, after
            continue
        try:
            yield from _read_one(item, columns, here, limit)
        except Damaged as error:
            yield Failed(item.shown, None, "unreadable", str(error)), 0, after
        except get_damage_errors():
            yield Failed(item.shown, None, "unreadable", "the compressed data is damaged or cut off"), 0, after
        except OSError as error:
            yield Failed(item.shown, None, "unreadable", error.strerror or "cannot be read"), 0, after


def _read_one(item: Input, columns: Sequence[str], start: Position, limit: int) -> Iterator[Placed]:
    if item.form == "parquet":
        from service.corpus.tables import read_rows

        row = start.row
        for values, held, share in read_rows(item.path, columns, row, CHUNK_BYTES):
            block = Values(item.shown, item.form, row + 1, values)
            row += len(values)
            yield block, held, Position(start.input, row, 0, int(share * item.bytes))
        return
    with open(item.path, "rb") as raw:
        stream = get_openers()[item.packed](raw) if item.packed else raw
        if item.form in ("jsonl", "text"):
            yield from _read_lines(item, stream, raw, start, limit)
        else:
            yield _read_whole(item, stream, start, limit)


def _read_whole(item: Input, stream: IO[bytes], start: Position, limit: int) -> Placed:
    data, after = stream.read(limit + 1), Position(start.input + 1)
    if len(data) > limit:
        return Failed(item.shown, 1, "too_large", f"longer than {limit} bytes", len(data)), 0, after
    _check_is_text(data, item.form)
    return Values(item.shown, item.form, 1, (data.removeprefix(codecs.BOM_UTF8),)), len(data), after


def _check_is_text(data: bytes, form: Form) -> None:
    if data.startswith(UTF_16):
        raise Damaged("UTF-16: convert it to UTF-8 first")
    if form in ("text", "file") and b"\0" in data[:SNIFF_BYTES]:
        raise Damaged("binary")


# ---------------------------------------------------------------- lines


def _read_lines(item: Input, stream: IO[bytes], raw: IO[bytes], start: Position, limit: int) -> Iterator[Placed]:
    """Chunks of whole lines. Of a line that is too long only the position is kept."""
    row, offset = start.row, start.offset
    if offset:
        stream.seek(offset)
    rest, fresh = bytearray(), offset == 0
    skipped = 0  # bytes of a line that is too long already
    while chunk := stream.read(CHUNK_BYTES):
        if fresh:
            _check_is_text(chunk, item.form)
            without = chunk.removeprefix(codecs.BOM_UTF8)
            offset, chunk, fresh = len(chunk) - len(without), without, False
        if skipped:
            ends = chunk.find(b"\n") + 1
            skipped += ends or len(chunk)
            if not ends:
                continue
            row, offset = row + 1, offset + skipped
            yield _too_long(item, row, limit, skipped), 0, Position(start.input, row, offset, raw.tell())
            skipped, chunk = 0, chunk[ends:]
        ends = chunk.rfind(b"\n") + 1
        rest += chunk[:ends]
        if ends:
            for lines, number in _cut_into_chunks(bytes(rest)):
                block = Lines(item.shown, item.form, row + 1, lines)
                row, offset = row + number, offset + len(lines)
                yield block, max(len(lines), number * LINE_BYTES), Position(start.input, row, offset, raw.tell())
            rest.clear()
        rest += chunk[ends:]
        if len(rest) > limit + 1:  # the last byte may be the CR of the line end
            skipped = len(rest)
            rest.clear()
    if skipped:
        yield _too_long(item, row + 1, limit, skipped), 0, Position(start.input + 1)
    elif rest:
        yield Lines(item.shown, item.form, row + 1, bytes(rest)), len(rest), Position(start.input + 1)


def _too_long(item: Input, row: int, limit: int, size: int) -> Failed:
    return Failed(item.shown, row, "too_large", f"longer than {limit} bytes", size)


def _cut_into_chunks(lines: bytes) -> Iterator[tuple[bytes, int]]:
    """Whole lines in pieces of at most a chunk, each with its number of lines."""
    number, most = lines.count(b"\n"), max(1, CHUNK_BYTES // LINE_BYTES)
    while number > most:
        last = lines.split(b"\n", most)[-1]
        yield lines[:len(lines) - len(last)], most
        lines, number = last, number - most
    yield lines, number
