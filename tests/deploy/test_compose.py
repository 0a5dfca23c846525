"""docker-compose.yml: its schema, that no port is open to others and no container runs as root, and that its shell
commands and the options of Redis work. They run in real shells and a real Redis; no container engine is needed."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.app import create_app
from service.settings import Settings
from tests.deploy.files import COMPOSE_FILE, DEPLOY, SETTINGS, compose, image_environment, service_of
from tests.support.live import ROOT
from tests.support.redis_server import RedisServer, free_port
from tests.support.web import client_of

BIN = Path(sys.executable).parent
SERVICES = tuple(compose()["services"])

MIB = 1 << 20


def test_it_is_as_the_compose_specification_says() -> None:
    done = subprocess.run(
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE_FILE],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ports_are_published_on_loopback_alone() -> None:
    ports = [port for name in SERVICES for port in service_of(name).get("ports", [])]
    assert len(ports) == 3
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_may_do_more_than_it_has_to(name: str) -> None:
    service = service_of(name)
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert "no-new-privileges:true" in service["security_opt"]
    limits = service["deploy"]["resources"]["limits"]
    assert float(limits.get("cpus", 1)) <= 1, "Docker refuses more cores than there are"
    assert _bytes(limits["memory"]) >= 64 * MIB
    user = service.get("user", "1")
    assert user.partition(":")[0] not in ("0", "root")


def _bytes(text: str) -> int:
    number, unit = re.fullmatch(r"([0-9]+)([kmg])b?", text.lower()).groups()  # type: ignore[union-attr]
    return int(number) << {"k": 10, "m": 20, "g": 30}[unit]


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_mounted_waited_for_and_joined_is_there(name: str) -> None:
    service, everything = service_of(name), compose()
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        assert (ROOT / source).exists() if source.startswith(".") else source in everything["volumes"], volume
    for other, how in service.get("depends_on", {}).items():
        needed = everything["services"][other]
        assert how["condition"] != "service_healthy" or "healthcheck" in needed, other
        assert not needed.get("profiles") or needed["profiles"] == service.get("profiles"), other
    assert set(service.get("networks", [])) <= set(everything["networks"])


def test_the_service_has_no_way_out_and_redis_no_way_in_but_it() -> None:
    everything = compose()
    internal = {name for name, network in everything["networks"].items() if network and network.get("internal")}
    assert set(service_of("tallystick")["networks"]) <= internal
    assert [name for name in SERVICES if "store" in service_of(name).get("networks", [])] == ["tallystick", "redis"]
    assert set(service_of("redis")["networks"]) <= internal
    assert {name for name in SERVICES if service_of(name).get("profiles")} == {"prometheus", "grafana"}
    assert service_of("tallystick")["deploy"]["replicas"] == 2


def _settings(**more: str) -> Settings:
    """The environment of a replica, from the image and compose, with what its shell adds."""
    environment = service_of("tallystick")["environment"]
    said = {**image_environment(), **environment, "TALLYSTICK_CACHE_SECRET": "x" * 32, **more}
    names = {name: str(value) for name, value in said.items() if name.startswith("TALLYSTICK_")}
    assert set(names) <= SETTINGS
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("TALLYSTICK_"):
                patch.delenv(name)
        for name, value in names.items():
            patch.setenv(name, value)
        return Settings()


async def test_a_catalog_of_the_operator_s_is_what_a_replica_reads() -> None:
    (folder,) = (volume for volume in service_of("tallystick")["volumes"] if volume.startswith("."))
    source, target, mode = folder.split(":")
    assert mode == "ro"
    guides = [(DEPLOY / name).read_text() for name in ("README.md", "config/README.md")]
    for guide in guides:
        assert f"TALLYSTICK_CATALOG_FILE={target}/catalog.toml" in guide
    settings = _settings(TALLYSTICK_CATALOG_FILE=str(ROOT / source / "catalog.example.toml"), TALLYSTICK_REDIS_URL="")
    async with client_of(create_app(settings)) as client:
        assert (await client.get("/v1/models/our-chat")).json()["model_match"] == "alias"
        assert (await client.get("/v1/budgets/team-a")).json()["limit"] == "50"


def test_another_redis_is_reached_by_what_the_readme_adds() -> None:
    """Compose adds the lists and maps of an override file to the existing ones."""
    (block,) = (text for text in re.findall(r"^```yaml\n(.*?)^```$", (DEPLOY / "README.md").read_text(), re.M | re.S))
    (more,) = yaml.safe_load(block)["services"].values()
    networks = compose()["networks"]
    assert set(service_of("tallystick")["networks"]) < set(more["networks"]) <= set(networks)
    assert any(not (networks[name] or {}).get("internal") for name in more["networks"])
    assert set(more["environment"]) <= set(service_of("tallystick")["environment"]), "as it stands, .env has no say"


def test_a_replica_starts_with_what_it_is_told() -> None:
    from service.auth.admission import check_exposure

    settings = _settings()
    check_exposure(settings)
    assert (settings.host, settings.port) == ("0.0.0.0", 8080)
    assert settings.inflight_bytes == 128 * MIB


@pytest.mark.redis
async def test_with_keys_in_redis_nobody_is_let_in_without_one(tmp_path: Path) -> None:
    """Compose allows anonymous callers, but that only applies as long as there are no keys."""
    with _redis(tmp_path) as redis:
        settings = _settings(TALLYSTICK_KEYS_IN_REDIS="1", TALLYSTICK_REDIS_URL=redis.url)
        assert settings.allow_anonymous
        async with client_of(create_app(settings)) as client:
            answer = await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": "hello"})
    assert answer.status_code in (401, 503), "503 until the keys have been read"
    assert answer.json()["error"]["code"] in ("unauthorized", "keys_unavailable")


def test_variables_name_settings_or_are_compose_s_own() -> None:
    from scripts.deploy_files import COMPOSE_ALONE

    used = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", COMPOSE_FILE.read_text()))
    assert used - SETTINGS == set(COMPOSE_ALONE)


@pytest.mark.parametrize("name", ["tallystick", "proxy"])
def test_there_is_time_to_stop(name: str) -> None:
    settings = _settings()
    seconds = int(service_of(name)["stop_grace_period"].removesuffix("s"))
    assert seconds >= settings.grace_seconds + settings.shutdown_seconds + 5


# ---------------------------------------------------------------- what its shells do


def _environment(**more: str) -> dict[str, str]:
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def test_the_secret_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        subprocess.run(service_of("secret")["entrypoint"], cwd=tmp_path, env=_environment(), check=True)
        seen.append((tmp_path / "cache-secret").read_text())
    assert re.fullmatch("[0-9a-f]{64}\n", seen[0])
    assert seen[0] == seen[1], "hashes in Redis are keyed with it"
    assert stat.S_IMODE((tmp_path / "cache-secret").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["cache-secret"]


@pytest.mark.redis
def test_a_replica_takes_the_secret_and_gets_sigterm_itself(tmp_path: Path) -> None:
    subprocess.run(service_of("secret")["entrypoint"], cwd=tmp_path, env=_environment(), check=True)
    service, log = service_of("tallystick"), tmp_path / "log"
    with _redis(tmp_path, "--maxmemory", "64mb") as redis, log.open("wb") as out:
        told = {name: str(value) for name, value in service["environment"].items()} | {
            "TALLYSTICK_HOST": "127.0.0.1", "TALLYSTICK_PORT": "0", "TALLYSTICK_REDIS_URL": redis.url,
            "TALLYSTICK_GRACE_SECONDS": "0", "TALLYSTICK_WARM": "o200k_base",
        }
        process = subprocess.Popen([*service["entrypoint"], *service["command"]], cwd=tmp_path, stderr=out,
                                   env=_environment(**told))
        try:
            deadline = time.monotonic() + 60
            while b"listening" not in log.read_bytes() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            assert process.poll() is None, log.read_text()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, log.read_text()
        finally:
            process.kill()
            process.wait()
    assert '"stopping"' in log.read_text(), "the server itself was told, not a shell in front of it"


def test_keys_are_managed_by_the_same_entrypoint(tmp_path: Path) -> None:
    (tmp_path / "cache-secret").write_text("x" * 64)
    for words in (["add", "team-a"], ["list"]):
        command = [*service_of("tallystick")["entrypoint"], "keys", *words, "--file", str(tmp_path / "keys.json")]
        done = subprocess.run(command, cwd=tmp_path, env=_environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("name")
    assert "team-a" in done.stdout


# ---------------------------------------------------------------- what Redis is told


def _redis_arguments() -> list[str]:
    command: list[str] = service_of("redis")["command"]
    assert command[0] == "redis-server"
    return command[1:]


@contextmanager
def _redis(folder: Path, *more: str) -> Iterator[RedisServer]:
    """A Redis with the options of compose and those of `more`."""
    server = RedisServer(free_port(), folder, (*_redis_arguments(), *more))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def test_its_container_has_room_for_a_copy_of_its_memory() -> None:
    arguments = _redis_arguments()
    most = _bytes(arguments[arguments.index("--maxmemory") + 1])
    assert _bytes(service_of("redis")["deploy"]["resources"]["limits"]["memory"]) >= 2 * most + 64 * MIB


@pytest.mark.redis
def test_full_of_counts_redis_keeps_keys_budgets_and_the_ledger(tmp_path: Path) -> None:
    """Keys of each kind, as the service writes them. Most of them are counts, as in production."""
    day = 86_400
    with _redis(tmp_path, "--maxmemory", "12mb") as server, server.client(decode_responses=True) as client:
        client.hset("tallystick:keys", mapping={"a" * 12: "{}"})
        client.hset("tallystick:budget:{b}:spent", "0", 5)
        ledger = [f"tallystick:ledger:{{usage:{hour}}}" for hour in range(200)]
        for key in ledger:
            client.hset(key, "0", 1)
            client.expire(key, 90 * day)
        leases = [f"tallystick:budget:{{b}}:lease:{number}" for number in range(200)]
        for key in leases:
            client.hset(key, "state", "open")
            client.expire(key, 70 * day)
        for start in range(0, 200_000, 10_000):
            pipeline: Any = client.pipeline(transaction=False)
            for number in range(start, start + 10_000):
                pipeline.set(f"tallystick:count:{number:040}", "17", ex=day)
            pipeline.execute()
        memory: Any = client.info("memory")
        stats: Any = client.info("stats")
        assert stats["evicted_keys"] > 50_000
        assert memory["maxmemory_policy"] == "volatile-ttl"
        assert client.exists("tallystick:keys", "tallystick:budget:{b}:spent") == 2
        assert client.exists(*ledger) == 200
        assert client.exists(*leases) == 200
