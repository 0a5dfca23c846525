"""The first tier is bounded in bytes and never confuses two segments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from service.cache.base import segment_key
from service.cache.memory import MemoryCache
from service.types import Segment

SECRET = b"s" * 32


def key(*texts: str, edge: str = "open", fingerprint: str = "abc", secret: bytes = SECRET) -> bytes:
    return segment_key(Segment(tuple(("messages", text) for text in texts), edge), fingerprint, secret)  # type: ignore[arg-type]


def test_keys_tell_apart_everything_that_changes_a_count() -> None:
    keys = [
        key("abc"), key("ab", "c"), key("a", "bc"), key("abc", ""), key("abc", edge="inside"), key("abc", edge="end"),
        key("abc", fingerprint="abd"), key("abc", secret=b"t" * 32), key("ABC"), key(""), key(),
    ]
    assert len(set(keys)) == len(keys)
    assert key("abc") == key("abc")


def test_a_key_holds_no_text() -> None:
    assert b"hunter2" not in key("my password is hunter2")


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_equal_keys_mean_equal_texts(left: list[str], right: list[str]) -> None:
    assert (key(*left) == key(*right)) == (left == right)


def test_the_least_recently_used_goes_first() -> None:
    cache = MemoryCache(max_bytes=3 * 400)
    for name in (b"a", b"b", b"c"):
        cache.put(name, (1,))
    held = len(cache)
    assert cache.get(b"a") == (1,)
    for i in range(held - 1):
        cache.put(b"new%d" % i, (2,))
    assert cache.get(b"a") == (1,)
    assert cache.get(b"b") is None
    assert cache.bytes <= cache.max_bytes


def test_an_entry_larger_than_the_cache_is_not_kept() -> None:
    cache = MemoryCache(max_bytes=100)
    cache.put(b"k", tuple(range(1_000)))
    assert len(cache) == 0
    assert cache.bytes == 0


def test_putting_a_key_again_counts_its_bytes_once() -> None:
    cache = MemoryCache(max_bytes=10_000)
    cache.put(b"k", (1,))
    once = cache.bytes
    cache.put(b"k", (1,))
    assert cache.bytes == once


def test_threads_share_it_without_losing_count() -> None:
    cache = MemoryCache(max_bytes=50_000)

    def work(seed: int) -> None:
        for i in range(2_000):
            cache.put(b"%d" % ((seed * 7919 + i) % 300), (i,))
            cache.get(b"%d" % (i % 300))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert cache.hits + cache.misses == 16_000
    assert 0 < cache.bytes <= cache.max_bytes
    empty = MemoryCache(0)
    empty.put(b"k", (1,))
    assert empty.get(b"k") is None
