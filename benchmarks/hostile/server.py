"""The server under attack: of this checkout or of another commit, with the shipped settings."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from benchmarks.contenders import json_text
from benchmarks.load import Request, ask
from tests.incidents.proxies import behind

ROOT = Path(__file__).parents[2]
ADMIN, PASSWORD = "admin@example.org", "a long walk along the shore"
EDITORS = tuple(f"editor{number}@example.org" for number in range(10))
SERVERS: Mapping[str, Sequence[str]] = {"waitress": (), "granian": ("--workers", "2")}
PROXIES = {"nginx": "nginx", "Caddy": "Debian's Caddy"}
# Servers with a promised protection against hostile clients: granian has it only behind a proxy.
GUARDED = ("waitress", *(f"{server} behind {proxy}" for proxy in PROXIES for server in SERVERS))
JSON = {"Content-Type": "application/json"}
# `gatepost user add` for each of them in one process: to start one takes longer than the command.
ADD = """
import sys
from click.testing import CliRunner
from gatepost_start.command import cli
for email in sys.argv[2:]:
    words = ["user", "add", email, "--role", "editor", "--tenant", "default", "--password-file", "-"]
    CliRunner().invoke(cli, words, input=sys.argv[1], catch_exceptions=False)
"""


@contextmanager
def checked_out(commit: str | None) -> Iterator[Path]:
    """The folder of this checkout, or of a temporary one of `commit`."""
    if commit is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory(prefix="gatepost-before-") as folder:
        place = Path(folder) / "checkout"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


@dataclass
class Served:
    """A running server. `log` holds what it wrote to standard error."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def token(self, email: str = ADMIN) -> str:
        """An access token; logged in once."""
        if email not in self._tokens:
            body = json_text({"email": email, "password": PASSWORD})
            self._tokens[email] = ask(self.url, Request("/api/login", JSON, "POST", body))[2]["access_token"]
        return self._tokens[email]

    def cpu_seconds(self) -> float:
        """Returns the processor time of the server and its workers so far."""
        ticks = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if os.getsid(int(entry.name)) == self.process.pid:
                        fields = (entry / "stat").read_text().rpartition(")")[2].split()
                        ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Checkout:
    """The code in `folder`, and an instance that it made in `instance`."""

    folder: Path
    instance: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        return {**inherited, "PYTHONPATH": str(self.folder), "GATEPOST_INSTANCE": str(self.instance), **self.settings}

    def run(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """A `gatepost` command."""
        return subprocess.run(self.command(*arguments), cwd=self.folder, env=self.environ(), input=text, text=True,
                              check=True, capture_output=True)

    def make(self, articles: int) -> None:
        """Creates the instance: an administrator, ten editors and `articles` articles."""
        self.run("init", "--no-demo", "--admin-email", ADMIN, "--admin-password-file", "-", text=PASSWORD)
        self.run("demo", "--articles", str(articles))
        subprocess.run([sys.executable, "-c", ADD, PASSWORD, *EDITORS], cwd=self.folder, env=self.environ(), check=True)

    @contextmanager
    def served(self, server: str, *, descriptors: int | None = None) -> Iterator[Served]:
        """A server on a free port, `waitress` or `granian behind nginx`. `descriptors` limits open files a process."""
        server, _, proxy = server.partition(" behind ")
        log = self.instance / f"{server}.log"
        environment = self.environ() | ({"GATEPOST_TRUSTED_PROXIES": "1"} if proxy else {})

        def limit() -> None:
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        with log.open("wb") as errors:
            # A session of its own: the workers' time is counted, and they go with the server.
            process = subprocess.Popen(
                self.command("serve", "--host", "127.0.0.1", "--port", "0", *SERVERS[server]), cwd=self.folder,
                env=environment, stdout=subprocess.PIPE, stderr=errors, preexec_fn=limit, start_new_session=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline().decode()
            found = re.search(r"http://[^\s/]+", line)
            if found is None:
                sys.exit(f"{server} did not start: {line}{log.read_text()}")
            with ExitStack() as stack:
                url = found.group()
                if proxy:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"gatepost-{proxy}-")))
                    url = f"http://127.0.0.1:{stack.enter_context(behind(PROXIES[proxy], url, folder, tls=False))}"
                yield Served(url, process, log)
        finally:
            end(process)
            process.stdout.close()

    def command(self, *arguments: str) -> list[str]:
        """The command line of a `gatepost` command, to be run in `folder`."""
        return [sys.executable, "-c", "from gatepost_start.command import cli; cli()", *arguments]


def end(process: subprocess.Popen[bytes], patience: float = 10.0) -> float:
    """Stops a server, and kills its session after `patience` seconds. Returns the seconds until it has ended."""
    began = monotonic()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=patience)
    return monotonic() - began
