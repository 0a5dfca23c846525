"""The listening socket. It is opened once and shared by all workers; it is closed so that no connection is lost."""

from __future__ import annotations

import ctypes
import socket
import struct
import sys

BACKLOG = 2048

SO_ATTACH_FILTER = 26
"""The number of this socket option on Linux. Python's socket module does not have it."""

TCP_INFO_UNACKED = 24
"""Offset in Linux's tcp_info. For a listening socket this field is the number of connections that wait for accept."""

DROP_NEW_CONNECTIONS = (
    (0x30, 0, 0, 13),  # load the byte of TCP flags
    (0x54, 0, 0, 0x12),  # of these SYN and ACK
    (0x15, 0, 1, 0x02),  # is it the SYN that opens a connection?
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # let everything else pass
)
"""A socket filter (classic BPF) that drops the first packet of every new connection.

It needs no privileges. Accepted connections inherit it; it does not affect them.
"""


def open_listener(host: str, port: int) -> socket.socket:
    """Listen on `host` and `port`; port 0 is any free port. Raises OSError.

    Connections that come before the app has started wait in the backlog.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def get_url(listener: socket.socket) -> str:
    """The URL of the address that is bound, with the real port where 0 was asked for."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def refuse_new_connections(listener: socket.socket) -> None:
    """Let no new connection begin. Those in the backlog can still be accepted.

    Closing the socket at once would reset the connections in its backlog. Their clients are already connected and may
    have sent requests. A client whose SYN is dropped tries again after a second, and then finds the port closed.
    Does nothing on systems that have no such filter.
    """
    if sys.platform != "linux":
        return
    code = b"".join(struct.pack("HBBI", *row) for row in DROP_NEW_CONNECTIONS)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(DROP_NEW_CONNECTIONS), ctypes.addressof(buffer))
    try:
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
    except OSError:
        return


def has_pending_connections(listener: socket.socket) -> bool:
    """Whether connections wait in the backlog. False on systems where this cannot be asked."""
    try:
        info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_UNACKED + 4)
        (pending,) = struct.unpack_from("I", info, TCP_INFO_UNACKED)
    except (AttributeError, OSError, struct.error):
        return False
    return bool(pending)

