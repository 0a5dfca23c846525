#!/bin/sh
# Rebuilds service/tokenizers/tiling/kernel.wasm from kernel.c. Needs clang with the wasm32 target, and wasm-ld (lld).
# With an argument, writes there instead: CI compares the bytes where the compiler is the one named in kernel.py.
set -eu
cd "$(dirname "$0")/../service/tokenizers/tiling"
exec "${CLANG:-clang}" --target=wasm32 -std=c11 -O3 -nostdlib -ffreestanding -fno-ident -Wall -Wextra -Werror \
    -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o "${1:-kernel.wasm}" kernel.c
