from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from service.server.listener import get_url, has_pending_connections, open_listener, refuse_new_connections
from service.server.supervisor import STARTS_THREADS
from service.tokenizers.registry import tokenizer_names

TASKS = Path("/proc/self/task")

PRELOAD = """
import gc
import os
from service.server.supervisor import STARTS_THREADS, preload
from service.tokenizers import registry
names = [name for name in registry.tokenizer_names() if name not in STARTS_THREADS]
preload(registry.tokenizer_names())
assert all(registry.is_loaded(name) for name in names)
assert not any(registry.is_loaded(name) for name in STARTS_THREADS)
assert len(os.listdir("/proc/self/task")) == 1, "a thread was started"
child = os.fork()
if child == 0:
    text = "The quick brown fox. " * 2_000
    for name in names:
        one = registry.get_tokenizer(name).count(text)
        assert registry.get_tokenizer(name).count_batch([text + str(i) for i in range(40)])[0] >= one, name
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
gc.unfreeze()
"""


@pytest.mark.skipif(not TASKS.exists(), reason="looks at /proc")
def test_what_is_loaded_before_the_fork_starts_no_thread_and_counts_after_it() -> None:
    """A thread does not survive a fork, and whoever waits for one in the child waits for ever."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELOAD], check=False, capture_output=True, text=True, timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


def test_those_that_start_threads_are_known() -> None:
    assert set(tokenizer_names()) >= STARTS_THREADS


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is Linux's")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_closed_door_lets_in_those_who_are_through_it(host: str) -> None:
    if host == "::1" and not Path("/proc/net/if_inet6").read_text():
        pytest.skip("no IPv6 here")
    with open_listener(host, 0) as listener:
        address = listener.getsockname()[:2]
        assert not has_pending_connections(listener)
        with socket.create_connection(address) as through:
            through.sendall(b"hello")
            assert has_pending_connections(listener)
            refuse_new_connections(listener)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.3)
            accepted, _ = listener.accept()
            with accepted:
                assert accepted.recv(10) == b"hello"
                accepted.sendall(b"welcome")
            assert through.recv(10) == b"welcome"
            assert not has_pending_connections(listener)


def test_urls() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        assert get_url(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
