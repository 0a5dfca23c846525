"""A real request and its answer for every operation, for OpenAPI.

They are kept in examples.json, which `python -m scripts.make_api_examples` writes; tests/api/schemas/test_examples.py
plays them again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from service.types import Json

FILE = "examples.json"


@dataclass(frozen=True, slots=True)
class Example:
    """`params` are those of path and query. `request` is None where the operation takes no body."""

    params: Mapping[str, str]
    request: Json
    response: Json


NONE = Example({}, None, None)


def base_name(name: str) -> str:
    """The name of an operation without the number that tells the paths of one endpoint apart."""
    return re.sub(r"_\d+$", "", name)


def get_example(name: str) -> Example:
    """The example of an operation; an empty one as long as none was made (a test tells)."""
    return get_examples().get(base_name(name), NONE)


def add_examples(document: dict[str, Any]) -> None:
    """Puts the example of each operation into an OpenAPI document: parameters, body and answer."""
    for methods in document["paths"].values():
        for operation in methods.values():
            example = get_example(operation["operationId"])
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in example.params:
                    value = example.params[parameter["name"]]
                    parameter["example"] = int(value) if parameter["schema"].get("type") == "integer" else value
            bodies = operation.get("requestBody", {"content": {}})["content"]
            if "application/json" in bodies:
                bodies["application/json"]["example"] = example.request
            answers = operation["responses"]["200"]["content"]
            answers.get("application/json", next(iter(answers.values())))["example"] = example.response


@cache
def get_examples() -> Mapping[str, Example]:
    """Every example by the name of its operation, in the order of the routes."""
    file = resources.files("service.api.schemas") / FILE
    kept = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return {name: Example(**fields) for name, fields in kept.items()}
