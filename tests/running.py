"""Gatepost as an operator runs it: commands, and an instance served by a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from click.testing import CliRunner

from gatepost_start.command import cli

ROOT = Path(__file__).parent.parent
GATEPOST = [sys.executable, "-c", "from gatepost_start.command import cli; cli()"]
PASSWORD = "a long walk along the shore"


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until `holds()` is true. Fails when it has not become so for so long that it never will."""
    deadline = monotonic() + 60
    while not holds():
        assert monotonic() < deadline, "it did not happen"
        sleep(0.005)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Instance:
    """An instance folder, and what the environment of its processes says."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        return {**inherited, "PYTHONPATH": str(ROOT), "GATEPOST_INSTANCE": str(self.folder), **self.environment}

    def run(self, *arguments: str, input: str | None = None) -> Done:
        """Run `gatepost` with these arguments, in this process: a start costs more than most commands."""
        environ = self.environ()
        others = {name: None for name in os.environ if name not in environ}
        result = CliRunner().invoke(cli, arguments, input=input, env={**others, **environ}, catch_exceptions=False)
        return Done(result.exit_code, result.stdout, result.stderr)

    def made(self, *arguments: str) -> Instance:
        """The same, after `gatepost init` with these arguments and the administrator's `PASSWORD`."""
        done = self.run("init", "--no-demo", "--admin-email", "admin@example.org", "--admin-password-file", "-",
                        *arguments, input=PASSWORD)
        assert done.returncode == 0, done.stderr
        return self

    @contextmanager
    def served(self, *arguments: str, python: Path = Path(sys.executable)) -> Iterator[Served]:
        """A server on a free port of the loopback address, stopped at the end."""
        command = [python, *GATEPOST[1:], "serve", "--port", "0", *arguments]
        process = subprocess.Popen(command, env=self.environ(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line + process.stderr.read()
            yield Served(found.group(), process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


@dataclass(frozen=True)
class Served:
    url: str
    process: subprocess.Popen[str]

    def call(self, method: str, path: str, body: Any = None, token: str | None = None,
             headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Status and JSON of one request; `body` goes as JSON."""
        headers = {**({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def log_in(self, email: str = "admin@example.org", password: str = PASSWORD) -> str:
        """An access token."""
        status, answer = self.call("POST", "/api/login", {"email": email, "password": password})
        assert status == 200, answer
        return answer["access_token"]
