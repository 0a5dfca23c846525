"""What a tokenizer can do is said by its type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.tokenizers.base import EdgeSplittable, Splittable, VocabularyTokenizer
from service.tokenizers.registry import get_tokenizer, tokenizer_names
from service.tokenizers.specs import TOKENIZERS

SERVICE = Path(__file__).resolve().parents[2] / "service"
CLAUDE = {"claude-v3", "claude-v4.7", "claude-v4.8"}
WITH_KERNEL = {"o200k_base", "o200k_harmony", "cl100k_base", "claude", "gemma3"}
LOOKED_AT = ("tokenizer", "app")
"""Names, or ends of names, of what nothing may be looked up in by a string."""


@pytest.mark.parametrize("name", tokenizer_names())
def test_each_tokenizer_says_by_its_type_what_it_can(name: str) -> None:
    tokenizer = get_tokenizer(name)
    assert isinstance(tokenizer, VocabularyTokenizer) is (name not in CLAUDE)
    assert isinstance(tokenizer, Splittable) is (name in CLAUDE | WITH_KERNEL)
    assert isinstance(tokenizer, EdgeSplittable) is (name in CLAUDE)


@pytest.mark.parametrize("name", [row.name for row in TOKENIZERS if row.reference])
def test_no_reference_can_be_cut(name: str) -> None:
    assert not isinstance(get_tokenizer(name, "reference"), Splittable | EdgeSplittable)


def lookups_by_string(source: str) -> Iterator[str]:
    """The calls of getattr and hasattr in a module, whose first argument is a tokenizer or an app."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            inner = {each.id for each in ast.walk(node.args[0]) if isinstance(each, ast.Name)}
            inner |= {each.attr for each in ast.walk(node.args[0]) if isinstance(each, ast.Attribute)}
            if any(name.lower().endswith(LOOKED_AT) for name in inner):
                yield ast.unparse(node)


def test_nothing_is_looked_up_by_a_string_in_a_tokenizer_or_an_app() -> None:
    modules = [*SERVICE.rglob("*.py")]
    assert len(modules) > 200
    assert [(str(module.relative_to(SERVICE)), found) for module in modules
            for found in lookups_by_string(module.read_text(encoding="utf-8"))] == []


def test_the_tokenizers_look_nothing_up_by_a_string_at_all() -> None:
    names = {node.func.id for module in (SERVICE / "tokenizers").rglob("*.py")
             for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "isinstance" in names
    assert not names & {"getattr", "hasattr"}


@pytest.mark.parametrize("source", [
    'getattr(tokenizer, "cut", None)', 'hasattr(self.tokenizer, "cut")', 'hasattr(get_tokenizer("x"), "cut")',
    'getattr(request.app, "state")', "x = getattr(app.state, name)",
])
def test_such_a_lookup_is_found(source: str) -> None:
    assert len([*lookups_by_string(source)]) == 1


def test_others_are_not() -> None:
    assert [*lookups_by_string('getattr(body, "text", None); hasattr(part, "text"); isinstance(tokenizer, str)')] == []
