"""Gatepost as an operator runs it: commands, and an instance that answers in this process or in a separate one."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from gatepost.commands.plugins import Commands
from gatepost.http.request.call import Services
from gatepost_start.command import cli
from models.engine.connect import open_database
from models.engine.database import Database

ROOT = Path(__file__).parent.parent
SERVICE = sorted(file for top in ("gatepost", "blueprints") for file in (ROOT / top).rglob("*.py"))  # what serves
GATEPOST = [sys.executable, "-c", "from gatepost_start.command import cli; cli()"]
PASSWORD = "a long walk along the shore"

_copies = itertools.count(1)


def wait_until(holds: Callable[[], object], every: float = 0.02) -> None:
    """Waits until `holds()` is true. Fails after a time after which it will never be.

    every  seconds between two questions; those that run a command or ask a server take longer than they wait
    """
    deadline = monotonic() + 60
    while not holds():
        assert monotonic() < deadline, "it did not happen"
        sleep(every)


def just_started() -> Commands:
    """Returns the command line as in a new process, which has not looked up its plugins yet."""
    return Commands("gatepost", commands=cli.commands, context_settings=cli.context_settings)


@dataclass(frozen=True)
class Done:
    """The exit status and the output of a command."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Instance:
    """An instance folder, and the environment of its processes."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        return {**inherited, "PYTHONPATH": str(ROOT), "GATEPOST_INSTANCE": str(self.folder), **self.environment}

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Yields the instance's database as the current one, with any version of its schema."""
        url = self.environment.get("GATEPOST_DATABASE_URL") or f"sqlite:///{self.folder / 'gatepost.db'}"
        database = open_database(url, pool_size=4, synchronous="normal")
        try:
            with database.connected():
                yield database
        finally:
            database.close_all()

    def run(self, *arguments: str, input: str | None = None, app: Flask | None = None) -> Done:
        """Runs `gatepost` with these arguments in this process, because a start costs more than most commands.

        `app`: a command that would make an app uses this one, which it shares with other commands.
        """
        environ = self.environ()
        others = {name: None for name in os.environ if name not in environ}
        more = {} if app is None else {"obj": lambda _, **_options: app}
        before = tempfile.tempdir
        if "TMPDIR" in self.environment:
            tempfile.tempdir = None  # Python reads the variable once
        try:
            result = CliRunner().invoke(cli, arguments, input, {**others, **environ}, catch_exceptions=False, **more)
        finally:
            tempfile.tempdir = before
        return Done(result.exit_code, result.stdout, result.stderr)

    def made(self) -> Instance:
        """Runs `gatepost init` without demo data and with the administrator's `PASSWORD`, and returns the instance.

        On SQLite it is a copy of an instance that this process created once, with the same keys and ids.
        """
        if "GATEPOST_DATABASE_URL" in self.environment or self.folder.exists():
            return self.initialised()
        return _template(tuple(self.environment.items()), tuple(sys.path)).copied(self.folder)

    def copied(self, folder: Path) -> Instance:
        """Returns a copy in another folder, with its own database. Nothing may use this instance during the copy."""
        shutil.copytree(self.folder, folder)
        environment = dict(self.environment)
        url = environment.get("GATEPOST_DATABASE_URL")
        if url is not None and url.startswith("sqlite:///"):
            file = Path(url.removeprefix("sqlite:///"))
            shutil.copy(file, folder.parent)
            environment["GATEPOST_DATABASE_URL"] = f"sqlite:///{folder.parent / file.name}"
        elif url is not None:
            server, _, name = url.rpartition("/")
            copy = f"{name}_{next(_copies)}"
            with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")
            environment["GATEPOST_DATABASE_URL"] = f"{server}/{copy}"
        return Instance(folder, environment)

    def initialised(self) -> Instance:
        """Runs the command itself, so that no other instance has the same keys and ids. Returns the instance."""
        done = self.run("init", "--no-demo", "--admin-email", "admin@example.org", "--admin-password-file", "-",
                        input=PASSWORD)
        assert done.returncode == 0, done.stderr
        return self

    def app(self) -> Flask:
        """An app on the instance, whose services its first request starts."""
        said = {name.removeprefix("GATEPOST_").lower(): value for name, value in self.environment.items()
                if name.startswith("GATEPOST_")}
        return create_app({**said, "instance": self.folder})

    @contextmanager
    def answering(self) -> Iterator[Answering]:
        """Yields a service in this process without a server: a request is a call. It is stopped at the end."""
        app = self.app()
        services: Services = app.extensions["gatepost"]
        services.ensure_running()
        try:
            yield Answering(app)
        finally:
            services.stop()

    @contextmanager
    def served(self, *arguments: str, python: Path = Path(sys.executable)) -> Iterator[Served]:
        """Yields a server on a free port of the loopback address. It is stopped at the end."""
        command = [python, *GATEPOST[1:], "serve", "--port", "0", *arguments]
        process = subprocess.Popen(command, env=self.environ(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            line = process.stdout.readline()
            if line.startswith("Console: "):
                line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line + process.stderr.read()
            yield Served(found.group(), process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


@cache
def _template(environment: tuple[tuple[str, str], ...], path: tuple[str, ...]) -> Instance:
    """Returns an instance on SQLite for copies, created in this environment with the plugins on this path."""
    folder = Path(tempfile.mkdtemp(prefix="gatepost-instance-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Instance(folder / "instance", dict(environment)).initialised()


class Service:
    """An instance that answers requests."""

    def call(self, method: str, path: str, body: Any = None, token: str | None = None,
             headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Sends a request with `body` as JSON. Returns status and JSON."""
        status, answer, _ = self.exchange(method, path, body, token, headers)
        return status, json.loads(answer or b"null")

    def exchange(self, method: str, path: str, body: Any = None, token: str | None = None,
                 headers: Mapping[str, str] | None = None) -> tuple[int, bytes, Mapping[str, str]]:
        """Sends a request. Returns status, body and headers."""
        headers = {**({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.send(method, path, None if body is None else json.dumps(body).encode(), headers)

    def send(self, method: str, path: str, data: bytes | None,
             headers: Mapping[str, str]) -> tuple[int, bytes, Mapping[str, str]]:
        raise NotImplementedError

    def log_in(self, email: str = "admin@example.org", password: str = PASSWORD) -> str:
        """Logs in, and returns an access token."""
        status, answer = self.call("POST", "/api/login", {"email": email, "password": password})
        assert status == 200, answer
        return answer["access_token"]


@dataclass(frozen=True)
class Answering(Service):
    """A service that answers in this process."""

    app: Flask

    def send(self, method: str, path: str, data: bytes | None,
             headers: Mapping[str, str]) -> tuple[int, bytes, Mapping[str, str]]:
        client = FlaskClient(self.app, self.app.response_class, use_cookies=False)
        answer = client.open(path, method=method, data=data, headers=dict(headers), buffered=True)
        return answer.status_code, answer.data, answer.headers


@dataclass(frozen=True)
class Served(Service):
    """A service in a separate process."""

    url: str
    process: subprocess.Popen[str]

    def send(self, method: str, path: str, data: bytes | None,
             headers: Mapping[str, str]) -> tuple[int, bytes, Mapping[str, str]]:
        request = urllib.request.Request(self.url + path, data, dict(headers), method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), error.headers
