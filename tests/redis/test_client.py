"""Redis URLs: what each scheme opens, what is refused and how, and that passwords are never repeated."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from service.redis.client import REDIS_ERRORS, UNREACHABLE, classify_error, open_redis
from service.redis.url import SCHEMES, parse_redis_url
from tests.server.test_workers_live import until
from tests.support.redis_server import RedisServer, redis_cluster, redis_sentinel, redis_server


@pytest.mark.parametrize(("url", "kind", "nodes", "master", "one"), [
    ("redis://h", "server", (("h", 6379),), "", "redis://h:6379/"),
    ("redis://u:p%40@h:1/3?ssl_cert_reqs=none", "server", (("h", 1),), "", "redis://u:p%40@h:1/3?ssl_cert_reqs=none"),
    ("rediss://[::1]:7", "server", (("::1", 7),), "", "rediss://[::1]:7/"),
    ("unix:///run/r.sock?db=2", "server", (), "", "unix:///run/r.sock?db=2"),
    ("redis+sentinel://a,b:5/m/1", "sentinel", (("a", 26379), ("b", 5)), "m", "redis://a:26379/1"),
    ("rediss+sentinel://:p@a/m", "sentinel", (("a", 26379),), "m", "rediss://:p@a:26379/"),
    ("redis+cluster://a:1,b:2,c:3", "cluster", (("a", 1), ("b", 2), ("c", 3)), "", "redis://a:1/"),
    ("rediss+cluster://u:p@a/0", "cluster", (("a", 6379),), "", "rediss://u:p@a:6379/0"),
])
def test_urls(url: str, kind: str, nodes: Any, master: str, one: str) -> None:
    address = parse_redis_url(url)
    assert (address.kind, address.nodes, address.master, address.url) == (kind, nodes, master, one)


@pytest.mark.parametrize(("url", "said"), [
    ("", "begins with"), ("http://h", "begins with"), ("redis:", "names a host"), ("redis://:s3cret@", "names a host"),
    ("redis://a,b", "one host"), ("redis://:s3cret@h:99999", "port"), ("redis://:s3cret@h:x", "port"),
    ("redis://h/zero", "number of a database"), ("redis+sentinel://:s3cret@h", "names the master"),
    ("redis+sentinel://h/m/1/2", "number of a database"), ("redis+cluster://:s3cret@h/1", "number of a database"),
    ("unix://", "path of a socket"),
])
def test_what_is_no_url_is_refused_without_repeating_it(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        parse_redis_url(url)
    assert "s3cret" not in str(refused.value)


@given(st.sampled_from([*SCHEMES, "x"]), st.text(max_size=20))
def test_nothing_raises_but_value_error(scheme: str, rest: str) -> None:
    try:
        address = parse_redis_url(f"{scheme}://{rest}")
    except ValueError:
        return
    assert address.kind == SCHEMES[scheme][0]


def test_an_address_shows_no_password() -> None:
    assert repr(parse_redis_url("redis+cluster://u:s3cret@a:1,b:2")) == "RedisAddress(cluster, a:1, b:2)"
    assert "s3cret" not in repr(parse_redis_url("unix:///r.sock?password=s3cret"))


def test_every_error_has_a_reason() -> None:
    from redis import exceptions as known

    reasons = {
        known.ConnectionError: "refused", known.TimeoutError: "timeout", known.AuthenticationError: "denied",
        known.NoPermissionError: "denied", known.BusyLoadingError: "loading", known.ReadOnlyError: "read_only",
        known.OutOfMemoryError: "full", known.RedisClusterException: "cluster", known.ClusterDownError: "cluster",
        known.MaxConnectionsError: "refused", known.ResponseError: "other", known.DataError: "other",
        OSError: "refused", TimeoutError: "timeout",
    }
    assert {kind: classify_error(kind("x")) for kind in reasons} == reasons
    assert all(issubclass(kind, REDIS_ERRORS) for kind in reasons)


# ---------------------------------------------------------------- over TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, Path]]:
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )
    with redis_server() as server:
        with server.client() as client:
            client.config_set("tls-cert-file", str(certificate))
            client.config_set("tls-key-file", str(key))
            client.config_set("tls-ca-cert-file", str(certificate))
            client.config_set("tls-auth-clients", "no")
        from tests.support.redis_server import free_port

        port = free_port()
        with server.client() as client:
            client.config_set("tls-port", str(port))
        yield RedisServer(port, server.folder, ()), certificate


@pytest.mark.redis
def test_tls_checks_the_certificate(tls: tuple[RedisServer, Path]) -> None:
    server, certificate = tls
    url = f"rediss://127.0.0.1:{server.port}/0"
    for _ in range(30):  # each connects anew: what the server sends first comes early or late
        client: Any = open_redis(parse_redis_url(f"{url}?ssl_ca_certs={certificate}"), 5)
        assert client.set("k", "v")
        assert client.get("k") == b"v"
        client.close()
    stranger: Any = open_redis(parse_redis_url(url), 5)
    with pytest.raises(REDIS_ERRORS) as refused:
        stranger.get("k")
    stranger.close()
    assert classify_error(refused.value) == "refused"


@pytest.mark.redis
def test_a_master_that_nobody_follows_any_more_is_left_for_the_one_that_the_sentinels_name() -> None:
    """It was cut off while another one was promoted, and does not know that yet. What is written to it would be
    lost."""
    with redis_sentinel() as (master, port), redis_server("--replicaof", f"127.0.0.1 {master.port}") as replica:
        client: Any = open_redis(parse_redis_url(f"redis+sentinel://127.0.0.1:{port}/counts"), 2.0)
        client.set("key", "1")
        with master.client() as admin, replica.client() as promoted:
            admin.config_set("min-replicas-to-write", 1)
            until(lambda: admin.info("replication")["connected_slaves"] == 1)
            promoted.replicaof("NO", "ONE")
            until(lambda: admin.info("replication")["connected_slaves"] == 0)
            with pytest.raises(REDIS_ERRORS) as refused:
                client.eval("return redis.call('SET', KEYS[1], '2')", 1, "key")
            assert classify_error(refused.value) in UNREACHABLE
            assert not client.connection_pool._available_connections[0].is_connected
            assert admin.get("key") == b"1"
        client.close()


@pytest.mark.redis
def test_a_node_of_a_cluster_that_hangs_holds_a_pipeline_up_for_little_longer_than_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixty keys, a third of them there: each would be tried once more by itself. The waits in vain are counted."""
    waits, read = 0, redis.Connection.read_response

    def read_response(connection: redis.Connection, *arguments: Any, **options: Any) -> Any:
        nonlocal waits
        try:
            return read(connection, *arguments, **options)
        except redis.TimeoutError:
            waits += 1
            raise

    monkeypatch.setattr(redis.Connection, "read_response", read_response)
    with redis_cluster() as nodes:
        url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        client: Any = open_redis(parse_redis_url(url), 0.1)

        def get() -> list[Any]:
            pipeline = client.pipeline(transaction=False)
            for number in range(60):
                pipeline.get(f"key-{number}")
            found: list[Any] = pipeline.execute(raise_on_error=False)
            return found

        assert get() == [None] * 60
        hung = nodes[1].process
        assert hung is not None
        os.kill(hung.pid, signal.SIGSTOP)
        try:
            waits = 0
            with suppress(*REDIS_ERRORS):  # where it could not even connect
                answers = get()
                assert 10 < answers.count(None) < 50
            in_vain = waits
        finally:
            os.kill(hung.pid, signal.SIGCONT)
        assert 1 <= in_vain < 5
        until(lambda: get() == [None] * 60)
        client.close()
