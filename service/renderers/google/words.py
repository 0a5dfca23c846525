"""Tools as the words of a `declaration:` block: Vertex AI bills 3.5 for every key and value, each encoded alone.

Braces, colons, commas and quotes are free; a block costs 4 more. Found on 24 requests, all of one test suite.
"""

from __future__ import annotations

from collections.abc import Mapping

from service.families.google import GoogleRules
from service.renderers.google import declaration
from service.renderers.google.schema import Allowance, Drawn, number_text
from service.types import Json, Tool

BLOCK = 4
"""Open, `declaration`, `call` or `response`, colon, close."""


def tool(tool: Tool, rules: GoogleRules, allowance: Allowance) -> Drawn:
    """The words of one tool."""
    return _block(tool.name, declaration.tree(tool, allowance))


def call(name: str, arguments: Json) -> Drawn:
    """A call the model made."""
    return _block(name, arguments if isinstance(arguments, Mapping) else {})


def result(name: str, value: Json) -> Drawn:
    """What a function answered."""
    return _block(name, value or {})


def _block(name: str, value: Json) -> Drawn:
    words = [name]
    _add_words(value, words)
    return Drawn(tuple(words), BLOCK)


def _add_words(value: Json, words: list[str]) -> None:
    if isinstance(value, str):
        words.append(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            words.append(key)
            _add_words(item, words)
    elif isinstance(value, list):
        for item in value:
            _add_words(item, words)
    else:
        words.append(number_text(value))
