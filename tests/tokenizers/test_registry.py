from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from service.errors import InvalidRequest, TokenizerUnavailable
from service.tokenizers.base import EngineChoice, Tokenizer, VocabularyTokenizer
from service.tokenizers.data import read_verified
from service.tokenizers.registry import (
    DEFAULT_WARM_SET,
    PROVIDER_ALIASES,
    Registry,
    describe_tokenizers,
    engine_states,
    get_tokenizer,
    tokenizer_names,
    verify_data,
    warm,
)
from service.tokenizers.specs import TOKENIZERS, Supply, TokenizerRow
from tests.tokenizers.test_golden import Skewed

ROWS = {row.name: row for row in TOKENIZERS}
CLAUDE = ("claude-v3", "claude-v4.7", "claude-v4.8")


@pytest.mark.parametrize("name", tokenizer_names())
def test_every_tokenizer_keeps_the_protocol(name: str) -> None:
    tokenizer = get_tokenizer(name)
    assert isinstance(tokenizer, Tokenizer)
    assert isinstance(tokenizer, VocabularyTokenizer) is (name not in CLAUDE)
    assert tokenizer.name == name
    assert len(tokenizer.fingerprint) >= 8
    assert int(tokenizer.fingerprint, 16) >= 0
    assert tokenizer.count("") == 0
    assert tokenizer.pieces("") == []
    assert tokenizer.count_batch([]) == []
    assert tokenizer.count("hello") >= 1


def test_both_engines_share_a_fingerprint_and_no_two_tokenizers_do() -> None:
    for row in TOKENIZERS:
        if row.reference and row.fast:
            assert get_tokenizer(row.name, "reference").fingerprint == get_tokenizer(row.name, "fast").fingerprint
    fingerprints = [row.fingerprint() for row in TOKENIZERS]
    assert len(set(fingerprints)) == len(fingerprints)
    assert ROWS["o200k_base"].fingerprint() == "446a9538"


@pytest.mark.parametrize("engine", ["auto", "reference", "fast"])
def test_an_unknown_name_lists_the_known_ones(engine: EngineChoice) -> None:
    with pytest.raises(InvalidRequest) as refused:
        get_tokenizer("o300k_base", engine)
    assert refused.value.field == "tokenizer"
    assert all(name in refused.value.message for name in tokenizer_names())
    assert "o300k_base" not in refused.value.message


@pytest.mark.parametrize(("name", "engine"), [("gpt2", "fast"), ("llama3", "reference")])
def test_an_engine_that_a_tokenizer_lacks_is_refused(name: str, engine: EngineChoice) -> None:
    with pytest.raises(InvalidRequest) as refused:
        get_tokenizer(name, engine)
    assert refused.value.field == "engine"


def test_aliases_and_the_warm_set_are_tokenizers() -> None:
    assert set(PROVIDER_ALIASES.values()) | set(DEFAULT_WARM_SET) <= set(tokenizer_names())
    assert PROVIDER_ALIASES["anthropic"] == "claude"


def test_fifty_threads_load_once_and_get_the_same() -> None:
    loads: list[str] = []
    barrier = threading.Barrier(50)

    def build(row: TokenizerRow, supply: Supply) -> Tokenizer:
        loads.append(row.name)
        assert ROWS["r50k_base"].reference is not None
        return ROWS["r50k_base"].reference(row, supply)

    registry = Registry([replace(ROWS["r50k_base"], reference=build)])

    def ask(number: int) -> Tokenizer:
        barrier.wait()
        return registry.get("r50k_base", "auto" if number % 2 else "reference")

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(ask, range(50)))
    assert loads == ["r50k_base"]
    assert len({id(tokenizer) for tokenizer in found}) == 1


def test_a_failed_load_is_tried_again() -> None:
    calls: list[str] = []

    def read(name: str) -> bytes:
        calls.append(name)
        if len(calls) < 3:
            raise TokenizerUnavailable("not yet")
        return read_verified(name)

    registry = Registry([ROWS["r50k_base"]], read)
    for _ in range(2):
        with pytest.raises(TokenizerUnavailable):
            registry.get("r50k_base")
    assert registry.get("r50k_base").count("hello") == 1
    assert registry.states()[0].golden == "not checked"


def test_a_crash_in_a_loader_is_an_unavailable_tokenizer(caplog: pytest.LogCaptureFixture) -> None:
    def build(row: TokenizerRow, supply: Supply) -> Tokenizer:
        raise RuntimeError("disk on fire")

    registry = Registry([replace(ROWS["gpt2"], reference=build)])
    with caplog.at_level(logging.ERROR), pytest.raises(TokenizerUnavailable, match="gpt2 cannot be loaded"):
        registry.get("gpt2")
    assert "gpt2" in caplog.text


def test_a_fast_engine_that_fails_its_check_is_replaced_by_the_reference(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry([replace(ROWS["claude-v4.8"], fast=lambda row, supply: Skewed(row.name))])
    with caplog.at_level(logging.ERROR):
        tokenizer = registry.get("claude-v4.8")
    assert tokenizer.engine == "reference"
    assert tokenizer.count("안녕") == get_tokenizer("claude-v4.8", "reference").count("안녕")
    (state,) = registry.states()
    assert (state.engine, state.fallbacks, state.ok) == ("reference", 1, False)
    assert "15 tokens instead of 14" in state.golden
    assert "claude-v4.8 runs on its reference" in caplog.text
    with pytest.raises(TokenizerUnavailable, match="self-check"):
        registry.get("claude-v4.8", "fast")


def test_a_bundled_model_that_fails_its_check_goes_on_unverified(caplog: pytest.LogCaptureFixture) -> None:
    def build(row: TokenizerRow, supply: Supply) -> Tokenizer:
        assert ROWS["llama2"].fast is not None
        other = ROWS["llama2"].fast(row, supply)
        other.fingerprint = "00000000"
        return other

    registry = Registry([replace(ROWS["llama2"], fast=build)])
    with caplog.at_level(logging.ERROR):
        assert registry.get("llama2").verified is False
    assert registry.states()[0].golden.endswith("the data is 00000000")
    assert "llama2 is no longer verified" in caplog.text


def test_auto_is_the_fast_engine_where_there_is_one() -> None:
    for row in TOKENIZERS:
        assert get_tokenizer(row.name).engine == ("fast" if row.fast else "reference")
    states = {state.name: state for state in engine_states()}
    assert set(states) == set(tokenizer_names())
    assert all(state.ok for state in states.values())
    assert states["o200k_base"].golden == "ok"
    assert states["gpt2"].golden == "not checked"
    assert states["kimi"].golden == "unconfirmed"


def test_descriptions_need_no_load() -> None:
    registry = Registry()
    rows = {row.name: row for row in registry.describe()}
    assert not any(row.loaded for row in rows.values())
    assert rows["o200k_base"].engines == ("fast", "reference")
    assert rows["gpt2"].engines == ("reference",)
    assert rows["llama3"].engines == ("fast",)
    assert rows["gemma3"].licence == "Gemma Terms of Use"
    assert rows["cl100k_base"].revision == "223921b7"
    assert rows["claude-v3"].source.startswith("ctok ")
    assert [name for name, row in rows.items() if not row.verified] == ["gemma4", "glm4", "kimi"]
    registry.get("gpt2")
    assert [row.name for row in registry.describe() if row.loaded] == ["gpt2"]
    assert all(row.revision and row.source and row.licence for row in describe_tokenizers())


def test_all_data_is_verified() -> None:
    assert all(check.ok for check in verify_data())


def test_counting_uses_no_network() -> None:
    """The guard in conftest.py is on: every test here ran under it."""
    with socket.socket() as outside, pytest.raises(AssertionError, match="tried to reach"):
        outside.connect(("192.0.2.1", 80))
    registry = Registry()
    for name in ("o200k_base", "claude", "claude-v4.8", "llama2"):
        assert registry.get(name).count("hello, world") > 1


def test_warming_the_default_set_loads_no_reference() -> None:
    warm()
    program = (
        "import sys; from service.tokenizers.registry import warm; warm(); "
        "print(sorted({'tiktoken', 'tokenizers', 'ctok'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert shown.stdout.strip() == "[]"
