from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from service.settings import DEFAULT_WARM, KeySettings, Settings
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


@pytest.mark.parametrize("given", [{"redis_url": "ftp://u:S3cretPw@h/0"}, {"cache_secret": "S3cretPw"}])
def test_what_is_wrong_is_told_without_what_was_given(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as raised:
        Settings(**{"redis_url": "redis://h/0", **given})
    assert "S3cret" not in str(raised.value)


def test_keys_are_in_redis_without_a_cache_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TALLYSTICK_CACHE_SECRET", raising=False)
    given: dict[str, Any] = {"redis_url": "redis://h/0", "keys_in_redis": True}
    assert KeySettings(**given).keys_in_redis
    with pytest.raises(ValidationError, match="TALLYSTICK_CACHE_SECRET"):
        Settings(**given)
    with pytest.raises(ValidationError, match="TALLYSTICK_REDIS_URL"):
        KeySettings(keys_in_redis=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("port", 70_000), ("threads", 0), ("body_seconds", 0), ("log_level", "x"), ("inflight_bytes", 1)],
)
def test_nonsense_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Settings(**{name: value})  # type: ignore[arg-type]
