"""What the pages list is what there is: settings, routes, clients; and the README is short."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version

import httpx
import pytest

from scripts.accuracy import MARKERS, PAGE
from service.settings import Settings
from tests.docs.pages import ADDRESS, FOR_CONTRIBUTORS, PAGES, TWINS, path
from tests.support import markdown
from tests.support.live import ROOT, LiveServer

MAX_WORDS = 1500
"""Of the README, as `wc -w` counts them."""

README = markdown.read(path("README.md"))


def sections(name: str) -> dict[str, markdown.Section]:
    return {section.title: section for section in markdown.sections(markdown.read(path(name)))}


@pytest.mark.parametrize("name", ["README.md", TWINS["README.md"]])
def test_the_readme_is_short(name: str) -> None:
    assert len(path(name).read_text("utf-8").split()) < MAX_WORDS


def test_the_readme_leads_to_every_page() -> None:
    pages = {*PAGES, *FOR_CONTRIBUTORS} - {"README.md", "docs/README.md"}
    assert {*pages, "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} <= set(markdown.links(README))
    index = {f"docs/{link}" for link in markdown.links(markdown.read(path("docs/README.md")))}
    assert pages <= index


def test_every_page_is_in_the_list_of_pages() -> None:
    there = {str(file.relative_to(ROOT)) for file in path("docs").glob("*.md")} - set(FOR_CONTRIBUTORS)
    assert there == set(PAGES) - {"README.md"}
    korean = {str(file.relative_to(ROOT)) for file in path("docs/ko").glob("*.md")}
    assert korean == set(TWINS.values())


@pytest.mark.parametrize("name", ["README.md", "docs/api.md", "docs/costs.md", "docs/configuration.md"])
def test_a_long_page_has_a_table_of_contents(name: str) -> None:
    text = markdown.read(path(name))
    titles = [section.title for section in markdown.sections(text) if section.level == 2]
    listed = re.findall(r"^- \[([^\]]+)\]\(#[^)]+\)$", text, re.MULTILINE)
    assert listed == [title for title in titles if title != "Contents"]


def test_every_setting_is_documented_once() -> None:
    rows = [row for name in PAGES for section in sections(name).values() for row in section.rows]
    variables = [found[1] for row in rows if (found := re.fullmatch(r"`TALLYSTICK_(\w+)`", row[0]))]
    assert Counter(variables) == Counter(name.upper() for name in Settings.model_fields)


@pytest.mark.parametrize("name", ["docs/configuration.md", TWINS["docs/configuration.md"]])
def test_a_setting_has_its_default(name: str) -> None:
    (table,) = [one.rows for one in sections(name).values() if len(one.rows) > len(Settings.model_fields)]
    defaults = {variable.strip("`").removeprefix("TALLYSTICK_"): default for variable, default, _ in table[1:]}
    for field_name, field in Settings.model_fields.items():
        if field.default_factory is None:
            default = ",".join(field.default) if isinstance(field.default, tuple) else f"{field.default}"
            assert defaults[field_name.upper()] == f"`{default.removesuffix('.0')}`"


def routes(rows: tuple[tuple[str, ...], ...]) -> set[tuple[str, str]]:
    """Method and path of each route in the first cell; a method stands for what follows it, too."""
    found, method = set(), ""
    for first, *_ in rows[1:]:
        for span in markdown.spans(first):
            method, _, route = span.rpartition(" ") if " " in span else (method, "", span)
            found.add((method, route))
    return found


@pytest.fixture(scope="module")
def served(live: LiveServer) -> set[tuple[str, str]]:
    paths = httpx.get(f"{live.url}/openapi.json").json()["paths"]
    return {(method.upper(), route) for route, methods in paths.items() for method in methods}


PAGES_OF_THE_SERVICE = {("GET", "/"), ("GET", "/openapi.json")}
"""Routes that /openapi.json does not list."""


def test_the_table_of_endpoints_is_what_is_served(served: set[tuple[str, str]]) -> None:
    short = {(method, re.sub("/projects/{project}/locations/{location}", "", route)) for method, route in served}
    assert routes(sections("docs/api.md")["Endpoints"].rows) == short | PAGES_OF_THE_SERVICE


def test_what_the_readme_lists_is_served(served: set[tuple[str, str]]) -> None:
    named = routes(sections("README.md")["What else it does"].rows)
    assert len(named) >= 15
    assert named <= served


def anthropic_count(code: str) -> int:
    from anthropic import Anthropic

    with eval(code, {"Anthropic": Anthropic}) as client:
        messages = [{"role": "user", "content": "Hello, Claude"}]
        return int(client.messages.count_tokens(model="claude-sonnet-4-5", messages=messages).input_tokens)


def openai_count(code: str) -> int:
    from openai import OpenAI

    with eval(code, {"OpenAI": OpenAI}) as client:
        return int(client.responses.input_tokens.count(model="gpt-5.4", input="Hello, world!").input_tokens)


def google_count(code: str) -> int:
    from google.genai import Client
    from google.genai.types import HttpOptions

    with eval(code, {"Client": Client, "HttpOptions": HttpOptions}) as client:
        return int(client.models.count_tokens(model="gemini-2.5-flash", contents="Hello, world!").total_tokens)


SDKS: list[tuple[str, Callable[[str], int], int]] = [
    ("anthropic", anthropic_count, 10), ("openai", openai_count, 10), ("google-genai", google_count, 5),
]


@pytest.mark.parametrize("page", ["README.md", "docs/clients.md"])
@pytest.mark.parametrize(("name", "count", "tokens"), SDKS)
def test_a_client_of_the_table_counts(
    live: LiveServer, page: str, name: str, count: Callable[[str], int], tokens: int
) -> None:
    (how,) = [row[1] for one in sections(page).values() for row in one.rows if row[0] == f"`{name}`"]
    assert count(markdown.spans(how)[0].replace(ADDRESS, live.url)) == tokens


@pytest.mark.parametrize("name", [name for name, _, _ in SDKS])
def test_a_client_was_tested_in_the_version_that_the_table_names(name: str) -> None:
    (row,) = [row for row in sections("README.md")["Clients"].rows if row[0] == f"`{name}`"]
    assert row[-1] == version(name)
    assert f"\n{name}=={row[-1]} " in path("requirements/dev.txt").read_text("utf-8")


def test_the_table_of_accuracy_is_where_its_script_writes() -> None:
    text = PAGE.read_text("utf-8")
    assert [text.count(mark) for mark in MARKERS] == [1, 1]
    assert path("docs/accuracy.md") == PAGE


def test_the_figures_of_the_readme_are_those_that_were_measured() -> None:
    table = path("docs/accuracy.md").read_text("utf-8")
    ((requests, exact),) = re.findall(r"^\| all \| all \| (\d+) \| ([\d.]+%) ", table, re.MULTILINE)
    assert f"{exact} of {int(requests):,} recorded requests" in README
