from __future__ import annotations

from typing import Any

import pytest

from service.counting.counter import Counter
from service.errors import TokenizerUnavailable
from service.observability.metrics import Metrics
from service.readiness import SELF_TEST_TEXT, SELF_TEST_TOKENS, Readiness
from service.settings import DEFAULT_WARM
from service.tokenizers import registry


@pytest.mark.parametrize("name", SELF_TEST_TOKENS)
def test_the_self_test_knows_what_the_reference_says(name: str) -> None:
    assert registry.get_tokenizer(name, "reference").count(SELF_TEST_TEXT) == SELF_TEST_TOKENS[name]


def test_the_self_test_covers_the_default_warm_set() -> None:
    assert set(DEFAULT_WARM) <= set(SELF_TEST_TOKENS)


def warmed(*names: str) -> Readiness:
    """A readiness whose warming thread has done its work."""
    readiness = Readiness(names, Metrics(), Counter.in_memory(0))
    readiness.start()
    readiness.join()
    return readiness


def test_ready_when_every_tokenizer_answers() -> None:
    assert Readiness(("o200k_base", "gemma3"), Metrics(), Counter.in_memory(0)).report()[1]["status"] == "starting"
    ready, body = warmed("o200k_base", "gemma3").report()
    assert (ready, body["status"]) == (True, "ready")
    assert body["tokenizers"]["gemma3"] == {"ready": True, "engine": "fast", "golden": "ok", "fallbacks": 0}


def test_a_failed_load_shows_and_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.get_tokenizer

    def damaged(name: str, *rest: Any) -> Any:
        if name == "p50k_edit":
            raise TokenizerUnavailable("expected sha256 1, found 2")
        return real(name, *rest)

    monkeypatch.setattr("service.readiness.registry.get_tokenizer", damaged)
    monkeypatch.setattr("service.readiness.registry.is_loaded", lambda name, *_: name != "p50k_edit")
    readiness = warmed("p50k_edit", "o200k_base")
    ready, body = readiness.report()
    assert (ready, body["status"]) == (False, "failed")
    assert body["tokenizers"]["p50k_edit"] == {"ready": False, "reason": "expected sha256 1, found 2"}
    assert body["tokenizers"]["o200k_base"]["ready"] is True


def test_a_wrong_answer_makes_it_unready(monkeypatch: pytest.MonkeyPatch) -> None:
    readiness = warmed("o200k_base")
    monkeypatch.setitem(SELF_TEST_TOKENS, "o200k_base", 99)
    ready, body = readiness.report()
    assert not ready
    assert body["tokenizers"]["o200k_base"]["reason"] == "wrong count in the self-test"


def test_a_fault_in_the_first_requests_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("service.counting.counter.Counter.count", broken)
    ready, body = warmed("o200k_base").report()
    assert (ready, body["status"]) == (False, "failed")
    assert body["tokenizers"]["requests"] == {"ready": False, "reason": "ZeroDivisionError"}


def test_an_unknown_name_in_the_warm_set_is_shown() -> None:
    readiness = warmed("no-such")
    assert "known are" in readiness.report()[1]["tokenizers"]["no-such"]["reason"]


def test_it_settles_once_all_is_loaded_and_before_it_is_ready() -> None:
    seen: list[tuple[bool, Any]] = []
    readiness = Readiness(("o200k_base",), Metrics(), Counter.in_memory(0))
    readiness.before_ready = lambda: seen.append((registry.is_loaded("o200k_base"), readiness.report()[1]["status"]))
    readiness.start()
    readiness.join()
    assert seen == [(True, "starting")]
    assert readiness.report()[1]["status"] == "ready"


def test_a_stopping_server_is_not_ready() -> None:
    readiness = Readiness((), Metrics(), Counter.in_memory(0))
    readiness.start()
    readiness.stop()
    assert readiness.report() == (False, {"status": "draining", "tokenizers": {}})
