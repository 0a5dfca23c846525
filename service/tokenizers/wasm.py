"""One small WebAssembly file in wasmtime: instances of it, their memory, and fast calls into them.

A call releases the interpreter lock.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any

PAGE = 65536


class WasmUnavailable(Exception):
    """WebAssembly does not run here; the message says why."""


class Module:
    """A compiled file, of which there may be any number of instances. Raises WasmUnavailable."""

    def __init__(self, code: bytes) -> None:
        failures = errors()
        import wasmtime

        try:
            config = wasmtime.Config()
            config.parallel_compilation = False  # one small file; and no threads that a fork would lose
            self.engine = wasmtime.Engine(config)
            self.module = wasmtime.Module(self.engine, code)
        except failures as error:
            raise WasmUnavailable(f"wasmtime does not compile: {type(error).__name__}") from error
        atexit.register(self.engine.close)  # else both complain when their library has already been taken apart
        atexit.register(self.module.close)


class Instance:
    """One thread at a time may use it. What it does may raise one of `errors()`."""

    def __init__(self, module: Module) -> None:
        import wasmtime

        self._store = wasmtime.Store(module.engine)
        self._exports: Any = wasmtime.Instance(self._store, module.module, []).exports(self._store)
        self._memory: Any = self._exports["memory"]
        self._measure()

    def _measure(self) -> None:
        """Reads where the memory begins, and its size. Both are valid until it grows."""
        self.memory_bytes: int = self._memory.data_len(self._store)
        self._begins: int = ctypes.addressof(self._memory.data_ptr(self._store).contents)

    def call(self, name: str, *arguments: int) -> Any:
        """Calls an exported function by wasmtime's own way, which takes 40 us."""
        return self._exports[name](self._store, *arguments)

    def function(self, name: str) -> Callable[[int, int], int]:
        """An exported function of two integers that returns one. A call takes 3 us, or 40 us where this wasmtime is
        different inside and only its own way is left."""
        try:
            return _direct(self._store, self._exports[name])
        except (ImportError, AttributeError):
            return partial(self._exports[name], self._store)

    def reserve(self, end: int) -> None:
        """Grows the memory until it reaches up to `end`."""
        missing = end - self.memory_bytes
        if missing > 0:
            self._memory.grow(self._store, -(-missing // PAGE))
            self._measure()

    def write(self, data: bytes | memoryview, at: int) -> None:
        self.reserve(at + len(data))
        ctypes.memmove(self._begins + at, data if isinstance(data, bytes) else bytes(data), len(data))

    def view(self, at: int, size: int) -> memoryview:
        """A part of the memory to write to. It is valid until the memory grows."""
        return memoryview((ctypes.c_ubyte * size).from_address(self._begins + at)).cast("B")

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self._begins + at, size)

    def copy(self, other: Instance, start: int, end: int) -> None:
        """Copies a part of another instance's memory to which nobody writes meanwhile."""
        self.reserve(end)
        ctypes.memmove(self._begins + start, other._begins + start, end - start)


@cache
def errors() -> tuple[type[Exception], ...]:
    """What wasmtime may raise. Raises WasmUnavailable."""
    try:
        import wasmtime
    except (ImportError, OSError, RuntimeError) as error:  # not installed, or no wheel for this machine
        raise WasmUnavailable("wasmtime does not import") from error
    return wasmtime.WasmtimeError, wasmtime.Trap, MemoryError, IndexError


def _direct(store: Any, function: Any) -> Callable[[int, int], int]:
    """Calls wasmtime's C function with plain addresses. Its own way asks for the types and wraps every value."""
    from wasmtime import Trap, WasmtimeError, _ffi

    pointer = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(pointer, pointer, pointer, pointer, ctypes.c_size_t, pointer)
    invoke = kind(("wasmtime_func_call_unchecked", _ffi.dll))
    values, trap = (_ffi.wasmtime_val_raw_t * 2)(), pointer()
    context = ctypes.cast(store._context(), pointer).value
    called, given, caught = map(ctypes.addressof, (function._func, values, trap))
    first_value, second_value = values

    def call(first: int, second: int) -> int:
        first_value.i32, second_value.i32 = first, second
        error = invoke(context, called, given, 2, caught)
        if error:
            raise WasmtimeError._from_ptr(ctypes.cast(error, ctypes.POINTER(_ffi.wasmtime_error_t)))
        if trap:
            found = ctypes.cast(trap, ctypes.POINTER(_ffi.wasm_trap_t))
            trap.value = None
            raise Trap._from_ptr(found)
        result: int = first_value.i32
        return result

    return call
