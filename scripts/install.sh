#!/bin/sh
# Makes .venv from requirements/dev.txt, or the folder $1 from the lock $2, and checks the hashes. It can be run again at
# any time. It needs a network (or a mirror that uv and pip are configured for), and uv or a Python with venv and pip.
# When there is no uv, it installs one into .uv/. It uses a Python >= 3.12 when there is one, else uv fetches one.
# Nothing is installed outside this folder.
set -eu
cd "$(dirname "$0")/.."

VENV=${1:-.venv}
LOCK=${2:-requirements/dev.txt}
WANTED=3.13
say() { printf 'install: %s\n' "$*" >&2; }

# ---------------------------------------------------------------- Python

# A pyenv shim is on PATH even when its version is not installed, so each candidate is tried.
pythons() {
    for name in python3.13 python3.12 python3.14 python3 python; do
        command -v "$name" 2>/dev/null || true
    done
    for file in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-9]*/bin/python3; do
        [ -x "$file" ] && printf '%s\n' "$file"
    done
    return 0
}

# The path of the first Python that is at least version $1 and can import the modules $2..., or nothing.
find_python() {
    version=$1
    shift
    pythons | while IFS= read -r candidate; do
        "$candidate" -c '
import importlib, sys
if sys.version_info < tuple(int(n) for n in sys.argv[1].split(".")): sys.exit(1)
for name in sys.argv[2:]: importlib.import_module(name)
print(sys.executable)' "$version" "$@" 2>/dev/null && break
    done || true
}

# ---------------------------------------------------------------- uv

works() { "$@" --version >/dev/null 2>&1; }

find_uv() {
    for uv in uv .uv/bin/uv "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv"; do
        if works "$uv"; then
            UV_BIN=$uv
            return 0
        fi
    done
    return 1
}

# Installs uv into .uv/, by venv or, where Debian has split venv off, by pip. Neither changes the system's Python.
get_uv() {
    python=$(find_python 3.8 venv ensurepip)
    if [ -n "$python" ]; then
        say "getting uv into .uv/ (venv of $python)"
        rm -rf .uv
        "$python" -m venv .uv && .uv/bin/python -m pip install --quiet uv && return 0
    fi
    python=$(find_python 3.8 pip)
    if [ -n "$python" ]; then
        say "getting uv into .uv/ (pip of $python)"
        rm -rf .uv
        "$python" -m pip install --quiet --target .uv uv && return 0
    fi
    say "uv is missing and could not be fetched. Install it in one of these ways and run make again:"
    say "  your package manager (brew install uv, apk add uv, ...), or pipx install uv, or"
    say "  on Debian and Ubuntu: apt-get install python3-venv, which lets this script fetch it"
    return 1
}

find_uv || { get_uv && find_uv; } || exit 1

# ---------------------------------------------------------------- the environment

# Everything is fetched in up to two tries, with uv's certificates and then with the system's. Behind a proxy with a
# certificate of its own only the system's certificates work; a small image may have none.
if ! "$VENV"/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; then
    python=$(find_python 3.12)
    [ -n "$python" ] || say "no Python >= 3.12 here: uv fetches $WANTED"
    make_venv() { "$UV_BIN" venv --quiet --clear --python "${python:-$WANTED}" "$VENV"; }
    make_venv || UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 make_venv || {
        say "no Python >= 3.12 was found or could be fetched. Install one (your package manager, or uv python install $WANTED)"
        say "and run make again."
        exit 1
    }
fi
fetch() { "$UV_BIN" pip install --quiet --python "$VENV"/bin/python --require-hashes -r "$LOCK"; }
fetch || { say "trying again with the system's certificates" && UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 fetch; } || {
    say "the requirements could not be fetched: see above. A mirror is set with UV_DEFAULT_INDEX."
    exit 1
}
# setuptools is in the lock, too, so that nothing without a hash is fetched to build the package.
"$UV_BIN" pip install --quiet --python "$VENV"/bin/python --no-deps --no-build-isolation --editable .
say "ready: $("$VENV"/bin/python --version) in $VENV"
