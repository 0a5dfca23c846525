"""What the tests of the fast path share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from service import catalog
from service.observability.logs import REQUESTS
from service.settings import DEFAULT_WARM
from service.tokenizers import registry
from tests.support.twin import Twin


@pytest.fixture(scope="module")
def warm() -> Iterator[None]:
    """Everything is loaded, and every request has its line."""
    for name in (*DEFAULT_WARM, "gpt2", catalog.resolve("llama-3.1-8b-instruct").family.tokenizer):
        registry.get_tokenizer(name)
    level = REQUESTS.level
    REQUESTS.setLevel(logging.INFO)
    yield
    REQUESTS.setLevel(level)


@pytest.fixture(scope="module")
def twin(warm: None) -> Twin:
    return Twin()
