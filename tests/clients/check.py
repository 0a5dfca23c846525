"""Makes typed clients of /openapi.json and uses them: `make clients`.

openapi-typescript and openapi-python-client make the clients, in environments of their own. calls.ts, calls.py and the
calls that the documentation shows must compile against their types in strict mode; the first two are run, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.documented import make_source
from tests.support.live import ROOT, running_server
from tests.support.web import make_app

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "clients"
ENVIRONMENT = ROOT / ".venv-clients" / "bin"

PACKAGES = ("package.json", "package-lock.json", ".npmrc")


def run(*command: str | Path) -> str:
    """What a program printed. Raises SystemExit with all of its output where it failed."""
    path = os.pathsep.join((str(ENVIRONMENT), str(BUILD / "node_modules" / ".bin"), os.environ["PATH"]))
    done = subprocess.run(
        command, cwd=BUILD, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def install_packages() -> None:
    """The npm packages of package-lock.json, compared with their hashes, where they are not there yet."""
    BUILD.mkdir(parents=True, exist_ok=True)
    installed = BUILD / "node_modules" / "lock.json"
    lock = HERE.joinpath("package-lock.json").read_text()
    if not installed.exists() or installed.read_text() != lock:
        for name in PACKAGES:
            shutil.copy(HERE / name, BUILD / name)
        run("npm", "ci", "--silent")
        installed.write_text(lock)


def write_document() -> int:
    """openapi.json, and documented.ts with as many bodies as it gives back."""
    app = make_app()
    BUILD.joinpath("openapi.json").write_text(json.dumps(app.openapi()))
    source, number = make_source(app)
    BUILD.joinpath("documented.ts").write_text(source)
    return number


def check_typescript() -> None:
    run("openapi-typescript", "openapi.json", "--output", "api.d.ts")
    for name in ("calls.ts", "tsconfig.json"):
        shutil.copy(HERE / name, BUILD / name)
    run("tsc", "--project", "tsconfig.json")


def check_python() -> None:
    """Raises SystemExit, too, where the generator left something out that it does not always leave out."""
    printed = run(
        "openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "tallystick_client",
        "--overwrite", "--meta", "none",
    )
    warnings = [line for line in printed.splitlines() if line.startswith(("WARNING", "ERROR"))]
    if warnings != ["WARNING parsing POST /v1/countTokens within native."]:  # its text/plain body
        raise SystemExit(printed)
    shutil.copy(HERE / "calls.py", BUILD / "calls.py")
    run(ENVIRONMENT / "python", "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "calls.py")


def main() -> None:
    install_packages()
    bodies = write_document()
    check_typescript()
    check_python()
    with running_server() as server:
        run("node", "js/calls.js", server.url)
        run(ENVIRONMENT / "python", "calls.py", server.url)
    print(f"clients: TypeScript and Python compile and run; {bodies} bodies of the documentation fit", file=sys.stderr)


if __name__ == "__main__":
    main()
