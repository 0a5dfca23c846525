"""Counting the records of a batch, with the same Counter as in the service: records -> rows and totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pydantic_core

from service.corpus.batches import MAX_RECORD_BYTES, Batch, Block, Failed, Lines, Values
from service.corpus.totals import NO_MODEL, Failure, Totals
from service.counting.counter import Counter
from service.dialects import native
from service.dialects.fields import describe_type
from service.dialects.json import read_json
from service.errors import InvalidRequest, ServiceError, TokenizerUnavailable, TooLarge
from service.pricing.prices import format_decimal
from service.types import CountRequest, Json, TokenCount

COLUMNS: dict[str, type] = {
    "file": str, "row": int, "id": str, "model": str, "tokenizer": str, "input_tokens": int, "method": str,
    "low": int, "high": int, "cost_usd": str, "error": str, "reason": str,
}
"""The columns of the output, in order.

Either the count is null, or `error` (a code) and `reason` are. `low` to `high` is the error band, `cost_usd` a decimal.
`row` is the number of the line (from 1) or of the row of a table. It is 1 for a file that is one record, and null for a
file that cannot be read. `id` is the value of the id field, if it is short.
"""

MAX_ID_CHARS = 1_000

NOTHING = dict.fromkeys(COLUMNS)


@dataclass(frozen=True, slots=True)
class CountOptions:
    """What is counted of each record, and for which model or tokenizer.

    `field` and `id_field` are dotted paths such as `messages.0.content`. Without `field` the whole record is counted.
    With `request` it is a request body as a provider takes it, which may name its own model.
    """

    model: str | None = None
    tokenizer: str | None = None
    field: str | None = None
    request: bool = False
    id_field: str | None = None
    limit: int = MAX_RECORD_BYTES

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are needed of a table."""
        return tuple(path.split(".")[0] for path in (self.field, self.id_field) if path is not None)

    def check(self) -> None:
        """Raise ServiceError where no record could be counted: an unknown name, damaged data, no model."""
        if self.model is not None and self.tokenizer is not None:
            raise InvalidRequest("name a model or a tokenizer, not both.")
        if self.request and self.tokenizer is not None:
            raise InvalidRequest("whole requests are counted for a model, not with a tokenizer alone.")
        if self.model is not None or self.tokenizer is not None:
            Counter.in_memory(0).count(self.make_request(""))
        elif not self.request:
            raise InvalidRequest("say what to count for: a model or a tokenizer.")

    def make_request(self, text: str) -> CountRequest:
        return CountRequest(model_ref=self.model, tokenizer=self.tokenizer, texts=(text,))


class UnusableRecord(InvalidRequest):
    """A record holds nothing that can be counted."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Counted:
    """A batch that was counted: its rows as JSON lines, in order, and its sums."""

    rows: bytes
    totals: Totals


class Record(NamedTuple):
    """One record as it was read: the bytes or the text of a text, the bytes of JSON, or a decoded value."""

    file: str
    row: int
    content: Json
    is_json: bool
    bytes: int


@dataclass(slots=True)
class CorpusCounter:
    """Counts records one after the other. It keeps no text."""

    options: CountOptions
    counter: Counter = field(default_factory=lambda: Counter.in_memory(0))

    def count_batch(self, batch: Batch) -> Counted:
        """The rows and sums of a batch. Raises only TokenizerUnavailable, since then no other record could be counted,
        either."""
        totals, rows = Totals(), []
        for block in batch.blocks:
            for row in self._rows(block, totals):
                rows.append(pydantic_core.to_json(row))
        rows.append(b"")
        return Counted(b"\n".join(rows), totals)

    def _rows(self, block: Block, totals: Totals) -> Iterator[dict[str, Json]]:
        asked = self.options.model or self.options.tokenizer
        if isinstance(block, Failed):
            totals.fail(asked or NO_MODEL, Failure(block.file, block.row, block.code, block.reason), block.bytes)
            yield NOTHING | {"file": block.file, "row": block.row, "error": block.code, "reason": block.reason}
            return
        for record in _records(block, self.options.field):
            row: dict[str, Json] = NOTHING | {"file": record.file, "row": record.row}
            try:
                count = self._count_record(record, row)
            except TokenizerUnavailable:
                raise
            except ServiceError as error:
                row["error"], row["reason"] = error.code, error.message
                failure = Failure(record.file, record.row, error.code, error.message)
                totals.fail(asked or NO_MODEL, failure, record.bytes)
            else:
                row |= count_columns(count)
                totals.count(asked or count.model or NO_MODEL, count, record.bytes)
            yield row

    def _count_record(self, record: Record, row: dict[str, Json]) -> TokenCount:
        """The count of a record. Its id is put into `row` as soon as it is known, so that a failure has it, too."""
        options, content = self.options, record.content
        if record.is_json:
            if isinstance(content, bytes):
                if len(content) > options.limit:
                    raise TooLarge(f"longer than {options.limit} bytes")
                content = _parse(content)
            if options.id_field is not None:
                row["id"] = _read_id(content, options.id_field)
            if options.field is not None:
                content = find_at_path(content, options.field)
        return self.count(content)

    def count(self, content: Json) -> TokenCount:
        """The count of a text, or of a request body as JSON text or decoded. Raises ServiceError."""
        if content is None:
            raise UnusableRecord("null_field", "null: nothing to count")
        if count_utf8_bytes(content) > self.options.limit:
            raise TooLarge(f"longer than {self.options.limit} bytes")
        if self.options.request:
            return self.counter.count(self._to_request(content))
        if isinstance(content, bytes):
            content = _decode(content)
        if not isinstance(content, str):
            raise UnusableRecord("wrong_type", f"not a text but {describe_type(content)}")
        return self.counter.count(self.options.make_request(content))

    def _to_request(self, content: Json) -> CountRequest:
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogatepass")
        if isinstance(content, bytes):
            content = _parse(content)
        if not isinstance(content, dict):
            raise UnusableRecord("wrong_type", f"not a request body but {describe_type(content)}")
        return native.read({"model": self.options.model, "request": content})


def count_columns(count: TokenCount) -> dict[str, Any]:
    """The columns of the output for a count."""
    return {
        "model": count.model, "tokenizer": count.tokenizer, "input_tokens": count.input_tokens,
        "method": count.method, "low": count.low, "high": count.high,
        "cost_usd": None if count.cost is None else format_decimal(count.cost.usd),
    }


# ---------------------------------------------------------------- block -> records


def _records(block: Lines | Values, path: str | None) -> Iterator[Record]:
    if isinstance(block, Lines):
        yield from _read_line_records(block)
    else:
        for row, value in enumerate(block.values, block.first):
            size = len(value) if isinstance(value, bytes) else _count_bytes_in_table(value, path)
            yield Record(block.file, row, value, block.form != "file", size)


def _count_bytes_in_table(value: Json, path: str | None) -> int:
    try:
        return count_utf8_bytes(value if path is None else find_at_path(value, path))
    except UnusableRecord:
        return 0


def count_utf8_bytes(content: Json) -> int:
    """Bytes of a text in UTF-8, or 0 for anything that is no text."""
    if isinstance(content, str):
        return len(content) if content.isascii() else len(content.encode("utf-8", "surrogatepass"))
    return len(content) if isinstance(content, bytes) else 0


def _read_line_records(block: Lines) -> Iterator[Record]:
    """One record for each line, without its end (LF or CRLF). Blank lines are no records in JSON lines."""
    is_json = block.form == "jsonl"
    lines = block.data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for row, line in enumerate(lines, block.first):
        line = line.removesuffix(b"\r")  # noqa: PLW2901
        if not is_json or line.strip():
            yield Record(block.file, row, line, is_json, len(line))


def _parse(data: bytes) -> Json:
    try:
        value, _ = read_json(data)
    except InvalidRequest as error:
        raise UnusableRecord("invalid_json", error.message.replace("The body", "The record", 1)) from None
    return value


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnusableRecord("not_utf8", f"not UTF-8 at byte {error.start}") from None


def find_at_path(value: Json, path: str) -> Json:
    """The value at a dotted path. Raises UnusableRecord where there is none. Null is a value."""
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _is_index(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            raise UnusableRecord("missing_field", f"{path} is missing")
    return value


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10


def _read_id(value: Json, path: str) -> str | int | None:
    try:
        found = find_at_path(value, path)
    except UnusableRecord:
        return None
    if isinstance(found, str):
        return found if len(found) <= MAX_ID_CHARS else None
    return found if type(found) is int else None
