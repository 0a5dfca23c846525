#!/bin/sh
# Rebuilds service/tokenizers/tiling/kernel.wasm from kernel.c, and notes in kernel.built what it was built from and by
# what. Needs clang with the wasm32 target, and wasm-ld (lld). With an argument: writes it there, notes nothing.
set -eu
cd "$(dirname "$0")/../service/tokenizers/tiling"
clang="${CLANG:-clang}"
"$clang" --target=wasm32 -mbulk-memory -std=c11 -O3 -nostdlib -ffreestanding -fno-ident -Wall -Wextra -Werror \
    -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o "${1:-kernel.wasm}" kernel.c
if [ $# -eq 0 ]; then
    chmod 644 kernel.wasm
    { sha256sum kernel.c kernel.wasm; "$clang" --version | head -n 1; } > kernel.built
fi
