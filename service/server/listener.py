"""The listening socket: opened once, shared by all workers, and closed so that no connection is lost."""

from __future__ import annotations

import ctypes
import socket
import struct
import sys

BACKLOG = 2048

SO_ATTACH_FILTER = 26
"""Linux's number; Python has no name for it."""

TCP_INFO_UNACKED = 24
"""Where in Linux's tcp_info a listening socket tells how many connections wait to be accepted."""

DROP_NEW_CONNECTIONS = (
    (0x30, 0, 0, 13),  # load the byte of TCP flags
    (0x54, 0, 0, 0x12),  # of these SYN and ACK
    (0x15, 0, 1, 0x02),  # is it the SYN that opens a connection?
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # let everything else pass
)
"""A socket filter (classic BPF). It needs no privileges; accepted connections have it too, and it does them nothing."""


def open_listener(host: str, port: int) -> socket.socket:
    """Connections that come before the app has started wait in the backlog. Port 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def get_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def refuse_new_connections(listener: socket.socket) -> None:
    """Take no new connections, but go on accepting those that the kernel has taken for us.

    Closing a listening socket resets the connections in its backlog: their clients have been told that they are
    connected, and may have sent their requests. A client whose SYN is dropped tries again after a second, and finds
    the port closed. Where the system has no such filter, nothing happens.
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
    """Whether connections wait to be accepted; False where the system does not tell."""
    try:
        info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_UNACKED + 4)
        (waiting,) = struct.unpack_from("I", info, TCP_INFO_UNACKED)
    except (AttributeError, OSError, struct.error):
        return False
    return bool(waiting)

