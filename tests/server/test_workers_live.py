"""Several real processes on one socket: metrics, deaths, reloads, and a stop under load that loses nothing."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.auth.key_store import FileStore
from service.auth.keys import Key, make_key
from tests.support.live import HTTP, PATIENCE_SECONDS, ROOT, LiveServer, running_server

COUNT = "/v1/countTokens"
MESSAGES = "/v1/messages/count_tokens"

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at /proc")

Metrics = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(url: str) -> Metrics:
    text = HTTP.get(f"{url}/metrics", timeout=60).text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """The sum over every series of that name with those labels."""
    return sum(
        number for (found, pairs), number in metrics.items() if found == name and labels.items() <= dict(pairs).items()
    )


def arrived(metrics: Metrics) -> float:
    """Counts that were asked for, done or not; the scrape itself is in flight, too."""
    done = value(metrics, "tallystick_requests_total", route=COUNT)
    return value(metrics, "tallystick_requests_in_flight") - 1 + done


def children(server: LiveServer) -> list[int]:
    """The process ids of the workers."""
    process_id = server.process.pid
    return [int(child) for child in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


def until(true: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


# ---------------------------------------------------------------- metrics


class Tally:
    """What a client knows itself of the requests it sent."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[str] = Counter()
        self.body_bytes = 0

    def send(self, client: httpx.Client, number: int) -> None:
        text = "word " * random.Random(number).choice((1, 50, 5_000))
        path, body = (
            (COUNT, {"model": "gpt-4o", "text": text}),
            (MESSAGES, {"model": "claude-opus-4-8", "messages": [{"role": "user", "content": text}]}),
            (COUNT, {"model": "no-such-model", "text": text}),
            ("/nothing", {}),
        )[number % 4]
        content = json.dumps(body).encode()
        answer = client.post(path, content=content)
        route = "other" if path == "/nothing" else path
        self.requests[route, f"{answer.status_code // 100}xx"] += 1
        self.body_bytes += len(content) if path != "/nothing" else 0
        if answer.status_code == 200:
            self.tokens[str(body["model"])] += answer.json()["input_tokens"]


def send_all(url: str, tally: Tally, numbers: range) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        for number in numbers:
            tally.send(client, number)


def send_many(url: str, tallies: list[Tally], numbers: range) -> None:
    """From several threads, each with its own connection and tally."""
    with ThreadPoolExecutor(len(tallies)) as pool:
        for future in [pool.submit(send_all, url, tally, numbers) for tally in tallies]:
            future.result()


def assert_equal_to(tallies: list[Tally], metrics: Metrics) -> None:
    requests: Counter[tuple[str, str]] = sum((tally.requests for tally in tallies), Counter())
    for (route, status), number in requests.items():
        assert value(metrics, "tallystick_requests_total", route=route, status=status) == number, (route, status)
        assert value(metrics, "tallystick_request_seconds_count", route=route) >= number
    tokens: Counter[str] = sum((tally.tokens for tally in tallies), Counter())
    for model, number in tokens.items():
        assert value(metrics, "tallystick_tokens_counted_total", model=model) == number
    assert value(metrics, "tallystick_request_body_bytes_total") == sum(tally.body_bytes for tally in tallies)
    refused = sum(number for (_, status), number in requests.items() if status == "4xx")
    assert value(metrics, "tallystick_rejections_total") == refused


def test_the_metrics_of_two_workers_are_the_clients_own_tally_also_when_one_dies() -> None:
    with running_server(workers=2, warm="o200k_base,claude-v4.8") as server:
        tallies = [Tally() for _ in range(6)]
        send_many(server.url, tallies, range(40))
        first = scrape(server.url)
        assert_equal_to(tallies, first)
        until(lambda: value(scrape(server.url), "tallystick_workers") == 2)

        victim, other = children(server)
        os.kill(victim, signal.SIGKILL)
        until(lambda: victim not in children(server) and len(children(server)) == 2)
        until(lambda: value(scrape(server.url), "tallystick_workers") == 2)
        after = scrape(server.url)
        assert_equal_to(tallies, after)
        fallen = {
            key: (number, after.get(key))
            for key, number in first.items()
            if key[0].endswith(("_total", "_count", "_sum", "_bucket")) and after.get(key, -1) < number
        }
        assert fallen == {}
        until(lambda: value(scrape(server.url), "tallystick_requests_in_flight") == 1)  # the scrape itself

        send_many(server.url, tallies, range(20))
        assert_equal_to(tallies, scrape(server.url))
        assert other in children(server)
        files = metric_files(children(server))
        assert not [name for name in files if str(victim) in name], files
        assert any('"worker died"' in line for line in server.log)


def metric_files(process_ids: list[int]) -> list[str]:
    """Names of the files that workers write their metrics to."""
    environment = Path(f"/proc/{process_ids[0]}/maps").read_text()
    folder = next(line.split()[-1] for line in environment.splitlines() if "tallystick-metrics-" in line)
    return [path.name for path in Path(folder).parent.iterdir()]


# ---------------------------------------------------------------- deaths


def test_workers_end_with_their_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # nobody is left to remove the folder of metrics
    with running_server(workers=2, warm="o200k_base") as server:
        workers = children(server)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
        with pytest.raises(httpx.ConnectError):
            HTTP.get(server.url)
        server.process.returncode = 0  # killed on purpose


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_operator_wrote_wrongly_ends_the_start(tmp_path: Path, workers: int) -> None:
    broken = tmp_path / "broken"
    broken.write_text("{[")
    for setting in ("TALLYSTICK_CATALOG_FILE", "TALLYSTICK_KEYS_FILE"):
        environment = {setting: str(broken), "TALLYSTICK_WORKERS": str(workers), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            [sys.executable, "-m", "service.cli", "serve", "--port", "0"], check=False, capture_output=True, timeout=60,
            env=environment, cwd=ROOT, text=True,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert str(broken) in done.stderr


# ---------------------------------------------------------------- reloading


def test_a_hangup_reaches_every_worker(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.toml"
    catalog.write_text("")
    store = FileStore(tmp_path / "keys.json")
    text, key = make_key("team-a", ["count"])

    def add(keys: dict[str, Key]) -> None:
        keys[key.id] = key

    with running_server(
        workers=2, warm="o200k_base", catalog_file=catalog, keys_file=store.path
    ) as server:

        def status(model: str) -> int:
            headers = {"x-api-key": text}
            return HTTP.post(server.url + COUNT, json={"model": model, "text": "x"}, headers=headers).status_code

        assert {status("our-chat") for _ in range(20)} == {401}
        store.change(add)
        catalog.write_text('[aliases]\nour-chat = "gpt-4o"\n')
        server.process.send_signal(signal.SIGHUP)
        until(lambda: {status("our-chat") for _ in range(20)} == {200})
        catalog.write_text("[aliases\n")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: sum("stay as they were" in line for line in server.log) == 2)
        assert {status("our-chat") for _ in range(20)} == {200}
        store.change(lambda keys: keys.clear())  # noticed without a signal
        until(lambda: {status("our-chat") for _ in range(20)} == {401})


# ---------------------------------------------------------------- stopping


class Load:
    """Clients that send one request after the other until nobody listens any more."""

    def __init__(self, url: str) -> None:
        self.address = (str(httpx.URL(url).host), httpx.URL(url).port)
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []
        self.probes: list[tuple[int, int]] = []

    def send(self, *, keep: bool, body: bytes) -> None:
        """With a connection kept as long as the server keeps it, or one for each request."""
        connection = None
        while True:
            try:
                if connection is None or connection.sock is None or not keep:
                    connection = http.client.HTTPConnection(*self.address, timeout=60)
                    connection.connect()
            except ConnectionRefusedError:
                return  # it has stopped listening, and nothing was sent
            try:
                connection.request("POST", COUNT, body)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{'kept' if keep else 'new'} connection: {error!r}")
                return
            self.statuses[answer.status] += 1
            if not keep:
                connection.close()

    def probe(self) -> None:
        while True:
            try:
                self.probes.append((self._get("/readyz"), self._get("/livez")))
            except OSError:
                return
            time.sleep(0.01)

    def _get(self, path: str) -> int:
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_under_load_fails_no_request(workers: int) -> None:
    small = json.dumps({"tokenizer": "o200k_base", "text": "hello"}).encode()
    with running_server(workers=workers, warm="o200k_base", grace_seconds=1) as server:
        load = Load(server.url)
        with ThreadPoolExecutor(16) as pool:
            for number in range(12):
                large = json.dumps({"tokenizer": "o200k_base", "text": f"{number} " + "word " * 100_000}).encode()
                pool.submit(load.send, keep=number % 2 == 0, body=large if number % 4 == 0 else small)
            probing = pool.submit(load.probe)
            until(lambda: sum(load.statuses.values()) > 50)
            server.process.terminate()
            began = time.monotonic()
            server.process.wait(60)
            took = time.monotonic() - began
            probing.result()
        assert load.failures == []
        assert set(load.statuses) == {200}
        told = sum('"route":"/v1/countTokens"' in line for line in server.log)
        assert told == sum(load.statuses.values())  # also of the last moment
        assert {live for _, live in load.probes} == {200}
        draining = [ready for ready, _ in load.probes].index(503)
        assert {ready for ready, _ in load.probes[draining:]} == {503}
        assert len(load.probes) - draining > 1
        assert took >= 1


def test_a_second_signal_ends_the_grace() -> None:
    with running_server(workers=2, warm="o200k_base", grace_seconds=60) as server:
        server.process.terminate()
        until(lambda: HTTP.get(server.url + "/readyz").status_code == 503)
        server.process.terminate()
        assert server.process.wait(60) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_at_any_time_of_the_start_is_orderly(workers: int) -> None:
    for pause in (0.0, 0.05, 0.2):
        with running_server(wait=False, workers=workers, grace_seconds=0) as server:
            time.sleep(pause)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0, server.story()
            assert "stopping" in server.story()


def test_an_interrupt_has_no_grace() -> None:
    with running_server(warm="o200k_base", grace_seconds=60) as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0


def test_what_is_not_done_by_the_deadline_of_the_stop_is_told_so() -> None:
    """A count that takes seconds: its client learns that it has to ask elsewhere, and the server ends in time."""
    text = "The quick brown fox jumps over 12 lazy dogs. " * 30_000
    # Different ones, or one count would serve them all; by the slow engine, which takes about a second for each.
    bodies = [json.dumps({"tokenizer": "gemma3", "engine": "reference", "text": f"{i} {text}"}) for i in range(8)]
    settings: dict[str, Any] = {"threads": 1, "shutdown_seconds": 0, "warm": "o200k_base", "queue": 100}
    with running_server(**settings) as server, ThreadPoolExecutor(8) as pool:
        counts = [pool.submit(HTTP.post, server.url + COUNT, content=body, timeout=60) for body in bodies]
        until(lambda: arrived(scrape(server.url)) == len(bodies))
        server.process.terminate()
        answers = [count.result() for count in counts]
    assert {answer.status_code for answer in answers} <= {200, 503}
    refused = [answer.json()["error"]["code"] for answer in answers if answer.status_code == 503]
    assert set(refused) == {"overloaded"}
