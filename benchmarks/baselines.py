"""What we are measured against, on the same server (uvicorn, uvloop, httptools) in one process: `echo` answers with
the body that came, the least that a server can do with it; `ordinary` is FastAPI with tiktoken inside.

    python -m benchmarks.baselines echo|ordinary     prints its URL, then serves until it is terminated
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

Message = MutableMapping[str, Any]


async def echo(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    chunks = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(chunks)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def ordinary() -> Any:
    from benchmarks.ordinary import app  # noqa: PLC0415

    return app


BASELINES: dict[str, Callable[[], Any]] = {"echo": lambda: echo, "ordinary": ordinary}


def main() -> None:
    app = BASELINES[sys.argv[1]]()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app, loop="uvloop", http="httptools", ws="none", lifespan="off", access_log=False, log_level="warning"
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
