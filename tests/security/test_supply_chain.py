"""The components of the service are locked by hash, listed, free to run for anybody, and can be audited offline."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scripts import audit, sbom
from scripts.requirements_lock import ROOT, Pin, read_lock

PERMISSIVE = {
    "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "PSF-2.0", "CNRI-Python", "LLVM-exception",
    "Unlicense",
}

WEAK = {"certifi": "MPL-2.0", "tqdm": "MPL-2.0 AND MIT"}
"""They come with huggingface-hub and requests. The MPL asks to publish changes to their files; we make none."""


@pytest.mark.parametrize("name", ["build", "run", "dev", "clients"])
def test_every_package_of_a_lock_has_hashes_and_no_address(name: str) -> None:
    file = ROOT / "requirements" / f"{name}.txt"
    pins = read_lock(file)
    assert pins
    assert all(pin.hashes for pin in pins.values())
    assert "://" not in file.read_text()
    assert "index" not in file.read_text()


def test_every_package_of_npm_has_a_hash_and_no_address() -> None:
    folder = ROOT / "tests" / "clients"
    rows = json.loads((folder / "package-lock.json").read_text())["packages"]
    own = rows.pop("")
    assert rows
    for name, row in rows.items():
        assert row["integrity"].startswith("sha512-"), name
        assert "resolved" not in row, name
    assert own["devDependencies"] == json.loads((folder / "package.json").read_text())["devDependencies"]
    assert all(version[0].isdigit() for version in own["devDependencies"].values())


def test_they_are_installed_by_their_hashes() -> None:
    fetched = [line for line in (ROOT / "scripts" / "install.sh").read_text().splitlines() if "pip install" in line]
    locked = [line for line in fetched if "$LOCK" in line]
    assert locked
    assert all("--require-hashes" in line for line in locked)
    for line in (ROOT / "deploy" / "Dockerfile").read_text().splitlines():
        assert "pip install" not in line or "--require-hashes" in line or "--no-deps" in line, line


def test_a_line_that_is_none_of_a_lock_is_not_overlooked(tmp_path: Path) -> None:
    tmp_path.joinpath("lock.txt").write_text("evil @ git+ssh://x/y\n")
    with pytest.raises(ValueError, match="not a line of a lock"):
        read_lock(tmp_path / "lock.txt")


def test_every_licence_lets_anybody_run_it() -> None:
    for name in read_lock():
        licence = sbom.find_licence(name)
        if licence is None:  # of another platform: colorama on Windows, httpx2-jsfetch in a browser
            assert read_lock()[name].marker is not None, name
        elif name not in WEAK:
            assert set(re.split(" AND | OR | WITH ", licence)) <= PERMISSIVE, (name, licence)
        else:
            assert licence == WEAK[name]


# ---------------------------------------------------------------- the list


def test_the_list_is_what_the_schema_of_cyclonedx_asks_for() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(sbom.make_document())) is None


def test_a_list_that_is_not_is_told() -> None:
    document = sbom.make_document()
    document["components"][0]["type"] = "thing"
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document)) is not None


def test_the_list_is_the_same_each_time_and_names_no_address() -> None:
    first, second = json.dumps(sbom.make_document()), json.dumps(sbom.make_document())
    assert first == second
    assert "://" not in first
    assert str(ROOT) not in first


def test_all_that_runs_is_listed_with_its_hashes() -> None:
    rows = {row["bom-ref"]: row for row in sbom.make_document()["components"]}
    for pin in read_lock().values():
        row = rows[f"pkg:pypi/{pin.name}@{pin.version}"]
        assert {digest["content"] for digest in row["hashes"]} == set(pin.hashes)
    kernels = list((ROOT / "service").rglob("*.wasm"))
    assert kernels
    for kernel in kernels:
        digest = hashlib.sha256(kernel.read_bytes()).hexdigest()
        assert rows[kernel.relative_to(ROOT).as_posix()]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        digest = hashlib.sha256((ROOT / "service" / "web_docs" / name).read_bytes()).hexdigest()
        row = rows[f"service/web_docs/{name}"]
        assert row["hashes"] == [{"alg": "SHA-256", "content": digest}]
        assert row["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    shipped = {f"tokenizers_data/{file.name}" for file in (ROOT / "tokenizers_data").glob("*.gz")}
    assert shipped <= rows.keys()
    assert all(rows[name]["licenses"] for name in shipped)


def test_what_needs_what_is_told() -> None:
    document = sbom.make_document()
    needs = {row["ref"]: set(row["dependsOn"]) for row in document["dependencies"]}
    pins = read_lock()
    assert f"pkg:pypi/anyio@{pins['anyio'].version}" in needs[f"pkg:pypi/starlette@{pins['starlette'].version}"]
    reached, ahead = set(), [sbom.OWN]
    while ahead:
        ref = ahead.pop()
        if ref not in reached:
            reached.add(ref)
            ahead += needs.get(ref, ())
    assert {row["bom-ref"] for row in document["components"]} <= reached


# ---------------------------------------------------------------- advisories, from an export that somebody brought

PINS = {"starlette": Pin("starlette", "1.10.0", None, (), (), direct=True)}


def advisory(name: str = "Starlette", *, ecosystem: str = "PyPI", **affected: Any) -> dict[str, Any]:
    package = {"name": name, "ecosystem": ecosystem}
    return {
        "id": "GHSA-x", "summary": "It\nbreaks", "modified": datetime.now(UTC).isoformat(),
        "affected": [{"package": package, **affected}],
    }


def events(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"ranges": [{"type": "ECOSYSTEM", "events": [{kind: at} for kind, at in pairs]}]}


@pytest.mark.parametrize(("affected", "hit"), [
    ({"versions": ["1.9.0", "1.10.0"]}, True), ({"versions": ["1.9.0"]}, False),
    (events(("introduced", "0")), True), (events(("introduced", "0"), ("fixed", "1.10.0")), False),
    (events(("introduced", "0"), ("fixed", "1.10.1")), True), (events(("introduced", "1.11")), False),
    (events(("introduced", "0"), ("last_affected", "1.10.0")), True),
    (events(("introduced", "0"), ("last_affected", "1.9.9")), False),
    (events(("introduced", "0"), ("fixed", "1.2"), ("introduced", "1.9"), ("fixed", "2")), True),
    (events(("fixed", "1.2"), ("introduced", "0")), False),
    (events(("introduced", "not a version")), True),
    ({"ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}]}, False),
])
def test_a_version_is_affected_or_not(affected: dict[str, Any], hit: bool) -> None:
    assert audit.is_affected("1.10.0", affected) is hit


def write_export(folder: Path, *rows: dict[str, Any]) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for i, row in enumerate(rows):
            archive.writestr(f"GHSA-{i}.json", json.dumps(row))
    return folder / "all.zip"


def test_findings_name_the_advisory_and_what_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hit = advisory("regex", **events(("introduced", "0"), ("fixed", "9999")))
    export = write_export(tmp_path, hit, advisory("some-other", **events(("introduced", "0"))))
    assert audit.main([str(export)]) == 1
    out = capsys.readouterr().out
    assert f"regex {read_lock()['regex'].version}: GHSA-x It breaks, fixed in 9999" in out
    assert "2 advisories, 1 findings" in out


def test_another_ecosystem_and_a_withdrawn_advisory_are_none(tmp_path: Path) -> None:
    rows = [advisory(ecosystem="npm", **events(("introduced", "0"))),
            {**advisory(**events(("introduced", "0"))), "withdrawn": "2026-01-01T00:00:00Z"}]
    assert audit.find_affected(PINS, write_export(tmp_path, *rows))[0] == []
    assert len(audit.find_affected(PINS, write_export(tmp_path, advisory(**events(("introduced", "0")))))[0]) == 1


@pytest.mark.parametrize("content", [b"", b"no zip", None])
def test_what_is_no_export_is_told(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        tmp_path.joinpath("all.zip").write_bytes(content)
    assert audit.main([str(tmp_path / "all.zip")]) == 2


def test_an_old_export_is_no_proof(tmp_path: Path) -> None:
    old = {**advisory("some-other"), "modified": (datetime.now(UTC) - timedelta(days=40)).isoformat()}
    assert audit.main([str(write_export(tmp_path, old))]) == 2
    assert audit.main([str(write_export(tmp_path, old)), "--days", "60"]) == 0
