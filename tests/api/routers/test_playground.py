"""The playground's files over HTTP: what kind they are, how long they may be kept, what they may do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from importlib.resources import files

import httpx
import pytest

from service.api.site import CONTENT_TYPES, site
from tests.support.web import client_of, make_app

ADDRESS = re.compile(r'(?:href|src)="([^"]+)"')
IMPORTED = re.compile(r"(?:from|import) '(\.[^']+)'")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(make_app(warm=())) as client:
        yield client


async def test_the_page_is_asked_for_anew_and_its_files_are_kept_for_ever(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    addresses = ADDRESS.findall(page.text)
    assert len(addresses) >= 6
    for address in addresses:
        assert address.startswith(f"web/{site().revision}/")
        file = await client.get(f"/{address}")
        assert file.status_code == 200, address
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_every_module_that_is_imported_is_served(client: httpx.AsyncClient) -> None:
    seen: set[str] = set()
    waiting = [httpx.URL(f"/web/{site().revision}/js/main.js")]
    while waiting:
        address = waiting.pop()
        if str(address) in seen:
            continue
        seen.add(str(address))
        module = await client.get(address)
        assert module.status_code == 200, address
        assert module.headers["content-type"] == "text/javascript; charset=utf-8"
        waiting += [address.join(name) for name in IMPORTED.findall(module.text)]
    scripts = {path for path in site().files if path.endswith(".js")}
    assert {path.partition(f"{site().revision}/")[2] for path in seen} == scripts, "no script is left over"


async def test_what_did_not_change_is_not_sent_again(client: httpx.AsyncClient) -> None:
    for path in ("/", f"/web/{site().revision}/js/main.js"):
        first = await client.get(path)
        again = await client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["etag"] == first.headers["etag"]
        assert (await client.get(path, headers={"if-none-match": '"other"'})).status_code == 200


async def test_another_revision_gets_what_is_there_but_must_not_keep_it(client: httpx.AsyncClient) -> None:
    answer = await client.get("/web/000000000000/js/main.js")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"


async def test_nothing_from_elsewhere_and_nothing_inline_may_run(client: httpx.AsyncClient) -> None:
    for path in ("/", f"/web/{site().revision}/css/theme.css"):
        headers = (await client.get(path)).headers
        policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert {value for name, value in policy.items() if name.endswith("-src")} == {"'none'", "'self'"}
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = (await client.get("/")).text
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", page)


@pytest.mark.parametrize(
    "path",
    [
        "/web/", "/web", "/web/x", "/web/x/", "/web/x/../settings.py", "/web/x/%2e%2e/settings.py",
        "/web/x//etc/passwd", "/web/x/..%2fsettings.py", "/web/x/js", "/web/x/js/", "/web/x/index.html",
        "/web/x/js/main.js/", "/web/x/js%00/main.js",
    ],
)
async def test_only_files_of_the_folder_are_served(client: httpx.AsyncClient, path: str) -> None:
    request = client.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    assert (await client.send(request)).status_code == 404


@pytest.mark.parametrize("path", ["/", "/web/x/js/main.js"])
async def test_they_are_read_and_not_written(client: httpx.AsyncClient, path: str) -> None:
    whole = await client.get(path)
    head = await client.head(path)
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(whole.content))
    assert (await client.post(path, json={})).status_code == 405


def test_every_file_of_the_folder_is_of_a_kind_that_is_served() -> None:
    folder = files("service") / "web"
    parts = (folder, folder / "css", folder / "js", folder / "js" / "tabs")
    names = [entry.name for part in parts for entry in part.iterdir() if entry.is_file()]
    assert len(names) == len(site().files) + 1
    assert all(name.endswith(tuple(CONTENT_TYPES)) for name in names)


def test_no_markup_is_made_of_text_and_no_other_origin_is_named() -> None:
    for path, file in site().files.items():
        text = file.content.decode()
        assert not re.search(r"(inner|outer|Adjacent)HTML|document\.write|\beval\(|new Function", text), path
        assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org", "https://example.com"}, path
