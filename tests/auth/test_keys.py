from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.auth.key_store import FileStore, KeyStore
from service.auth.keys import KEY, Key, KeyRing, KeyStoreError, hash_key, key_from_json, key_to_json, make_key
from service.auth.redis_key_store import RedisStore
from service.cli.keys import parse_expiry
from service.cli.main import main
from service.errors import InvalidRequest
from service.redis.client import open_redis
from service.redis.url import parse_redis_url
from tests.support.redis_server import redis_server

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def adder(key: Key) -> Any:
    def add(keys: dict[str, Key]) -> None:
        keys[key.id] = key

    return add


# ---------------------------------------------------------------- one key


def test_a_key_has_256_random_bits_and_is_not_in_what_is_kept_of_it() -> None:
    text, key = make_key("team-a", ["count"])
    assert KEY.fullmatch(text)
    secret = text.split("_", 2)[2]
    assert len(secret) * 6 >= 256
    assert len({make_key("x", [])[0] for _ in range(100)}) == 100
    assert secret not in json.dumps(key_to_json(key))
    assert secret not in repr(key)


def test_a_ring_finds_the_right_key_alone() -> None:
    text, key = make_key("team-a", ["count"])
    other, _ = make_key("team-b", ["count"])
    ring = KeyRing({key.id: key})
    assert ring.find(text) is key
    swapped = "A" if text[-1] != "A" else "B"
    for wrong in (other, text[:-1] + swapped, text[:-1], text + "x", text.upper(), "", key.id, "tsk_", "\ud800"):
        assert ring.find(wrong) is None


def test_the_last_moment_of_a_key() -> None:
    text, key = make_key("team-a", ["count"], expires=NOW)
    ring = KeyRing({key.id: key})
    assert ring.find(text, NOW - timedelta(microseconds=1)) is key
    assert ring.find(text, NOW) is None


def test_scopes_and_admin() -> None:
    _, key = make_key("a", ["count", "usage"])
    assert [scope for scope in ("count", "tokenize", "usage", "admin") if key.allows(scope)] == ["count", "usage"]
    _, admin = make_key("a", ["admin"])
    assert all(admin.allows(scope) for scope in ("count", "budgets", "metrics", "admin"))


def test_json_keeps_everything() -> None:
    _, key = make_key("a.b-c_1", ["count"], expires=NOW, requests_per_minute=0, tokens_per_minute=7)
    again = key_from_json(json.loads(json.dumps(key_to_json(key))), "here")
    assert again == Key(
        key.id, "a.b-c_1", key.digest, frozenset(["count"]), key.created.replace(microsecond=0), NOW, 0, 7
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "ABC"), ("id", None), ("name", "a b"), ("name", "x" * 65), ("sha256", "00"), ("sha256", 1),
        ("scopes", ["all"]), ("scopes", None), ("created", "yesterday"), ("expires", "soon"),
        ("requests_per_minute", -1), ("requests_per_minute", True), ("tokens_per_minute", "10"),
    ],
)
def test_half_a_key_opens_nothing(field: str, value: object) -> None:
    row = key_to_json(make_key("a", ["count"])[1])
    with pytest.raises(KeyStoreError, match=r"^keys\[3\]: "):
        key_from_json({**row, field: value}, "keys[3]")
    if field not in ("expires", "requests_per_minute", "tokens_per_minute"):
        del row[field]
        with pytest.raises(KeyStoreError, match=f"{field} is missing"):
            key_from_json(row, "keys[3]")


# ---------------------------------------------------------------- stores


@pytest.fixture(params=["file", pytest.param("redis", marks=pytest.mark.redis)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyStore]:
    if request.param == "file":
        yield FileStore(tmp_path / "keys.json")
        return
    with redis_server() as server:
        yield RedisStore(lambda: open_redis(parse_redis_url(server.url), 2.0))


def test_keys_come_and_go(store: KeyStore) -> None:
    assert store.load().by_id == {}
    versions = [store.version()]
    texts = []
    for name in ("a", "b"):
        text, key = make_key(name, ["count"])
        store.change(adder(key))
        texts.append(text)
        versions.append(store.version())
    ring = store.load()
    assert [found.name for text in texts if (found := ring.find(text))] == ["a", "b"]

    def drop(keys: dict[str, Key]) -> None:
        keys.pop(next(key.id for key in keys.values() if key.name == "a"))

    store.change(drop)
    versions.append(store.version())
    ring = store.load()
    assert ring.find(texts[0]) is None
    assert ring.find(texts[1]) is not None
    assert len(set(versions)) == len(versions)


@pytest.mark.redis
def test_a_redis_that_is_not_there_is_told() -> None:
    with redis_server() as server:
        gone = RedisStore(lambda: open_redis(parse_redis_url(server.url), 1.0))
    with pytest.raises(KeyStoreError, match="refused"):
        gone.load()


def test_the_file_is_its_owners_alone_and_replaced_as_a_whole(tmp_path: Path) -> None:
    file, link = tmp_path / "keys.json", tmp_path / "link.json"
    FileStore(file).change(adder(make_key("a", ["count"])[1]))
    assert file.stat().st_mode & 0o777 == 0o600
    link.symlink_to(file)
    FileStore(link).change(adder(make_key("b", ["count"])[1]))
    assert link.is_symlink()
    assert len(FileStore(file).load().by_id) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"keys.json", "link.json", "keys.json.lock", "link.json.lock"}


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    FileStore(file).change(adder(make_key("a", ["count"])[1]))
    file.chmod(0o644)
    FileStore(file).load()
    file.chmod(0o620)
    with pytest.raises(KeyStoreError, match="chmod 600"):
        FileStore(file).load()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"keys": {}}', b'{"keys": [1]}', b'{"keys": [{}]}'])
def test_a_broken_file_is_told_and_not_overwritten(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(content)
    with pytest.raises(KeyStoreError, match=r"keys\.json: "):
        FileStore(file).load()
    with pytest.raises(KeyStoreError):
        FileStore(file).change(adder(make_key("a", [])[1]))
    assert file.read_bytes() == content


def test_changes_at_once_lose_none(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"

    def add_ten() -> None:
        for _ in range(10):
            FileStore(file).change(adder(make_key("a", ["count"])[1]))

    threads = [threading.Thread(target=add_ten) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(FileStore(file).load().by_id) == 40


# ---------------------------------------------------------------- the command


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["keys", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_adds_lists_and_revokes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "keys.json")
    code, text, err = run(
        capsys, "add", "team-a", "--file", file, "--scope", "count", "--expires", "30d", "--requests-per-minute", "100"
    )
    assert (code, bool(KEY.fullmatch(text.strip()))) == (0, True)
    assert text.strip() not in err
    _, other, _ = run(capsys, "add", "team-a", "--file", file)
    _, listed, _ = run(capsys, "list", "--file", file)
    assert text.strip() not in listed
    assert hash_key(text.strip()).hex() not in listed
    assert re.search(r"team-a\t[0-9a-f]{12}\tcount\t100\tdefault\t", listed)
    _, as_json, _ = run(capsys, "list", "--file", file, "--json")
    assert {row["name"]: row["scopes"] for row in json.loads(as_json)}["team-a"]
    code, _, err = run(capsys, "revoke", "team-a", "--file", file)
    assert (code, "several keys" in err) == (2, True)
    key_id = other.split("_")[1]
    assert run(capsys, "revoke", key_id, "--file", file)[0] == 0
    assert run(capsys, "revoke", "team-a", "--file", file)[0] == 0
    code, _, err = run(capsys, "revoke", "team-a", "--file", file)
    assert (code, "no such key" in err) == (2, True)
    assert FileStore(Path(file)).load().find(text.strip()) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "a b", "--file", "{file}"), ("add", "a", "--expires", "2020-01-01", "--file", "{file}"),
        ("add", "a", "--requests-per-minute", "-1", "--file", "{file}"), ("list",), ("add", "a"),
        ("list", "--file", "{folder}"), ("add", "a", "--file", "{folder}/none/keys.json"),
    ],
)
def test_wrong_usage_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.delenv("TALLYSTICK_KEYS_FILE", raising=False)
    places = {"file": str(tmp_path / "keys.json"), "folder": str(tmp_path)}
    code, out, err = run(capsys, *(argument.format(**places) for argument in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("tallystick: ")
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.redis
def test_the_command_needs_no_cache_secret_for_keys_in_redis(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TALLYSTICK_CACHE_SECRET", raising=False)
    monkeypatch.setenv("TALLYSTICK_KEYS_IN_REDIS", "1")
    with redis_server() as server:
        monkeypatch.setenv("TALLYSTICK_REDIS_URL", server.url)
        assert run(capsys, "add", "team-a")[0] == 0
        assert run(capsys, "list")[1].splitlines()[1].startswith("team-a\t")
        assert run(capsys, "revoke", "team-a")[0] == 0


@pytest.mark.parametrize("by", ["option", "setting"])
@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("revoke", "a")])
def test_a_file_that_is_not_there_is_not_a_file_without_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...],
    by: str,
) -> None:
    file = tmp_path / "missing.json"
    monkeypatch.setenv("TALLYSTICK_KEYS_FILE", str(file) if by == "setting" else "")
    option = ("--file", str(file)) if by == "option" else ()
    code, out, err = run(capsys, *arguments, *option)
    assert (code, out) == (1, "")
    assert err.startswith(f"tallystick: {file}: there is no such file")
    assert list(tmp_path.iterdir()) == []
    assert run(capsys, "add", "a", *option)[0] == 0
    assert run(capsys, *arguments, *option)[0] == 0


@pytest.mark.parametrize(
    ("text", "expires"),
    [
        ("90m", datetime(2026, 11, 29, 13, 30, tzinfo=UTC)), ("2w", datetime(2026, 12, 13, 12, tzinfo=UTC)),
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2027-01-31T12:00+09:00", datetime(2027, 1, 31, 3, tzinfo=UTC)),
    ],
)
def test_expiries(text: str, expires: datetime) -> None:
    assert parse_expiry(text, NOW) == expires


@pytest.mark.parametrize("text", ["", "soon", "0d", "-1d", "999999w", "2026-11-29"])
def test_an_expiry_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_expiry(text, NOW)
