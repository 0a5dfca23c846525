"""Whether a kernel can be compiled here to the very bytes that are committed."""

from __future__ import annotations

import shutil
import subprocess


def can_compile(compiler: str) -> bool:
    """Whether the compiler of that first line of `clang --version` is here, and a linker for WebAssembly."""
    clang = shutil.which("clang")
    if clang is None or shutil.which("wasm-ld") is None:
        return False
    return compiler in subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
