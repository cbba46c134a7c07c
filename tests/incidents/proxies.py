"""nginx and Caddy in front of a server, each with its sample from deploy/ as it is shipped but for names and ports."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path

import pytest

from tests.databases import free_port
from tests.running import ROOT

DEPLOY = ROOT / "deploy"
HOST = "api.example.org"


def program(name: str) -> str:
    """Skips where it is not installed: no proxy is needed to develop, so this is no failure in CI either."""
    return shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") or pytest.skip(
        f"NOT TESTED: {name} is not installed")


@contextmanager
def behind(proxy: str, url: str, folder: Path) -> Iterator[int]:
    """The HTTPS port of 127.0.0.1 on which `proxy` serves what is at `url`, with its files in `folder`."""
    port, upstream = free_port(), url.removeprefix("http://")
    command = {"nginx": _nginx, "caddy": _caddy}[proxy](port, upstream, folder)
    _certify(folder)
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        _wait_for(port, process, folder)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def _nginx(port: int, upstream: str, folder: Path) -> list[str]:
    # What a folder of the system would hold. Workers of root's nginx run as `nobody`, which may not enter ours.
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    sample = _changed((DEPLOY / "nginx.conf").read_text("utf-8"), {
        "127.0.0.1:8000": upstream, "/etc/ssl/gatepost": str(folder), "listen [::]": "# listen [::]",
        "listen 443": f"listen 127.0.0.1:{port}", "listen 80": f"listen 127.0.0.1:{free_port()}"})
    file = folder / "nginx.conf"
    file.write_text(f"user {getuser()}; daemon off; pid {folder}/pid; events {{}}\n"
                    f"http {{ access_log off; {temporary} {sample} }}\n", "utf-8")
    return [program("nginx"), "-e", str(folder / "error.log"), "-c", str(file)]


def _caddy(port: int, upstream: str, folder: Path) -> list[str]:
    caddy = program("caddy")
    sample = (DEPLOY / "Caddyfile").read_text("utf-8")
    version = subprocess.run([caddy, "version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:3])) < (2, 6, 4):
        sample = sample.replace("\t\trequest_buffers 1MiB", "\t\tbuffer_requests\n\t\tmax_buffer_size 1MiB")
    file = folder / "Caddyfile"
    file.write_text(_changed(sample, {
        "127.0.0.1:8000": upstream,
        "{\n\tservers": "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers",
        f"\n{HOST} {{": f"\n{HOST}:{port} {{\n\tbind 127.0.0.1\n\ttls {folder}/fullchain.pem {folder}/privkey.pem",
    }), "utf-8")
    return [caddy, "run", "--adapter", "caddyfile", "--config", str(file)]


def _changed(sample: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert old in sample
        sample = sample.replace(old, new)
    return sample


def _certify(folder: Path) -> None:
    options = ["-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]
    subprocess.run([program("openssl"), "req", *options, "-subj", f"/CN={HOST}", "-addext",
                    f"subjectAltName=DNS:{HOST}", "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"],
                   check=True, capture_output=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            said = (folder / "output").read_text("utf-8", "replace")
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.05)
