"""The routes that show tokens: what they answer, what they refuse, and that they agree with the counts."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.routers import merges, tokenize
from service.api.routing import ServiceRoute
from service.api.schemas import tokenize as bodies
from service.api.schemas.errors import ErrorAnswer
from service.tokenizers.registry import tokenizer_names
from tests.support.texts import odd_texts
from tests.support.web import client_of, make_app

ROUTES = [route for route in (*tokenize.router.routes, *merges.router.routes) if isinstance(route, ServiceRoute)]
ANSWERS = {route.operation_id: route.describe().response_model for route in ROUTES}
PATHS = {route.operation_id: route.path for route in ROUTES}

CANARY = "hunter2-canary"


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(make_app()) as client:
        yield client


async def ask(client: httpx.AsyncClient, name: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATHS[name], json=body)
    assert answer.status_code == 200, answer.text
    ANSWERS[name].model_validate_json(answer.content)  # what OpenAPI promises
    found: dict[str, Any] = answer.json()
    return found


async def refusal(client: httpx.AsyncClient, name: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = await client.post(PATHS[name], json=body)
    ErrorAnswer.model_validate_json(answer.content)
    assert CANARY not in answer.text
    return answer.status_code, answer.json()["error"]


def property_test(*strategies: st.SearchStrategy[Any]) -> Any:
    """Hypothesis over one client a test."""
    def wrap(test: Any) -> Any:
        shared = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
        return shared(given(*strategies)(test))
    return wrap


# ---------------------------------------------------------------- tokenize


async def test_a_split_character_shows_its_bytes(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "tokenize", model="gpt-4o", text="안녕 🤖!")
    assert answer["tokens"][2:4] == [
        {"id": 93643, "text": None, "bytes_hex": "20f09fa4", "start": 2, "end": 4},
        {"id": 244, "text": None, "bytes_hex": "96", "start": 3, "end": 4},
    ]
    assert (answer["count"], answer["characters"], answer["bytes"], answer["method"]) == (5, 5, 12, "exact")
    assert (answer["model"], answer["tokenizer"], answer["altered"], answer["normaliser"]) == (
        "gpt-4o", "o200k_base", False, [],
    )


async def test_places_in_utf16_are_those_of_a_browsers_string(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "tokenize", tokenizer="o200k_base", text="🤖🤖 x", unit="utf16")
    assert [(token["start"], token["end"]) for token in answer["tokens"]] == [(0, 2), (0, 2), (2, 4), (2, 4), (4, 6)]
    assert answer["characters"] == 6
    at = await ask(client, "tokenize", tokenizer="o200k_base", text="🤖🤖 x", unit="utf16", at=3, limit=1)
    assert (at["offset"], at["next_offset"], at["tokens"]) == (2, 3, answer["tokens"][2:3])


async def test_pages_together_are_the_whole(client: httpx.AsyncClient) -> None:
    text = "The quick brown 여우 🦊 jumps. " * 30
    whole = await ask(client, "tokenize", tokenizer="cl100k_base", text=text, limit=100_000)
    assert whole["next_offset"] is None
    tokens, offset = [], 0
    while offset is not None:
        page = await ask(client, "tokenize", tokenizer="cl100k_base", text=text, offset=offset, limit=37)
        assert page["offset"] == offset
        tokens += page["tokens"]
        offset = page["next_offset"]
    assert tokens == whole["tokens"]
    assert len(tokens) == whole["count"]
    past = await ask(client, "tokenize", tokenizer="cl100k_base", text=text, offset=10**6)
    assert (past["tokens"], past["offset"], past["next_offset"]) == ([], whole["count"], None)


async def test_columns_say_the_same_as_tokens(client: httpx.AsyncClient) -> None:
    texts = (("o200k_base", "안녕 🤖🦊 abc"), ("claude", "ﬁne e\u0301t 🤖"), ("claude-v4.8", "HTTP 안녕"))
    for tokenizer, text in texts:
        rows = (await ask(client, "tokenize", tokenizer=tokenizer, text=text))["tokens"]
        columns = (await ask(client, "tokenize", tokenizer=tokenizer, text=text, form="columns"))["columns"]
        assert columns["ids"] == (None if rows[0]["id"] is None else [row["id"] for row in rows])
        odd = {item["index"]: item for item in columns["exceptions"]}
        for number, (row, start, end) in enumerate(zip(rows, columns["starts"], columns["ends"], strict=True)):
            shown = odd.get(number, {"text": text[start:end], "bytes_hex": None})
            assert (shown["text"], shown["bytes_hex"], start, end) == (
                row["text"], row["bytes_hex"], row["start"], row["end"],
            )
    page = await ask(client, "tokenize", tokenizer="o200k_base", text="a 🤖 b 🤖", form="columns", offset=3, limit=9)
    assert [item["index"] for item in page["columns"]["exceptions"]] == [4, 5]


@pytest.mark.parametrize(
    ("tokenizer", "text", "altered", "codes"),
    [
        ("o200k_base", "ﬁ\r\n", False, []),
        ("claude", "ﬁ", True, ["nfkc"]),
        ("claude", "fi", False, ["nfkc"]),
        ("claude-v3", "“x”\r\n", True, ["nfc", "controls_removed", "plain_spaces", "plain_quotes"]),
        ("gemma3", "a▁b", True, ["mark_is_blank"]),
        ("llama2", "a", True, ["blank_in_front", "mark_is_blank"]),
        ("qwen3", "e\u0301", True, ["nfc"]),
    ],
)
async def test_it_says_whether_the_text_was_changed(
    client: httpx.AsyncClient, tokenizer: str, text: str, altered: bool, codes: list[str]
) -> None:
    answer = await ask(client, "tokenize", tokenizer=tokenizer, text=text)
    assert (answer["altered"], answer["normaliser"]) == (altered, codes)


async def test_claude_3_and_later_have_pieces_without_ids(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "tokenize", model="claude-sonnet-4-5", text="Hello, 세계!")
    assert answer["has_ids"] is False
    assert {token["id"] for token in answer["tokens"]} == {None}
    assert "".join(token["text"] for token in answer["tokens"]) == "Hello, 세계!"


async def test_special_tokens_are_text_unless_asked_for(client: httpx.AsyncClient) -> None:
    parsed = await ask(client, "tokenize", tokenizer="cl100k_base", text="<|endoftext|>", special_tokens="parse")
    assert parsed["tokens"] == [
        {"id": 100257, "text": "<|endoftext|>", "bytes_hex": None, "start": 0, "end": 13, "special": True}
    ]
    assert (await ask(client, "tokenize", tokenizer="cl100k_base", text="<|endoftext|>"))["count"] == 7


@pytest.mark.parametrize("tokenizer", tokenizer_names())
@property_test(odd_texts())
async def test_tokens_are_those_that_are_counted_and_cover_the_text(
    client: httpx.AsyncClient, tokenizer: str, text: str
) -> None:
    answer = await ask(client, "tokenize", tokenizer=tokenizer, text=text)
    counted = (await client.post("/v1/countTokens", json={"tokenizer": tokenizer, "text": text})).json()
    for field in ("tokenizer_revision", "method", "error_band"):
        assert answer[field] == counted[field]
    tokens = answer["tokens"]
    assert answer["count"] == counted["input_tokens"] == len(tokens)
    at = 0
    for token in tokens:
        assert token["start"] <= at <= token["end"]
        at = token["end"]
    assert at == (len(text) if tokens else 0)
    if answer["has_ids"]:
        ids = [token["id"] for token in tokens]
        back = await ask(client, "detokenize", tokenizer=tokenizer, ids=ids, pieces=True)
        seen = "".join(piece["emit"] for piece in back["pieces"]) + back["rest"]
        assert back["text"] == seen
        if not answer["altered"] or "blank_in_front" in answer["normaliser"]:
            assert back["text"] == text.replace("▁", " " if "mark_is_blank" in answer["normaliser"] else "▁")


async def test_a_repaired_text_is_told(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/v1/tokenize", content=b'{"tokenizer":"o200k_base","text":"a\\ud800b"}')).json()
    assert answer["warnings"] == [{"code": "lone_surrogate_replaced", "path": "text"}]
    assert answer["characters"] == 3
    assert (await ask(client, "tokenize", tokenizer="o200k_base", text="", colour=1))["warnings"] == [
        {"code": "unknown_field_ignored", "path": "colour"}
    ]
    legacy = await ask(client, "tokenize", provider="anthropic", text="hi")
    assert (legacy["method"], legacy["warnings"][0]["path"]) == ("estimate", "provider")


@pytest.mark.parametrize("tokenizer", ["o200k_base", "claude", "gemma3", "claude-v4.8"])
async def test_a_megabyte_is_answered_while_a_reader_waits(client: httpx.AsyncClient, tokenizer: str) -> None:
    words = ["the", "of", "token", "토큰", "count", "수를", "세다", "model", "request", "🤖", "12345\n"]
    text = " ".join(random.Random(7).choices(words, k=200_000))
    assert len(text.encode()) > 1_000_000
    await ask(client, "tokenize", tokenizer=tokenizer, text="warm")
    began = time.process_time()
    answer = await client.post("/v1/tokenize", json={"tokenizer": tokenizer, "text": text, "form": "columns",
                                                     "limit": 1_000_000})
    seconds = time.process_time() - began
    columns = answer.json()["columns"]
    assert len(columns["ends"]) == answer.json()["count"]
    assert columns["ends"][-1] == len(text)
    assert seconds < 10
    page = await ask(client, "tokenize", tokenizer=tokenizer, text=text, at=len(text) // 2, limit=100)
    assert len(page["tokens"]) == 100
    assert page["tokens"][0]["start"] <= len(text) // 2 < page["tokens"][0]["end"]


# ---------------------------------------------------------------- detokenize


async def test_ids_stream_as_whole_characters(client: httpx.AsyncClient) -> None:
    text = "삼겹살 😊"
    tokens = (await ask(client, "tokenize", tokenizer="cl100k_base", text=text))["tokens"]
    answer = await ask(client, "detokenize", tokenizer="cl100k_base", ids=[t["id"] for t in tokens], pieces=True)
    assert (answer["text"], answer["valid"], answer["rest"], answer["count"]) == (text, True, "", len(tokens))
    assert "".join(piece["emit"] for piece in answer["pieces"]) == text
    assert [piece["held_hex"] for piece in answer["pieces"]][-2:] == ["f09f98", ""]
    assert not any("\ufffd" in piece["emit"] for piece in answer["pieces"])
    assert (await ask(client, "detokenize", tokenizer="cl100k_base", ids=[t["id"] for t in tokens]))["pieces"] is None


async def test_ids_that_end_inside_a_character_say_so(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "detokenize", tokenizer="o200k_base", ids=[24912, 93643], pieces=True)
    assert (answer["text"], answer["valid"], answer["rest"]) == ("hello \ufffd", False, "\ufffd")
    assert answer["pieces"][-1] == {
        "id": 93643, "text": None, "bytes_hex": "20f09fa4", "emit": " ", "held_hex": "f09fa4",
    }


async def test_special_ids_are_shown_and_marked(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "detokenize", tokenizer="cl100k_base", ids=[100257], pieces=True)
    assert answer["text"] == "<|endoftext|>"
    assert answer["pieces"][0]["special"] is True


@property_test(st.lists(st.integers(0, 199_997), max_size=30), st.booleans())
async def test_streamed_and_decoded_at_once_are_the_same(
    client: httpx.AsyncClient, ids: list[int], pieces: bool
) -> None:
    answer = await ask(client, "detokenize", tokenizer="o200k_base", ids=ids, pieces=True)
    whole = b"".join(
        piece["text"].encode() if piece["bytes_hex"] is None else bytes.fromhex(piece["bytes_hex"])
        for piece in answer["pieces"]
    )
    assert answer["text"] == whole.decode("utf-8", "replace")
    assert "".join(piece["emit"] for piece in answer["pieces"]) + answer["rest"] == answer["text"]
    assert answer["text"] == (await ask(client, "detokenize", tokenizer="o200k_base", ids=ids))["text"]


# ---------------------------------------------------------------- explain and train: what the wire adds


async def test_an_explanation_steps_as_documented(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "explain", tokenizer="o200k_base", text="토큰 12345")
    assert (answer["algorithm"], answer["steps_missing"], answer["count"]) == ("ranks", None, 5)
    first = answer["pre_tokens"][0]
    assert [node["bytes_hex"] for node in first["nodes"][: first["leaves"]]] == ["ed", "86", "a0", "ed", "81", "b0"]
    assert [first["nodes"][number]["text"] for number in first["tokens"]] == ["토", "큰"]
    assert [item["text"] for item in answer["pre_tokens"]] == ["토큰", " ", "123", "45"]


async def test_why_there_are_no_steps_is_said(client: httpx.AsyncClient) -> None:
    tiling = await ask(client, "explain", model="claude-opus-4-8", text="Hello")
    bundled = await ask(client, "explain", tokenizer="llama3", text="Hello")
    assert (tiling["algorithm"], tiling["steps_missing"], tiling["pre_tokens"]) == ("tiling", "tiling", None)
    assert (bundled["algorithm"], bundled["steps_missing"], bundled["tokens"][0]["id"]) == ("bundled", "bundled", 9906)
    assert "no ids" in tiling["about"]


async def test_the_other_kind_of_rule_is_shown_where_it_differs(client: httpx.AsyncClient) -> None:
    (blanks,) = (await ask(client, "explain", tokenizer="gemma3", text=" " * 36))["pre_tokens"]
    assert blanks["other_rule"] == {
        "rule": "ranks", "same": False,
        "tokens": [{"id": 152, "text": " " * 16, "bytes_hex": None}, {"id": 156, "text": " " * 20, "bytes_hex": None}],
    }


async def test_the_teaching_corpus_on_the_wire(client: httpx.AsyncClient) -> None:
    corpus = " ".join(
        ["low lower lowest newer newest wider widest"] * 50 + ["토큰 토큰화 토크나이저 토큰을 토큰이"] * 30
    )
    answer = await ask(client, "bpe_train", corpus=corpus, merges=20, encode=[" lowest", "lowest", " 토큰화"])
    spelled = [
        step["text"].encode() if step["bytes_hex"] is None else bytes.fromhex(step["bytes_hex"])
        for step in answer["steps"][:10]
    ]
    assert spelled == [
        b"we", b"lo", b"st", b" \xed", b" \xed\x86", b" \xed\x86\xa0", b" \xed\x86\xa0\xed", b" \xed\x86\xa0\xed\x81",
        b" lo", b" \xed\x86\xa0\xed\x81\xb0",
    ]
    assert [item["ids"] for item in answer["encoded"]] == [[266, 258], [257, 256, 258], [265, 237, 153, 148]]
    assert answer["corpus"]["distinct"] == 13  # "low" and " low" are two
    for step, later in zip(answer["steps"], answer["steps"][1:], strict=False):
        assert step["pairs"][0] == {key: step[key] for key in ("left", "right", "count")}
        assert len(step["pairs"]) == 20
        assert step["tokens"] - later["tokens"] == later["count"]  # no run of one letter here
    assert [item["id"] for item in answer["vocabulary"]] == list(range(276))


async def test_a_words_end_is_shown_as_a_mark(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "bpe_train", corpus="low low lower", merges=3, level="character", encode=["low lux"])
    assert answer["end_of_word"] == "</w>"
    assert answer["steps"][-1]["text"] == "low</w>"
    low, lux = answer["encoded"][0]["pre_tokens"]
    assert [low["nodes"][number]["text"] for number in low["tokens"]] == ["low</w>"]
    assert [(node["id"], node["text"]) for node in lux["nodes"]] == [(1, "l"), (None, "u"), (None, "x"), (5, "</w>")]


# ---------------------------------------------------------------- refusals

LONG = CANARY + "x" * (bodies.MAX_TEXT - len(CANARY) + 1)


@pytest.mark.parametrize(
    ("name", "body", "status", "field"),
    [
        ("tokenize", {"text": CANARY}, 400, "model"),
        ("tokenize", {"model": "gpt-4o", "tokenizer": "gemma3", "text": CANARY}, 400, "tokenizer"),
        ("tokenize", {"tokenizer": "o200k_base"}, 400, "text"),
        ("tokenize", {"tokenizer": "o200k_base", "text": [CANARY]}, 400, "text"),
        ("tokenize", {"tokenizer": "o200k_base", "text": LONG}, 413, "text"),
        ("tokenize", {"tokenizer": CANARY, "text": ""}, 400, "tokenizer"),
        ("tokenize", {"model": "no-such-model", "text": CANARY}, 404, "model"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "limit": 0}, 400, "limit"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "limit": 100_001}, 400, "limit"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "limit": True}, 400, "limit"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "limit": 2.5}, 400, "limit"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "offset": -1}, 400, "offset"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "offset": 0, "at": 0}, 400, "at"),
        ("tokenize", {"tokenizer": "o200k_base", "text": "", "unit": CANARY}, 400, "unit"),
        ("tokenize", {"tokenizer": "claude-v3", "text": "", "special_tokens": "parse"}, 400, "special_tokens"),
        ("tokenize", {"tokenizer": "p50k_base", "text": "", "engine": "fast"}, 400, "engine"),
        ("detokenize", {"tokenizer": "o200k_base"}, 400, "ids"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": CANARY}, 400, "ids"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [1, CANARY]}, 400, "ids[1]"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [1, True]}, 400, "ids[1]"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [1, 2, -1]}, 400, "ids[2]"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [10**30]}, 400, "ids[0]"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [1, 250_000]}, 400, "ids[1]"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [1] * 100_001, "pieces": True}, 413, "ids"),
        ("detokenize", {"tokenizer": "o200k_base", "ids": [1] * 1_000_001}, 413, "ids"),
        ("detokenize", {"model": "claude-sonnet-4-5", "ids": [1]}, 400, "model"),
        ("detokenize", {"tokenizer": "claude-v4.8", "ids": []}, 400, "tokenizer"),
        ("explain", {"tokenizer": "o200k_base", "text": CANARY + "x" * 2_000}, 413, "text"),
        ("explain", {"tokenizer": "o200k_base", "text": None}, 400, "text"),
        ("bpe_train", {"merges": 1}, 400, "corpus"),
        ("bpe_train", {"corpus": CANARY}, 400, "merges"),
        ("bpe_train", {"corpus": CANARY, "merges": 1_001}, 400, "merges"),
        ("bpe_train", {"corpus": CANARY + "x" * 50_000, "merges": 1}, 413, "corpus"),
        ("bpe_train", {"corpus": CANARY, "merges": 1, "level": CANARY}, 400, "level"),
        ("bpe_train", {"corpus": CANARY, "merges": 1, "top": 101}, 400, "top"),
        ("bpe_train", {"corpus": "", "merges": 1, "encode": [CANARY] * 101}, 413, "encode"),
        ("bpe_train", {"corpus": "", "merges": 1, "encode": [CANARY + "x" * 2_000]}, 413, "encode"),
        ("bpe_train", {"corpus": "", "merges": 1, "encode": [CANARY, 1]}, 400, "encode[1]"),
    ],
)
async def test_a_refusal_names_the_field_and_never_the_text(
    client: httpx.AsyncClient, name: str, body: dict[str, Any], status: int, field: str
) -> None:
    found, error = await refusal(client, name, **body)
    assert (found, error["field"]) == (status, field), error


@pytest.mark.parametrize("path", PATHS.values())
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'"x"', b"{", b'{"text": 1' + b"0" * 9_999 + b"}"])
async def test_a_body_that_is_no_request_is_a_400(client: httpx.AsyncClient, path: str, content: bytes) -> None:
    answer = await client.post(path, content=content)
    assert answer.status_code == 400, answer.text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5,
)


@property_test(
    st.sampled_from(list(PATHS.values())),
    st.dictionaries(
        st.sampled_from([
            "model", "tokenizer", "provider", "text", "ids", "pieces", "offset", "at", "limit", "unit", "form",
            "special_tokens", "engine", "corpus", "merges", "level", "ties", "top", "encode",
        ]),
        json_values | st.sampled_from(["o200k_base", "gpt-4o", "openai_o200k", 1, [1], "columns", "utf16"]),
    ),
)
async def test_no_body_is_answered_with_a_failure(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    answer = await client.post(path, content=json.dumps(body))
    assert answer.status_code in (200, 400, 404, 413), answer.text
