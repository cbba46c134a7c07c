"""The samples in deploy/: nginx and Caddy take theirs and serve through it, where they are installed."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.databases import free_port
from tests.running import ROOT, Instance

DEPLOY = ROOT / "deploy"


def program(name: str) -> str:
    """Skips where it is not installed: no proxy is needed to develop, so this is no failure in CI either."""
    return shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") or pytest.skip(
        f"NOT TESTED: {name} is not installed")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    options = ["-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]
    subprocess.run([program("openssl"), "req", *options, "-subj", "/CN=localhost", "-keyout", tmp_path / "privkey.pem",
                    "-out", tmp_path / "fullchain.pem"], check=True, capture_output=True)  # fmt: skip
    return tmp_path


@contextmanager
def running(*command: str | Path) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


def ask(url: str) -> tuple[int, dict[str, str]]:
    trusting = ssl._create_unverified_context()
    deadline = time.monotonic() + 10
    while True:
        try:
            claimed = {"X-Forwarded-For": "203.0.113.1", "Host": "api.example.org"}
            with urllib.request.urlopen(urllib.request.Request(url, headers=claimed), context=trusting) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_nginx_serves_through_its_sample(tmp_path, certificate):
    nginx, port, plain = program("nginx"), free_port(), free_port()
    instance = Instance(tmp_path / "instance", {"GATEPOST_TRUSTED_PROXIES": "1"}).made()
    with instance.served() as service:
        sample = (DEPLOY / "nginx.conf").read_text("utf-8")
        for old, new in (("127.0.0.1:8000", service.url.removeprefix("http://")), ("/etc/ssl/gatepost", str(tmp_path)),
                         ("listen [::]", "# listen [::]"), ("listen 443", f"listen 127.0.0.1:{port}"),
                         ("listen 80", f"listen 127.0.0.1:{plain}")):
            assert old in sample
            sample = sample.replace(old, new)
        file = tmp_path / "nginx.conf"
        file.write_text(f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\n"
                        f"http {{ access_log off; client_body_temp_path {tmp_path}/body; {sample} }}\n", "utf-8")
        with running(nginx, "-e", tmp_path / "error.log", "-c", file):
            assert ask(f"https://127.0.0.1:{port}/api/health/live") == (200, {"status": "ok"})


def test_caddy_takes_its_sample():
    done = subprocess.run([program("caddy"), "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_systemd_takes_its_unit(tmp_path):
    analyze = program("systemd-analyze")
    unit = (DEPLOY / "gatepost.service").read_text("utf-8").replace("/opt/gatepost/venv/bin/gatepost", "/bin/true")
    (tmp_path / "gatepost.service").write_text(unit, "utf-8")
    done = subprocess.run([analyze, "verify", tmp_path / "gatepost.service"], capture_output=True, text=True)
    assert "gatepost.service" not in done.stderr, done.stderr
