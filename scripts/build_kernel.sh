#!/bin/sh
# Builds kernel.wasm of service/tokenizers/claude and service/tokenizers/bpe_kernel from the kernel.c beside it. Writes
# the hashes of the sources and the compiler's version to kernel.built. Needs clang with the wasm32 target, and wasm-ld
# (lld). With arguments, TARGET [claude|bpe_kernel], it only builds that kernel, into the file TARGET.
set -eu
cd "$(dirname "$0")/../service/tokenizers"
clang="${CLANG:-clang}"
build() {
    "$clang" --target=wasm32 -mbulk-memory -std=c11 -O3 -nostdlib -ffreestanding -fno-ident -Wall -Wextra -Werror \
        -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o "$2" "$1/kernel.c"
}
if [ $# -gt 0 ]; then
    build "${2:-claude}" "$1"
    exit
fi
for folder in claude bpe_kernel; do
    build "$folder" "$folder/kernel.wasm"
    chmod 644 "$folder/kernel.wasm"
    { (cd "$folder" && sha256sum *.[ch] kernel.wasm); "$clang" --version | head -n 1; } > "$folder/kernel.built"
done
