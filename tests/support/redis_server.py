"""A real redis-server for tests, and a proxy in front of it that fails in the ways in which networks fail."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import redis

PATIENCE_SECONDS = 60


PORTS = range(10_000, 32_000)
"""Below those that Linux gives to connections: none of the many that tests open takes a port before its server does."""


def free_port() -> int:
    """Chosen at random, since other processes run tests at the same time."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class RedisServer:
    """A redis-server that only this test uses. It keeps nothing on disk."""

    port: int
    folder: Path
    arguments: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self.folder / 'socket'}?db=0"

    def start(self) -> None:
        log = self.folder / "log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
                 "--unixsocket", str(self.folder / "socket"), "--save", "", "--appendonly", "no", *self.arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"redis-server did not start:\n{log.read_text()}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            try:
                probe.connect(("127.0.0.1", self.port))
                probe.sendall(b"PING\r\n")
                return probe.recv(64) != b""
            except OSError:
                return False

    def stop(self) -> None:
        """Kill it, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_SECONDS)
            self.process = None

    @contextmanager
    def client(self, **options: Any) -> Iterator[redis.Redis]:
        client = redis.Redis(port=self.port, protocol=2, **options)
        try:
            yield client
        finally:
            client.close()


@contextmanager
def redis_server(*arguments: str) -> Iterator[RedisServer]:
    """A server that answers. It is stopped at the end. `arguments` are those of redis-server."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(free_port(), Path(folder), arguments)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def redis_cluster() -> Iterator[tuple[RedisServer, ...]]:
    """Three masters that share the slots."""
    with ExitStack() as stack:
        nodes = tuple(
            stack.enter_context(redis_server("--cluster-enabled", "yes", "--cluster-port", str(free_port())))
            for _ in range(3)
        )
        subprocess.run(
            ["redis-cli", "--cluster", "create", *(f"127.0.0.1:{node.port}" for node in nodes), "--cluster-yes"],
            check=True, capture_output=True, timeout=PATIENCE_SECONDS,
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        for node in nodes:
            with node.client() as client:
                info: Any = client.execute_command
                while info("CLUSTER INFO")["cluster_state"] != "ok":
                    assert time.monotonic() < deadline, "the nodes do not agree"
                    time.sleep(0.02)
        yield nodes


@contextmanager
def redis_sentinel() -> Iterator[tuple[RedisServer, int]]:
    """A master called `counts`, and the port of a sentinel that monitors it."""
    with redis_server() as master, tempfile.TemporaryDirectory() as folder:
        port = free_port()
        config = Path(folder, "sentinel.conf")
        config.write_text(f"port {port}\nbind 127.0.0.1\nsentinel monitor counts 127.0.0.1 {master.port} 1\n")
        sentinel = RedisServer(port, Path(folder), ())
        sentinel.process = subprocess.Popen(
            ["redis-server", str(config), "--sentinel"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not sentinel._answers():
                assert time.monotonic() < deadline, "the sentinel did not start"
                time.sleep(0.02)
            yield master, port
        finally:
            sentinel.stop()


# ---------------------------------------------------------------- a network that fails

Fault = Literal["none", "hang", "delay", "refuse"]


class FaultyProxy:
    """A proxy in front of a server, on a port of its own. It is a context manager.

    `fault` may be changed at any time. `hang` accepts connections and never answers; `delay` delays all data by
    `delay_seconds`; `refuse` closes the port and all connections.
    """

    def __init__(self, port: int, delay_seconds: float = 0.03) -> None:
        self.port = free_port()
        self.delay_seconds = delay_seconds
        self.connections = 0
        self._target = port
        self._fault: Fault = "none"
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> FaultyProxy:
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    @property
    def fault(self) -> Fault:
        return self._fault

    @fault.setter
    def fault(self, fault: Fault) -> None:
        before, self._fault = self._fault, fault
        self._loop.call_soon_threadsafe(self._flowing.clear if fault == "hang" else self._flowing.set)
        if fault == "refuse":
            self._run(self._close())
        elif before == "refuse":
            self._run(self._listen())

    def cut(self) -> None:
        """Close all connections. New ones are accepted."""
        self._run(self._cut())

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_writer}
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._pump(reader, to_writer), self._pump(to_reader, writer))
        self._writers -= {writer, to_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._flowing.wait()
                if self._fault == "delay":
                    await asyncio.sleep(self.delay_seconds)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
