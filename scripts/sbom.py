"""`make sbom`: the components of a running service, as a CycloneDX document.

It is made from the lock, the index of vocabularies, the compiled kernels and the files of Swagger UI alone. So it is
the same wherever it is made, and is not committed. It contains no address: package URLs (purl) and hashes say what a
component is, not where to fetch it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scripts.requirements_lock import ROOT, Pin, read_lock
from service import __version__

SPEC_VERSION = "1.6"

NAMESPACE = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
"""The namespace of object ids (RFC 9562). The serial number is a hash of the document in this namespace."""

OWN = f"pkg:pypi/tallystick@{__version__}"

DERIVED = ROOT / "service" / "tokenizers" / "claude" / "data"
"""Vocabularies that are shipped with the code. They are derived from those of ctok (see NOTICE)."""

WEB_DOCS = ROOT / "service" / "web_docs"

EXPRESSIONS = {
    "MIT License": "MIT", "Apache Software License": "Apache-2.0", "BSD License": "BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Classifier -> SPDX id, for packages that have no licence expression."""


def find_licence(name: str) -> str | None:
    """The SPDX expression of an installed package. None when it is not installed here or names no licence."""
    try:
        fields = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    plain = (fields.get("License-Expression") or fields.get("License") or "").strip()
    if re.fullmatch(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*", plain):
        return plain
    if plain.startswith("MIT License"):
        return "MIT"
    classifiers = fields.get_all("Classifier") or ()
    kinds = [row.rpartition(" :: ")[2] for row in classifiers if row.startswith("License :: OSI")]
    return " OR ".join(sorted(EXPRESSIONS[kind] for kind in kinds if kind in EXPRESSIONS)) or None


def make_licences(expression: str | None) -> list[dict[str, Any]]:
    if expression is None:
        return []
    if re.search(r" (AND|OR|WITH) ", expression):
        return [{"expression": expression}]
    return [{"license": {"name" if " " in expression else "id": expression}}]


def make_hashes(content: bytes) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]


def make_library(pin: Pin) -> dict[str, Any]:
    purl = f"pkg:pypi/{pin.name}@{pin.version}"
    properties = [{"name": "tallystick:marker", "value": pin.marker}] if pin.marker else []
    return {
        "type": "library", "bom-ref": purl, "name": pin.name, "version": pin.version, "purl": purl,
        "scope": "optional" if pin.marker else "required",
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
        "licenses": make_licences(find_licence(pin.name)), "properties": properties,
    }


def make_vocabulary(row: dict[str, Any]) -> dict[str, Any]:
    """A file of tokenizers_data. The hash is that of the decompressed bytes, which are loaded and verified."""
    purl = f"pkg:npm/{quote(row['origin_package'], safe='/')}@{row['origin_version']}"
    facts = {
        "tokenizer": row["tokenizer"], "bytes": row["bytes"], "origin_purl": purl,
        "origin_file": row.get("origin_file"), "derived_from": row.get("derived_from"), "hash_of": "decompressed bytes",
    }
    return {
        "type": "data", "bom-ref": f"tokenizers_data/{row['file']}", "name": f"tokenizers_data/{row['file']}",
        "version": str(row["origin_version"]), "hashes": [{"alg": "SHA-256", "content": row["sha256"]}],
        "licenses": make_licences(row["licence"]),
        "properties": [
            {"name": f"tallystick:{name}", "value": str(value)} for name, value in facts.items() if value is not None
        ],
    }


def make_file(path: Path) -> dict[str, Any]:
    """A file of the service that is not Python: compiled code, and data derived from measurements."""
    name = path.relative_to(ROOT).as_posix()
    return {
        "type": "file", "bom-ref": name, "name": name, "version": __version__, "hashes": make_hashes(path.read_bytes()),
        "licenses": make_licences("MIT"),
    }


def make_swagger_ui() -> list[dict[str, Any]]:
    """The files of Swagger UI that /docs serves, as they were fetched."""
    (sums,) = WEB_DOCS.glob("swagger-ui-dist-*.sha256")
    version = sums.stem.removeprefix("swagger-ui-dist-")
    purl = f"pkg:npm/swagger-ui-dist@{version}"
    facts = {
        "version": version, "licenses": make_licences("Apache-2.0"),
        "properties": [{"name": "tallystick:origin_purl", "value": purl}],
    }
    return [{**make_file(WEB_DOCS / name), **facts} for name in ("swagger-ui-bundle.js", "swagger-ui.css")]


def make_document() -> dict[str, Any]:
    """The document. The same source tree gives the same document."""
    pins = read_lock()
    index = tomllib.loads((ROOT / "tokenizers_data" / "manifest.toml").read_text())
    files = sorted([*(ROOT / "service").rglob("*.wasm"), *DERIVED.iterdir()])
    components = [make_library(pin) for pin in pins.values()]
    components += [make_vocabulary(row) for row in index["file"]] + [make_file(path) for path in files]
    components += make_swagger_ui()
    purls = {pin.name: f"pkg:pypi/{pin.name}@{pin.version}" for pin in pins.values()}
    own = [purls[pin.name] for pin in pins.values() if pin.direct]
    own += [row["bom-ref"] for row in components if row["type"] != "library"]
    needs = {
        purl: sorted(purls[pin.name] for pin in pins.values() if name in pin.needed_by) for name, purl in purls.items()
    }
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX", "specVersion": SPEC_VERSION, "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": OWN, "name": "tallystick", "version": __version__, "purl": OWN,
            "licenses": make_licences("MIT"),
        }},
        "components": sorted(components, key=lambda row: str(row["bom-ref"])),
        "dependencies": [
            {"ref": OWN, "dependsOn": sorted(own)},
            *({"ref": ref, "dependsOn": on} for ref, on in sorted(needs.items())),
        ],
    }
    return {**document, "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, json.dumps(document, sort_keys=True))}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
    arguments = parser.parse_args()
    text = json.dumps(make_document(), indent=1, sort_keys=True) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text)
        print(f"{arguments.output}: {text.count('"bom-ref"') - 1} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
