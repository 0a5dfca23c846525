"""The servers that we are compared with. They run on the same uvicorn, uvloop and httptools, in one process.

`echo` answers with the body that it received: no server can do less. `ordinary` is FastAPI with tiktoken inside.

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


BASELINES = {"echo": "benchmarks.baselines:echo", "ordinary": "benchmarks.ordinary:app"}
"""Where uvicorn finds the app. It imports that module alone: `echo` loads no tokenizer."""


def main() -> None:
    config = uvicorn.Config(
        BASELINES[sys.argv[1]], loop="uvloop", http="httptools", ws="none", lifespan="off", access_log=False,
        log_level="warning",
    )
    config.load()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
