"""Reading a request body: bounded while it arrives, bounded while it is decompressed, bounded in time."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping

from starlette.types import Receive, Scope

from service.concurrency.byte_budget import BodyLimits, ByteReservation
from service.errors import BodyTimeout, InvalidRequest, ServiceError, TooLarge, UnsupportedMedia

ARRIVED = "tallystick.arrived"
"""In the scope of a request: a function that gives the body, and gives it up, where all of it is there; else None.
Only our own protocol has it (service.server.http.protocol)."""

MAX_RATIO = 200
"""Decompressed to compressed bytes. Real JSON and prose stay under 20; a bomb of zeros reaches 1,000."""

RATIO_FROM_BYTES = 1 << 20
"""Below this the ratio is not looked at: a small body hurts nobody, and blanks compress well."""

STEP = 1 << 20
"""Bytes decompressed before other requests get their turn on the event loop."""

SLICE = 1 << 16
"""Compressed bytes handed to zlib at once: it copies what it has not used yet, so handing it all would be quadratic."""

MAX_MEMBERS = 1_000
"""gzip members in one body; millions of empty ones would keep us busy for nothing."""


DRAIN_FACTOR = 8
"""A refused body is read and dropped up to so many times the limit, so that its sender gets to see the answer."""

DRAIN_SECONDS = 10.0


class BodyRefused(Exception):
    """The body was not read to its end. `still_sending`: whether its sender may have more under way."""

    def __init__(self, error: ServiceError, *, still_sending: bool) -> None:
        super().__init__(error.code)
        self.error = error
        self.still_sending = still_sending


class ClientGone(Exception):
    """The client closed the connection before its body was complete: there is nobody to answer."""


HEADERS = {name.encode(): name for name in ("content-encoding", "content-length", "content-type", "expect")}
"""The headers that say what a body is."""


def read_headers(scope: Scope) -> dict[str, str]:
    """What was sent of HEADERS; of several with one name the first."""
    return {HEADERS[name]: value.decode("latin-1") for name, value in reversed(scope["headers"]) if name in HEADERS}


async def receive_body(
    scope: Scope, receive: Receive, limits: BodyLimits, reservation: ByteReservation
) -> tuple[bytes, str]:
    """The whole body, decompressed, and its content type. Raises BodyRefused, or ClientGone."""
    headers = read_headers(scope)
    arrived = scope.get(ARRIVED)
    try:
        body = await read_body(receive, headers, limits, reservation, arrived and arrived())
    except ServiceError as error:
        # A client that waits for our word, or has stopped sending, has nothing under way.
        still_sending = "expect" not in headers and not isinstance(error, BodyTimeout)
        raise BodyRefused(error, still_sending=still_sending) from None
    return body, headers.get("content-type", "")


async def read_body(
    receive: Receive, headers: Mapping[str, str], limits: BodyLimits, reservation: ByteReservation,
    arrived: bytes | None = None,
) -> bytes:
    """The whole body, decompressed; its bytes are taken from `reservation`. `arrived` is all of it, where it is there.

    Raises TooLarge as soon as it is clear (before reading where Content-Length says so), UnsupportedMedia for an
    encoding we don't speak, InvalidRequest for damaged data, BodyTimeout for a body that does not arrive in time,
    Overloaded where others hold too much, ClientGone where the client left.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ENCODINGS:
        raise UnsupportedMedia("Content-Encoding must be gzip, deflate or absent.")
    length = headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 18 or int(length) > limits.max_bytes):
        raise too_large(limits.max_bytes)
    if arrived is None:
        body = await _receive_all(receive, limits, reservation)
    elif len(arrived) > limits.max_bytes:
        raise too_large(limits.max_bytes)
    else:
        reservation.take(len(arrived))
        body = arrived
    if not ENCODINGS[encoding]:
        return body
    return await _decompress(body, limits.max_bytes, ENCODINGS[encoding], reservation)


async def _receive_all(receive: Receive, limits: BodyLimits, reservation: ByteReservation) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            more = True
            while more:
                chunk, more = await _next_chunk(receive)
                size += len(chunk)
                if size > limits.max_bytes:
                    raise too_large(limits.max_bytes)
                reservation.take(len(chunk))
                chunks.append(chunk)
    except TimeoutError:
        raise BodyTimeout(f"The body did not arrive within {limits.seconds:g} seconds.") from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def drain(receive: Receive, max_bytes: int, seconds: float) -> None:
    """Read and drop what a refused client is still sending, within bounds.

    Closing a connection with unread bytes in it resets it, and the client never sees the answer.
    """
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more and max_bytes > 0:
                chunk, more = await _next_chunk(receive)
                max_bytes -= len(chunk)
    except (TimeoutError, ClientGone):
        return


async def _next_chunk(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)


def too_large(max_bytes: int) -> TooLarge:
    return TooLarge(
        f"The body is larger than {max_bytes} bytes, as sent or decompressed. "
        "Send less at a time, or raise TALLYSTICK_MAX_BODY_BYTES."
    )


# ---------------------------------------------------------------- decompression

ENCODINGS: Mapping[str, tuple[int, ...]] = {
    "": (), "identity": (), "gzip": (31,), "x-gzip": (31,), "deflate": (15, -15),
}
"""Content-Encoding -> zlib window bits to try. `deflate` means zlib by the standard and raw deflate by habit."""


async def _decompress(data: bytes, max_bytes: int, window_bits: tuple[int, ...], reservation: ByteReservation) -> bytes:
    for bits in window_bits:
        try:
            return await _inflate(data, max_bytes, bits, reservation)
        except zlib.error:
            continue
    raise InvalidRequest("The body is not what Content-Encoding says: it cannot be decompressed.")


async def _inflate(data: bytes, max_bytes: int, bits: int, reservation: ByteReservation) -> bytes:
    """Every member of `data`, one after the other (gzip allows several). Raises zlib.error for damaged data."""
    out = bytearray()
    stream, members, rested_at = zlib.decompressobj(bits), 1, 0
    for start in range(0, len(data), SLICE):
        rest = data[start : start + SLICE]
        while rest:
            if stream.eof:
                rest = rest.lstrip(b"\0")  # members may be padded with zeros
                if not rest:
                    break
                stream, members = zlib.decompressobj(bits), members + 1
            piece = stream.decompress(rest, STEP)
            reservation.take(len(piece))
            out += piece
            rest = stream.unused_data if stream.eof else stream.unconsumed_tail
            _check_expansion(len(data), len(out), members, max_bytes)
            if len(out) - rested_at >= STEP:
                rested_at = len(out)
                await asyncio.sleep(0)
    out += stream.flush()
    if data and not stream.eof:
        raise zlib.error("truncated")
    return bytes(out)


def _check_expansion(compressed: int, decompressed: int, members: int, max_bytes: int) -> None:
    if decompressed > max_bytes:
        raise too_large(max_bytes)
    if decompressed > RATIO_FROM_BYTES and decompressed > MAX_RATIO * compressed:
        raise TooLarge(f"The body decompresses to more than {MAX_RATIO} times its size.")
    if members > MAX_MEMBERS:
        raise TooLarge(f"The compressed body has more than {MAX_MEMBERS} members.")
