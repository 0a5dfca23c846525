from __future__ import annotations

import pytest
from pydantic import ValidationError

from service.settings import DEFAULT_WARM, Settings
from service.tokenizers.registry import tokenizer_names


def test_every_field_is_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_PORT", "9000")
    monkeypatch.setenv("TALLYSTICK_WARM", "o200k_base, claude-v4.8,")
    settings = Settings()
    assert (settings.port, settings.warm) == (9000, ("o200k_base", "claude-v4.8"))
    monkeypatch.setenv("TALLYSTICK_WARM", "")
    assert Settings().warm == ()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


def test_the_default_warm_set_is_of_known_tokenizers() -> None:
    assert set(DEFAULT_WARM) <= set(tokenizer_names())


@pytest.mark.parametrize(
    ("name", "value"),
    [("port", 70_000), ("threads", 0), ("body_seconds", 0), ("log_level", "x"), ("inflight_bytes", 1)],
)
def test_nonsense_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Settings(**{name: value})  # type: ignore[arg-type]
