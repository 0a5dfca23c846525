from __future__ import annotations

import pytest
import tiktoken_ext.openai_public as published

from service.tokenizers.patterns import RANK_PATTERNS


@pytest.mark.parametrize("name", list(RANK_PATTERNS))
def test_patterns_and_special_tokens_are_tiktokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})
    monkeypatch.setattr(published, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    row = getattr(published, name)()
    assert RANK_PATTERNS[name].regex == row["pat_str"]
    assert RANK_PATTERNS[name].specials == row["special_tokens"]
