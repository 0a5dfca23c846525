"""The calls that the documentation shows, as TypeScript: the body of each must be of the type that OpenAPI gives it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from urllib.parse import urlsplit

from fastapi import FastAPI

from tests.docs.pages import ADDRESS, TWINS, path
from tests.support import markdown

HEAD = """import type { paths } from './api.js';

type Body<P extends keyof paths> = paths[P] extends {
  post: { requestBody: { content: { 'application/json': infer B } } };
}
  ? B
  : never;

"""


def make_source(app: FastAPI) -> tuple[str, int]:
    """A module with a constant for each body, and how many there are."""
    constants = [
        f"export const body{number}: Body<'{template}'> = {body};\n"
        for number, (template, body) in enumerate(_find_bodies(app))
    ]
    return HEAD + "\n".join(constants), len(constants)


def _find_bodies(app: FastAPI) -> Iterator[tuple[str, str]]:
    """(path template, JSON) of every POST that a page shows. One that is answered with an error is left out: it shows a
    body that is wrong."""
    for page in TWINS:
        for example in markdown.examples(markdown.read(path(page))):
            words = shlex.split(example.command)
            if words[:1] != ["curl"] or "-d" not in words or example.output.startswith('{"error"'):
                continue
            body = words[words.index("-d") + 1]
            address = next(word for word in words if word.startswith(ADDRESS))
            if body.startswith("{"):
                yield _find_template(app, urlsplit(address).path), json.dumps(json.loads(body))


def _find_template(app: FastAPI, asked: str) -> str:
    found = app.state.pipeline.routes.find({"type": "http", "method": "POST", "path": asked, "headers": []})
    assert found is not None, asked
    template: str = found[0].path_format
    return template
