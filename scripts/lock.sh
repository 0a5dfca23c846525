#!/bin/sh
# Compiles requirements/*.in into *.txt with hashes, for every platform and Python from 3.12 on. Needs uv on PATH or
# in .uv/. Arguments go to `uv pip compile` (--upgrade, --upgrade-package NAME). The locks name no index.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:$PWD/.uv/bin
for part in build run dev examples clients; do
    uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url \
        --custom-compile-command "make lock" "$@" --output-file requirements/$part.txt requirements/$part.in
done
