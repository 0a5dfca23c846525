"""The page that shows the API: its files, its policy, and who may see it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import httpx
import pytest

from service.api.site import DOCS_POLICY, docs_site
from service.auth.key_store import FileStore
from service.auth.keys import make_key
from tests.support.live import ROOT
from tests.support.web import client_of, make_app

FOLDER = ROOT / "service" / "web_docs"

OWN = ("index.html", "start.js", "page.css", "icon.svg")
"""Files of the page that are not Swagger UI's."""

ADDRESS = re.compile(r'(?:href|src)="(docs/[^"]+)"')


async def ask(path: str, method: str = "GET", headers: dict[str, str] | None = None) -> httpx.Response:
    async with client_of(make_app()) as client:
        return await client.request(method, path, headers=headers)


async def test_the_page_is_asked_for_anew_and_its_files_are_kept_for_ever() -> None:
    page = await ask("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert (await ask("/docs", headers={"if-none-match": page.headers["etag"]})).status_code == 304
    addresses = ADDRESS.findall(page.text)
    assert {address.rpartition("/")[2] for address in addresses} == docs_site().files.keys()
    for address in addresses:
        file = await ask(f"/{address}")
        assert file.status_code == 200, address
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert file.headers["content-security-policy"] == DOCS_POLICY


async def test_it_may_do_no_more_than_swagger_ui_needs() -> None:
    page = await ask("/docs")
    policy = dict(rule.split(" ", 1) for rule in page.headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
        "img-src": "'self' data:", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "dompurify default",
    }
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cross-origin-opener-policy"] == "same-origin"
    assert not re.search(r"<style|<script(?![^>]*src=)|\son\w+=|style=", page.text)


def test_what_is_ours_names_no_other_origin() -> None:
    for name in OWN:
        text = FOLDER.joinpath(name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, name


@pytest.mark.parametrize("path", ["/docs/", "/docs/x", "/docs/x/", "/docs/x/LICENSE", "/docs/x/index.html",
                                  "/docs/x/../app.py", "/docs/x/js/start.js"])
async def test_only_files_of_the_page_are_served(path: str) -> None:
    assert (await ask(path)).status_code == 404


async def test_a_post_is_refused_and_head_has_no_body() -> None:
    assert (await ask("/docs", "POST")).status_code == 405
    head = await ask("/docs", "HEAD")
    assert (head.status_code, head.content) == (200, b"")


async def test_where_keys_are_asked_for_the_page_is_public_and_the_document_is_not(tmp_path: Path) -> None:
    _, key = make_key("somebody", ["count"])
    FileStore(tmp_path / "keys.json").change(lambda kept: kept.update({key.id: key}))
    async with client_of(make_app(keys_file=tmp_path / "keys.json")) as client:
        page = await client.get("/docs")
        assert page.status_code == 200
        for address in ADDRESS.findall(page.text):
            assert (await client.get(f"/{address}")).status_code == 200
        assert (await client.get("/openapi.json")).status_code == 401


def test_swagger_ui_is_what_was_fetched() -> None:
    (sums,) = FOLDER.glob("swagger-ui-dist-*.sha256")
    rows = [line.split() for line in sums.read_text().splitlines()]
    assert {name for _, name in rows} | {*OWN, sums.name} == {path.name for path in FOLDER.iterdir()}
    for digest, name in rows:
        assert hashlib.sha256(FOLDER.joinpath(name).read_bytes()).hexdigest() == digest, name
