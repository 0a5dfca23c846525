from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.corpus import counting
from service.corpus.batches import Batch, Lines, Position, Values, read_batches
from service.corpus.counting import COLUMNS, CorpusCounter, CountOptions, find_at_path
from service.corpus.inputs import Form, find_inputs
from service.corpus.totals import NO_MODEL, Failure, Totals
from service.counting.counter import Counter
from service.dialects import native
from service.errors import InvalidRequest, TokenizerUnavailable, UnknownModel
from service.types import CountRequest
from tests.support.texts import odd_texts, unhurried

GPT = CountOptions(model="gpt-4o", field="text")


def count(question: CountOptions, *blocks: Lines | Values) -> tuple[list[dict[str, Any]], Totals]:
    counted = CorpusCounter(question).count_batch(Batch(blocks, 0, Position()))
    return [json.loads(line) for line in counted.rows.splitlines()], counted.totals


def count_lines(data: bytes, question: CountOptions = GPT, form: Form = "jsonl") -> list[dict[str, Any]]:
    return count(question, Lines("f", form, 1, data))[0]


@pytest.mark.parametrize("asked", [
    {"model": "gpt-4o"}, {"model": "claude-sonnet-4-5"}, {"model": "gemini-2.5-flash"}, {"tokenizer": "cl100k_base"},
])
@given(texts=st.lists(odd_texts(), max_size=8))
@unhurried
def test_every_record_counts_as_its_text_does(asked: dict[str, Any], texts: list[str]) -> None:
    counter = Counter.in_memory(0)
    counts = [counter.count(native.read({**asked, "text": text})) for text in texts]
    data = "".join(json.dumps({"text": text}, ensure_ascii=len(text) % 2 == 0) + "\n" for text in texts).encode()
    rows, totals = count(CountOptions(**asked, field="text"), Lines("f", "jsonl", 1, data))
    assert [(row["input_tokens"], row["method"], row["low"], row["high"]) for row in rows] == [
        (count.input_tokens, count.method, count.low, count.high) for count in counts
    ]
    assert totals.all.input_tokens == sum(count.input_tokens for count in counts)
    assert [row["row"] for row in rows] == list(range(1, len(texts) + 1))


def test_a_row_says_everything() -> None:
    (row,), totals = count(
        CountOptions(model="openai/gpt-4o", field="a.0.b", id_field="meta.id"),
        Lines("f", "jsonl", 7, b'{"a": [{"b": "Hello, world!"}], "meta": {"id": "x"}}\n'),
    )
    assert list(row) == list(COLUMNS)
    assert row == {
        "file": "f", "row": 7, "id": "x", "model": "gpt-4o", "tokenizer": "o200k_base", "input_tokens": 4,
        "method": "exact", "low": 4, "high": 4, "cost_usd": "0.00001", "error": None, "reason": None,
    }
    assert list(totals.by_model) == ["openai/gpt-4o"]
    assert totals.all.bytes == 52


@pytest.mark.parametrize(("line", "error", "reason"), [
    (b'{"x": "secret"}', "missing_field", "text is missing"),
    (b'["secret"]', "missing_field", "text is missing"),
    (b'"secret"', "missing_field", "text is missing"),
    (b'{"text": null}', "null_field", "null: nothing to count"),
    (b'{"text": 5}', "wrong_type", "not a text but a number"),
    (b'{"text": ["secret"]}', "wrong_type", "not a text but an array"),
    (b"secret", "invalid_json", "The record is not valid JSON: Expecting value at line 1 column 1."),
    (b'{"text": "secret', "invalid_json", None),
    (b"\xff\xfe\x00secret", "invalid_json", "The record is not UTF-8: byte 0 cannot be decoded."),
    (b'{"text": "a\0secret"}', "invalid_json", None),
    (b"[" * 500, "invalid_json", None),
    (b'{"text": ' + b"9" * 5000 + b"}", "invalid_json", None),
    (b'{"text": "' + b"secret" * 20 + b'"}', "too_large", "longer than 100 bytes"),
])
def test_a_record_that_cannot_be_counted_says_why_and_not_what_it_is(
    line: bytes, error: str, reason: str | None
) -> None:
    question = GPT if error == "invalid_json" else CountOptions(model="gpt-4o", field="text", limit=100)
    data = line + b'\n{"text": "ok"}\n'
    (bad, good), totals = count(question, Lines("f", "jsonl", 1, data))
    assert (bad["error"], bad["row"], bad["input_tokens"], bad["model"]) == (error, 1, None, None)
    assert reason is None or bad["reason"] == reason
    assert "secret" not in json.dumps(bad)
    assert (good["error"], good["input_tokens"], good["row"]) == (None, 1, 2)
    assert (totals.all.records, totals.all.failed, totals.codes) == (2, 1, {error: 1})
    assert totals.first == [Failure("f", 1, error, bad["reason"])]
    assert totals.all.bytes == len(data) - 2


def test_blank_lines_are_records_of_a_text_alone() -> None:
    data = b'\n{"text": "a"}\r\n  \n{"text": "b"}'
    assert [(row["row"], row["input_tokens"]) for row in count_lines(data)] == [(2, 1), (4, 1)]
    rows = count_lines(b"one\r\n\ntwo\rtwo\nlast", form="text")
    assert [(row["row"], row["input_tokens"]) for row in rows] == [(1, 1), (2, 0), (3, 3), (4, 1)]


def test_the_end_of_a_line_is_no_part_of_it() -> None:
    seen: list[object] = []
    for record in counting._records(Lines("f", "text", 1, b"a\r\nb\r\r\nc\n"), None):
        seen.append(record.content)
    assert seen == [b"a", b"b\r", b"c"]


def test_a_text_that_is_no_utf_8_is_an_error_of_its_own() -> None:
    bad, good = count_lines(b"a\xff\nb\0\n", CountOptions(tokenizer="o200k_base", field="text"), "text")
    assert (bad["error"], bad["reason"]) == ("not_utf8", "not UTF-8 at byte 1")
    assert good["input_tokens"] == Counter.in_memory(0).count(
        CountRequest(tokenizer="o200k_base", texts=("b\0",))
    ).input_tokens


def test_lone_surrogates_are_repaired_as_the_service_repairs_them() -> None:
    (row,) = count_lines(b'{"text": "a\\ud800b"}')
    assert row["input_tokens"] == count_lines('{"text": "a�b"}'.encode())[0]["input_tokens"]


@pytest.mark.parametrize(("value", "shown"), [
    ('"a"', "a"), ("5", 5), ("null", None), ("1.5", None), ("true", None), ('{"a": 1}', None),
    ('"' + "x" * 1001 + '"', None),
])
def test_an_id_is_a_short_text_or_a_whole_number(value: str, shown: object) -> None:
    line = f'{{"id": {value}, "text": "a"}}'.encode()
    (row,) = count_lines(line, CountOptions(model="gpt-4o", field="text", id_field="id"))
    assert row["id"] == shown
    assert row["input_tokens"] == 1


def test_a_failure_has_its_id_too() -> None:
    (row,) = count_lines(b'{"id": 3}', CountOptions(model="gpt-4o", field="text", id_field="id"))
    assert (row["id"], row["error"]) == (3, "missing_field")


BODIES = [
    {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello!"}]},
    {"model": "gpt-5.4", "input": "Hello, world!"},
    {"model": "claude-sonnet-4-5", "system": "You are a scientist",
     "messages": [{"role": "user", "content": "Hello, Claude"}]},
    {"model": "gemini-2.5-flash", "contents": [{"role": "user", "parts": [{"text": "Hello, world!"}]}]},
    {"model": "text-embedding-3-small", "input": ["one", "two"]},
]


def test_whole_requests_are_counted_each_for_its_own_model() -> None:
    counter = Counter.in_memory(0)
    counts = [counter.count(native.read({"request": body})) for body in BODIES]
    data = "\n".join(map(json.dumps, BODIES)).encode()
    rows, totals = count(CountOptions(request=True), Lines("f", "jsonl", 1, data))
    assert [(row["model"], row["input_tokens"], row["method"], row["low"], row["high"]) for row in rows] == [
        (c.model, c.input_tokens, c.method, c.low, c.high) for c in counts
    ]
    assert {name: sums.input_tokens for name, sums in totals.by_model.items()} == {
        c.model: c.input_tokens for c in counts
    }


def test_whole_requests_are_counted_for_the_model_that_is_asked_for() -> None:
    line = json.dumps({"custom_id": "r1", "body": BODIES[0]}).encode()
    text_line = json.dumps({"custom_id": "r1", "body": json.dumps(BODIES[0])}).encode()
    question = CountOptions(model="claude-sonnet-4-5", request=True, field="body", id_field="custom_id")
    counted = Counter.in_memory(0).count(native.read({"model": "claude-sonnet-4-5", "request": BODIES[0]}))
    for row in count_lines(line + b"\n" + text_line, question):
        assert (row["id"], row["model"], row["input_tokens"]) == ("r1", counted.model, counted.input_tokens)


def test_requests_that_cannot_be_counted() -> None:
    lines = [
        b'{"messages": [{"role": "user", "content": "secret"}]}', b'{"model": "gtp-4o", "messages": []}',
        b'{"model": "gpt-4o", "secret": 1}', b'["secret"]', b'{"model": "gpt-4o", "messages": "secret"}',
    ]
    rows, totals = count(CountOptions(request=True), Lines("f", "jsonl", 1, b"\n".join(lines)))
    assert [row["error"] for row in rows] == [
        "invalid_request", "unknown_model", "invalid_request", "wrong_type", "invalid_request",
    ]
    assert "secret" not in json.dumps(rows)
    assert totals.by_model[NO_MODEL].failed == 5


def test_rows_of_a_table_and_whole_files() -> None:
    rows, totals = count(
        CountOptions(model="gpt-4o", field="a.b", id_field="id", limit=20),
        Values("t", "parquet", 5, [
            {"a": {"b": "안녕"}, "id": 9}, {"a": None}, {"a": {"b": "x" * 21}}, {"a": {"b": 3}},
        ]),
        Values("j", "json", 1, [b'{"a":\n {"b": "x"}}']),
        Values("f", "file", 1, [b"one\ntwo\n"]),
    )
    assert [(row["file"], row["row"], row["id"], row["error"]) for row in rows] == [
        ("t", 5, 9, None), ("t", 6, None, "missing_field"), ("t", 7, None, "too_large"), ("t", 8, None, "wrong_type"),
        ("j", 1, None, None), ("f", 1, None, None),
    ]
    assert totals.all.bytes == 6 + 0 + 21 + 0 + 18 + 8


def test_dig() -> None:
    assert find_at_path({"a": [{"b": None}]}, "a.0.b") is None
    for path in ("a.1", "a.-1", "a.x", "a.0.c", "b", "", "a.9999999999999999999999", "a.٠"):
        with pytest.raises(InvalidRequest):
            find_at_path({"a": [{"b": None}]}, path)


@pytest.mark.parametrize(("question", "error"), [
    (CountOptions(), InvalidRequest), (CountOptions(model="gpt-4o", tokenizer="gemma3"), InvalidRequest),
    (CountOptions(tokenizer="gemma3", request=True), InvalidRequest), (CountOptions(model="gtp-4o"), UnknownModel),
    (CountOptions(tokenizer="nope"), InvalidRequest),
])
def test_a_question_without_an_answer_is_refused_before_anything_is_read(
    question: CountOptions, error: type[Exception]
) -> None:
    with pytest.raises(error):
        question.check()
    CountOptions(request=True).check()


def test_damaged_data_stops_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TokenizerUnavailable("damaged")

    monkeypatch.setattr("service.tokenizers.registry.get_tokenizer", fail)
    with pytest.raises(TokenizerUnavailable):
        count_lines(b'{"text": "a"}')


def test_a_corpus_of_all_forms_is_counted(tmp_path: Path) -> None:
    """From files to rows, every record as the Counter counts it."""
    texts = ["Hello, world!", "안녕하세요.", "", "  two  blanks ", "<|endoftext|>", "a\tb"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "b.txt").write_text("\n".join(texts), "utf-8")
    (tmp_path / "c.json").write_text(json.dumps({"text": "\n".join(texts)}, indent=2))
    counter, wanted = Counter.in_memory(0), []
    for text in [*texts, *texts, "\n".join(texts)]:
        wanted.append(counter.count(CountRequest(model_ref="gpt-4o", texts=(text,))).input_tokens)
    (batch,) = read_batches(find_inputs([str(tmp_path)]))
    rows = CorpusCounter(GPT).count_batch(batch).rows.splitlines()
    assert [json.loads(row)["input_tokens"] for row in rows] == wanted
