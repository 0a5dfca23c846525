"""nginx with the configuration of deploy/nginx, as a process of its own. Only addresses and folders differ."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.instances import Instance
from tests.chaos.stores import until
from tests.support.live import ROOT
from tests.support.redis_server import free_port

CONFIG = ROOT / "deploy" / "nginx"


def find_program(name: str) -> str:
    """The path of nginx. Raises RuntimeError if it is not installed."""
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise RuntimeError(f"{name} is needed (Debian: apt-get install {name})")
    return program


def configuration(port: int, folder: Path, upstreams: Sequence[int]) -> dict[str, str]:
    """File name -> content. Raises RuntimeError if something that has to be replaced is not found."""
    main = (CONFIG / "nginx.conf").read_text()
    for pattern, instead in (
        (r"/tmp/", f"{folder}/"), (r"/etc/nginx/upstream\.conf", f"{folder}/upstream.conf"),
        (r"listen 8080;", f"listen 127.0.0.1:{port};"), (r"/dev/stdout", f"{folder}/access.log"),
        (r"worker_processes auto;", "worker_processes 1;"),
    ):
        main, found = re.subn(pattern, instead, main)
        if not found:
            raise RuntimeError(f"deploy/nginx/nginx.conf has no {pattern}")
    return {"nginx.conf": main, "upstream.conf": _upstream(upstreams)}


def _upstream(ports: Sequence[int]) -> str:
    """The upstream with the addresses of the instances in place of a DNS name, and with the same options."""
    text = (CONFIG / "upstream.conf").read_text()
    text = re.sub(r"^\s*resolver .*\n", "", text, flags=re.MULTILINE)

    def servers(found: re.Match[str]) -> str:
        options = found[1].replace(" resolve", "")
        return "\n".join(f"    server 127.0.0.1:{port}{options};" for port in ports)

    text, found = re.subn(r"^\s*server \S+((?: [^;\n]+)?);", servers, text, flags=re.MULTILINE)
    if found != 1:
        raise RuntimeError(f"deploy/nginx/upstream.conf has {found} servers")
    return text


@contextmanager
def open_nginx(upstreams: Sequence[int]) -> Iterator[str]:
    """Runs nginx and yields its URL when it listens. At the end it is stopped and its files are deleted."""
    program = find_program("nginx")
    with tempfile.TemporaryDirectory(prefix="chaos-nginx-") as name:
        folder, port = Path(name), free_port()
        folder.chmod(0o711)  # started by root, its workers are somebody else, who keeps large bodies in here
        for file, text in configuration(port, folder, upstreams).items():
            (folder / file).write_text(text)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, "-c", f"{folder}/nginx.conf", "-p", name, "-g", "daemon off;"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        try:
            here = Instance(port, folder, {})
            until(lambda: here.is_listening() or process.poll() is not None, "nginx listens")
            if process.poll() is not None:
                raise RuntimeError(f"nginx did not start:\n{(folder / 'log').read_text()}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
