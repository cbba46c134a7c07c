"""nginx and Caddy in front of a server, each with its shipped sample from deploy/, with other names and ports.

Two Caddys take different samples: Debian's, on the path of programs, and a newer one, which `pip install --requirement
requirements/deploy.txt` puts beside this interpreter.
"""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from getpass import getuser
from http.client import HTTPSConnection, IncompleteRead
from pathlib import Path
from typing import Protocol

import pytest

from tests.databases import free_port
from tests.running import ROOT

DEPLOY = ROOT / "deploy"
HOST = "api.example.org"


AGAIN = 2  # seconds after which nginx tries a failed node again
_OF_SEVERAL = f" max_fails=1 fail_timeout={AGAIN}s"  # as docs/running/nodes.md has it
PROXIES = ("nginx", "Debian's Caddy", "a newer Caddy")
_BESIDE = str(Path(sys.executable).parent)
_PLACES = f"/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:{_BESIDE}"


def program(name: str) -> str:
    """Returns a program. Skips if it is missing, also in CI, because developers need no proxy."""
    return shutil.which(name, path=_PLACES) or pytest.skip(f"NOT TESTED: {name} is not installed")


@contextmanager
def behind(proxy: str, urls: str | Sequence[str], folder: Path, changes: Mapping[str, str] | None = None, *,
           tls: bool = True) -> Iterator[int]:
    """Yields the port on 127.0.0.1 of one of `PROXIES` that serves that URL, or those URLs. Its files are in `folder`.

    changes  changes of its sample: old text → new text
    tls      True for HTTPS, False for plain HTTP and any `Host`
    """
    port = free_port()
    upstreams = [url.removeprefix("http://") for url in ([urls] if isinstance(urls, str) else urls)]
    command = (_nginx if proxy == "nginx" else _caddy(proxy))(port, upstreams, folder, changes or {}, tls)
    _certify(folder)
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        _wait_for(port, process, folder)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)


def _nginx(port: int, upstreams: Sequence[str], folder: Path, changes: Mapping[str, str], tls: bool) -> list[str]:
    # Files that usually lie in a system folder. Workers of root's nginx run as `nobody`, which cannot enter ours.
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    sample = _changed(_changed((DEPLOY / "nginx.conf").read_text("utf-8"), changes), {
        "server 127.0.0.1:8000;": "\n    ".join(f"server {each}{_OF_SEVERAL if upstreams[1:] else ''};"
                                                for each in upstreams),
        "/etc/ssl/gatepost": str(folder), "/var/log/nginx": str(folder), "listen [::]": "# listen [::]",
        "listen 443 ssl": f"listen 127.0.0.1:{port}{' ssl' if tls else ''}",
        "listen 80": f"listen 127.0.0.1:{free_port()}"})
    file = folder / "nginx.conf"
    file.write_text(f"user {getuser()}; daemon off; pid {folder}/pid; events {{}}\n"
                    f"http {{ access_log off; {temporary} {sample} }}\n", "utf-8")
    return [program("nginx"), "-e", str(folder / "error.log"), "-c", str(file)]


class _Start(Protocol):
    def __call__(self, port: int, upstreams: Sequence[str], folder: Path, changes: Mapping[str, str], tls: bool,
                 /) -> list[str]: ...


def _caddy(proxy: str) -> _Start:
    sample, caddy = _CADDYS[proxy]()

    def start(port: int, upstreams: Sequence[str], folder: Path, changes: Mapping[str, str], tls: bool) -> list[str]:
        site = f"{HOST}:{port} {{\n\ttls {folder}/fullchain.pem {folder}/privkey.pem" if tls else f"http://:{port} {{"
        file = folder / "Caddyfile"
        file.write_text(_changed(_changed((DEPLOY / sample).read_text("utf-8"), changes), {
            "127.0.0.1:8000": " ".join(upstreams),
            "{\n\tservers": "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers",
            f"\n{{$SITE:{HOST}}} {{": f"\n{site}\n\tbind 127.0.0.1\n",
        }), "utf-8")
        return [caddy, "run", "--adapter", "caddyfile", "--config", str(file)]

    return start


def _of_debian() -> tuple[str, str]:
    caddy = program("caddy")
    version = subprocess.run([caddy, "version"], capture_output=True, text=True, check=True).stdout
    # The comments of a sample name the versions of Caddy that need it.
    old = tuple(map(int, re.findall(r"\d+", version)[:3])) < (2, 6, 4)
    return ("Caddyfile.debian" if old else "Caddyfile"), caddy


def newer_caddy() -> str:
    """Returns the program of requirements/deploy.txt. Skips if it is not installed."""
    return shutil.which("caddy", path=_BESIDE) or pytest.skip("NOT TESTED: requirements/deploy.txt is not installed")


_CADDYS = {"Debian's Caddy": _of_debian, "a newer Caddy": lambda: ("Caddyfile", newer_caddy())}


def _changed(sample: str, changes: Mapping[str, str]) -> str:
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
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            said = (folder / "output").read_text("utf-8", "replace")
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.05)


class ToHost(HTTPSConnection):
    """A connection to the host name of the samples, which is not in the DNS."""

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port, timeout=300)
        self._trusting = ssl._create_unverified_context()

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        self.sock = self._trusting.wrap_socket(plain, server_hostname=HOST)


def ask(port: int, method: str, path: str, body: bytes | None = None,
        headers: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, str], bytes]:
    """Returns status, headers and body of the answer of the proxy on a port.

    A proxy that closes the connection during a large body may reset it, and its answer is lost (RFC 9112 section 9.6).
    Then the request is sent again.
    """
    for _ in range(2):
        with suppress(IncompleteRead):
            return _asked(port, method, path, body, headers)
    return _asked(port, method, path, body, headers)


def _asked(port: int, method: str, path: str, body: bytes | None,
           headers: Mapping[str, str] | None) -> tuple[int, Mapping[str, str], bytes]:
    with closing(ToHost(port)) as connection:
        connection.request(method, path, body, {"Host": HOST, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
