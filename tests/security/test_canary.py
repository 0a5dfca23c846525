"""Nothing that callers send is kept: not in logs, metrics, Redis, files or error messages, wherever it was sent."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from service.auth.key_store import FileStore
from service.auth.keys import make_key
from tests.server.test_workers_live import until
from tests.support.live import HTTP, LiveServer, running_server
from tests.support.redis_server import RedisServer, redis_server

CANARY = "canary-7f3a91 fled the mine"
WORD = "canary-7f3a91"
LONG = f"{CANARY}. " * 4_000
"""Long enough to be stored in Redis."""


def disguises(text: str) -> dict[str, bytes]:
    """The text, and all encodings and hashes of it that can be made without the secret."""
    raw = text.encode()
    digests = {name: hashlib.new(name, raw).digest()[:16] for name in ("sha256", "sha1", "md5", "blake2b")}
    return {
        "itself": raw, "base64": base64.b64encode(raw)[:-4], "hex": raw.hex().encode(),
        "escaped": json.dumps(text)[1:-1].encode(), "utf-16": text.encode("utf-16-le"),
        **digests, **{f"{name} in hex": digest.hex().encode() for name, digest in digests.items()},
    }


def questions() -> Iterator[tuple[str, str, Any]]:
    """(method, path, body) with the canary wherever a caller can put text: valid and invalid bodies, paths, queries."""
    chat = {"messages": [{"role": "user", "content": LONG}]}
    yield "POST", "/v1/countTokens", {"model": "gpt-4o", "text": LONG}
    yield "POST", "/v1/countTokens", {"model": "gpt-4o", "texts": [LONG, CANARY]}
    yield "POST", "/v1/countTokens", {"model": "claude-sonnet-4-5", "request": chat}
    yield "POST", "/v1/countTokens:batch", {"items": [{"model": "gpt-4o", "text": LONG}, {"model": CANARY}]}
    yield "POST", "/v1/messages/count_tokens", {"model": "claude-sonnet-4-5", "system": CANARY, **chat}
    yield "POST", "/v1/responses/input_tokens", {"model": "gpt-5", "input": LONG, "instructions": CANARY}
    yield "POST", "/v1beta/models/gemini-2.5-flash:countTokens", {"contents": [{"parts": [{"text": LONG}]}]}
    yield "POST", "/tokenize", {"model": "gpt-4o", "prompt": LONG}
    yield "POST", "/utils/token_counter", {"model": "gpt-4o", **chat}
    yield "POST", "/v1/tokenize", {"tokenizer": "o200k_base", "text": CANARY}
    yield "POST", "/v1/explain", {"tokenizer": "o200k_base", "text": CANARY}
    yield "POST", "/v1/bpe/train", {"corpus": CANARY, "merges": 3}
    yield "POST", "/v1/truncate", {"model": "gpt-4o", "text": LONG, "max_tokens": 5}
    yield "POST", "/v1/split", {"model": "gpt-4o", "text": CANARY, "max_tokens": 5}
    yield "POST", "/v1/compare", {"models": ["gpt-4o", CANARY], "text": CANARY}
    yield "POST", "/v1/checkBudget", {"model": "gpt-4o", "text": LONG}
    yield "POST", "/v1/usage", {"model": "gpt-4o", "text": LONG, "usage": {"prompt_tokens": 9}}
    yield "POST", "/v1/budgets/team-a/reserve", {"model": "gpt-4o", "text": CANARY, "max_output_tokens": 5}
    for path in ("/v1/countTokens", "/v1/messages/count_tokens", "/v1/responses/input_tokens", "/tokenize"):
        for broken in (
            {"model": CANARY, "text": CANARY}, {"model": "gpt-4o", "texts": CANARY}, {"model": [CANARY]}, [CANARY],
            {"model": "gpt-4o", "messages": [{"role": CANARY, "content": CANARY}], "input": {"type": CANARY}},
            {"tokenizer": CANARY, "text": CANARY}, {"model": "gpt-4o", "text": CANARY, "engine": CANARY},
            {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": CANARY, "data": CANARY}},
            ]}]},
        ):
            yield "POST", path, broken
        yield "POST", path, f'{{"text": "{CANARY}'.encode()
        yield "POST", path, f'{{"text": "{CANARY}\ud800"}}'.encode("utf-8", "surrogatepass")
    yield "GET", f"/v1/models/{WORD}", None
    yield "GET", f"/v1/models?search={WORD}&page_token={WORD}", None
    yield "GET", f"/{WORD}", None
    yield "GET", f"/v1/usage?project={WORD}&model={WORD}", None
    yield "GET", f"/v1/usage?from={WORD}", None
    yield "POST", f"/v1beta/models/{WORD}:countTokens", {"contents": [{"parts": [{"text": CANARY}]}]}
    yield "POST", f"/v1/budgets/{WORD}/reserve", {"amount_usd": WORD}
    yield "POST", f"/v1/countTokens?model=gpt-4o&note={WORD}", CANARY.encode()


HEADERS = {"user-agent": CANARY, "referer": f"https://{WORD}.example/", "x-tallystick-project": WORD, "cookie": CANARY}


@contextmanager
def overheard(server: RedisServer) -> Iterator[list[bytes]]:
    """All commands that Redis receives meanwhile."""
    heard: list[bytes] = []
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"MONITOR\r\n")

        def listen() -> None:
            while piece := connection.recv(65_536):
                heard.append(piece)

        thread = threading.Thread(target=listen)
        thread.start()
        yield heard
        connection.shutdown(socket.SHUT_RDWR)
        thread.join()


def all_of(server: RedisServer) -> bytes:
    """All keys and values in Redis."""
    with redis.Redis.from_url(server.url) as client:
        found: list[bytes] = []
        for key in client.scan_iter(count=1_000):
            found.append(key)
            kind = client.type(key)
            found += [repr(client.hgetall(key)).encode()] if kind == b"hash" else []
            found += [client.get(key) or b""] if kind == b"string" else []
        return b"\n".join(found)


@pytest.mark.redis
def test_nothing_that_was_sent_is_kept_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tmp_path.joinpath("budgets.toml").write_text('[budgets.team-a]\nlimit_usd = "50"\nper = "day"\n')
    text, key = make_key("team-a", ["admin"])
    FileStore(tmp_path / "keys.json").change(lambda keys: keys.update({key.id: key}))
    settings: dict[str, Any] = {
        "workers": 2, "cache_secret": "s" * 32, "ask_redis": "always", "keys_file": tmp_path / "keys.json",
        "budgets_file": tmp_path / "budgets.toml", "requests_per_minute": 100_000, "log_level": "debug",
        "warm": "o200k_base,claude-v3,gemma3",
    }
    with redis_server() as store, overheard(store) as heard, running_server(redis_url=store.url, **settings) as server:
        refusals, counted = ask_everything(server, text)
        until(lambda: b"".join(heard).count(b"\r\n") > 40)  # counts are written to Redis behind the answers
        metrics = HTTP.get(f"{server.url}/metrics", headers={"x-api-key": text}).content
        until(lambda: b"gpt-4o" in all_of(store))
        time.sleep(1.5)  # the ledger writes once a second: all of it is there now
        kept = all_of(store)
        files = b"\n".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        log = server.log_file.read_bytes()
    assert counted > 15
    assert refusals
    assert log.count(b"tallystick.request") > 50
    assert b"gpt-4o" in kept  # the ledger's line: what is looked through is what was written
    places = {
        "the log": log, "metrics": metrics, "Redis": kept, "what Redis was told": b"".join(heard), "files": files,
        "refusals": refusals,
    }
    for place, content in places.items():
        for sent in (CANARY, WORD, LONG):
            for name, shape in disguises(sent).items():
                assert shape not in content, f"{place}: {name}"
        assert text.encode() not in content, place
        assert text.split("_", 2)[2].encode() not in content, place


def ask_everything(server: LiveServer, key: str) -> tuple[bytes, int]:
    """All error responses together, and how many requests got a 200."""
    refusals, counted = [], 0
    with httpx.Client(base_url=server.url, headers={**HEADERS, "x-api-key": key}, timeout=60) as client:
        for method, path, body in questions():
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            media = {"content-type": "text/plain"} if "note=" in path else {}
            answer = client.request(method, path, content=content, headers=media)
            assert answer.status_code < 500, answer.text
            counted += answer.status_code == 200
            if answer.status_code >= 400:
                refusals.append(answer.content)
        with_query = HTTP.get(f"{server.url}/v1/models/gpt-4o?key={key}", headers=HEADERS)
        assert with_query.status_code == 200
        wrong = HTTP.post(f"{server.url}/v1/countTokens", headers={**HEADERS, "x-api-key": f"{key}x"}, content=CANARY)
        assert wrong.status_code == 401
        refusals.append(wrong.content)
    return b"\n".join(refusals), counted
