from __future__ import annotations

import asyncio
import gzip
import os
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.body import MAX_MEMBERS, ClientGone, drain, read_body
from service.concurrency.byte_budget import BodyLimits, ByteBudget
from service.errors import BodyTimeout, InvalidRequest, Overloaded, TooLarge, UnsupportedMedia

BUDGET = ByteBudget(1 << 40)

LIMITS = BodyLimits(max_bytes=4 << 20, seconds=5)


class Client:
    """Sends chunks the way a server hands them on; `taken` is how many of them were asked for."""

    def __init__(self, chunks: Iterable[bytes], *, stays: bool = True) -> None:
        self.chunks = list(chunks)
        self.stays = stays
        self.taken = 0

    async def receive(self) -> dict[str, object]:
        if self.taken == len(self.chunks):
            return {"type": "http.disconnect"}
        chunk = self.chunks[self.taken]
        self.taken += 1
        return {"type": "http.request", "body": chunk, "more_body": self.taken < len(self.chunks) or not self.stays}


async def read(*chunks: bytes, limits: BodyLimits = LIMITS, **headers: str) -> bytes:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return await read_body(Client(chunks).receive, names, limits, BUDGET.reserve())


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=6), st.sampled_from(["", "identity", "gzip", "deflate"]))
def test_a_body_comes_back_whole_however_it_is_cut_and_packed(chunks: list[bytes], encoding: str) -> None:
    body = b"".join(chunks)
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body) if encoding == "deflate" else body
    cut = len(packed) // 2
    sent = (packed[:cut], packed[cut:]) if encoding else tuple(chunks)
    assert asyncio.run(read(*sent, content_encoding=encoding)) == body


async def test_raw_deflate_is_understood_too() -> None:
    assert await read(zlib.compress(b"hello", wbits=-15), content_encoding="deflate") == b"hello"


async def test_members_follow_each_other_and_may_be_padded() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 512
    assert await read(packed, content_encoding="gzip") == b"one two"


async def test_content_length_over_the_limit_is_refused_before_anything_is_read() -> None:
    client = Client([b"x"])
    with pytest.raises(TooLarge) as caught:
        await read_body(client.receive, {"content-length": str(LIMITS.max_bytes + 1)}, LIMITS, BUDGET.reserve())
    assert client.taken == 0
    assert str(LIMITS.max_bytes) in caught.value.message


async def test_chunks_without_a_length_are_refused_when_they_pass_the_limit_not_at_their_end() -> None:
    client = Client([b"x" * (1 << 20)] * 100)
    with pytest.raises(TooLarge):
        await read_body(client.receive, {}, LIMITS, BUDGET.reserve())
    assert client.taken == 5


async def test_a_body_of_exactly_the_limit_is_read() -> None:
    body = os.urandom(1 << 20).hex().encode() * 2
    assert await read(body, content_length=str(len(body))) == body
    assert await read(gzip.compress(body, 1), content_encoding="gzip") == body


@pytest.mark.parametrize("size", [5 << 20, 64 << 20])
async def test_a_bomb_is_refused(size: int) -> None:
    bomb = gzip.compress(b" " * size, 1)
    with pytest.raises(TooLarge):
        await read(bomb, content_encoding="gzip")


async def test_the_ratio_counts_only_from_a_megabyte_on() -> None:
    assert len(await read(gzip.compress(b" " * 900_000), content_encoding="gzip")) == 900_000
    with pytest.raises(TooLarge, match="200 times"):
        await read(gzip.compress(b" " * 1_200_000), content_encoding="gzip")


async def test_many_empty_members_are_refused() -> None:
    assert await read(gzip.compress(b"") * MAX_MEMBERS, content_encoding="gzip") == b""
    with pytest.raises(TooLarge, match="members"):
        await read(gzip.compress(b"") * (MAX_MEMBERS + 1), content_encoding="gzip")


HELLO = gzip.compress(b"hello", mtime=0)


@pytest.mark.parametrize("body", [HELLO[:-9], b"not gzip at all", HELLO + b"rest"])
async def test_damaged_data_is_a_400(body: bytes) -> None:
    with pytest.raises(InvalidRequest, match="Content-Encoding"):
        await read(body, content_encoding="gzip")


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
async def test_an_encoding_we_do_not_speak_is_a_415(encoding: str) -> None:
    with pytest.raises(UnsupportedMedia):
        await read(b"x", content_encoding=encoding)


async def test_a_body_that_does_not_arrive_is_a_408() -> None:
    async def never() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    with pytest.raises(BodyTimeout):
        await read_body(never, {}, BodyLimits(100, 0.01), BUDGET.reserve())


async def test_a_client_that_leaves_is_noticed() -> None:
    with pytest.raises(ClientGone):
        await read_body(Client([b"half"], stays=False).receive, {}, LIMITS, BUDGET.reserve())


async def test_draining_stops_at_its_bound_and_survives_a_client_that_leaves() -> None:
    endless = Client([b"x" * 1000] * 100)
    await drain(endless.receive, 5_000, 5)
    assert endless.taken == 5
    await drain(Client([b"half"], stays=False).receive, 5_000, 5)


async def test_bodies_together_stay_within_the_budget_and_give_it_back() -> None:
    budget = ByteBudget(1_000)
    with budget.reserve() as first:
        assert len(await read_body(Client([b"x" * 900]).receive, {}, LIMITS, first)) == 900
        with pytest.raises(Overloaded), budget.reserve() as second:
            await read_body(Client([b"x" * 60, b"x" * 60]).receive, {}, LIMITS, second)
        assert budget.held == 900
        packed = gzip.compress(b" " * 5_000)
        with pytest.raises(Overloaded), budget.reserve() as third:
            await read_body(Client([packed]).receive, {"content-encoding": "gzip"}, LIMITS, third)
    assert budget.held == 0
