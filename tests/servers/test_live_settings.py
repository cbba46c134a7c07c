"""A running service reloads settings.toml on SIGHUP: on both servers, in every process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from urllib.request import Request, urlopen

import pytest

from tests.incidents.load import SERVERS
from tests.running import GATEPOST, Instance, Served, wait_until
from tests.servers.test_servers import children

pytestmark = pytest.mark.slow

MANY = 24  # requests on separate connections, which reach every worker


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_LOGIN_ATTEMPTS": "77"}).made()


class Followed:
    """A service, its settings.toml, and the lines of its log."""

    def __init__(self, service: Served, instance: Instance) -> None:
        self.service, self.file = service, instance.folder / "settings.toml"
        self.lines: list[str] = []
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        self.lines.extend(self.service.process.stderr)

    def says(self, toml: str) -> None:
        """Writes the file again, and sends SIGHUP."""
        self.file.write_text(toml, "utf-8")
        self.service.process.send_signal(signal.SIGHUP)

    def logged(self, text: str) -> list[str]:
        """Returns the log messages with this text."""
        messages = [json.loads(line)["message"] for line in list(self.lines) if line.startswith("{")]
        return [message for message in messages if text in message]

    def sizes(self) -> set[int]:
        """Returns the default page sizes of articles that a guest gets."""
        found = set()
        for _ in range(MANY):
            status, answer = self.service.call("GET", "/api/articles")
            assert status == 200
            found.add(len(answer["items"]))
        return found


@pytest.fixture(scope="module")
def instance(made: Instance) -> Instance:
    """An instance with more published articles than a page has."""
    lines = "\n".join(json.dumps({"title": f"T{n}", "slug": f"live-{n}", "body": "x", "status": "published"})
                      for n in range(30))
    file = made.folder.parent / "articles.ndjson"
    file.write_text(lines, "utf-8")
    done = made.run("import", "articles", str(file))
    assert done.returncode == 0, done.stderr
    return made


@contextmanager
def following(instance: Instance, *arguments: str) -> Iterator[Followed]:
    (instance.folder / "settings.toml").unlink(missing_ok=True)
    with instance.served(*arguments) as service:
        yield Followed(service, instance)


@pytest.fixture
def followed(instance: Instance, server: str) -> Iterator[Followed]:
    with following(instance, *SERVERS[server]) as followed:
        yield followed


def test_a_new_size_of_pages_is_in_force_in_every_process_without_a_restart(followed, server):
    before = children(followed.service.process.pid)
    assert followed.sizes() == {20}
    followed.says("page_size = 7")
    wait_until(lambda: followed.sizes() == {7})
    followed.says("page_size = 8")
    wait_until(lambda: followed.sizes() == {8})
    assert followed.logged("settings are in force as settings.toml has them now: page_size")
    assert children(followed.service.process.pid) == before and followed.service.process.poll() is None


def test_new_limits_are_counted_by_at_once(followed):
    token = followed.service.log_in()

    def policies() -> set[str]:
        found = set()
        for _ in range(MANY):
            request = Request(f"{followed.service.url}/api/profile", headers={"Authorization": f"Bearer {token}"})
            with urlopen(request, timeout=60) as answer:
                found.add(answer.headers["RateLimit-Policy"])
        return found

    assert policies() == {'"principal";q=600;w=60'}
    followed.says("[role_units]\nadmin = 999")
    wait_until(lambda: policies() == {'"principal";q=999;w=60'})
    followed.file.unlink()
    followed.service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: policies() == {'"principal";q=600;w=60'})


BROKEN = {
    "no TOML": ("page_size = = 5", "cannot be read"),
    "an unknown name": ("page_size = 5\npage_siez = 6", "page_siez"),
    "a value that is not allowed": ("page_size = 5\nmax_page_size = 0", "0 is not allowed: a whole number from 1 to"),
}


def test_a_file_that_is_wrong_changes_nothing_and_the_log_says_what_a_start_would(followed, instance):
    followed.says("page_size = 9")
    wait_until(lambda: followed.sizes() == {9})
    for name, (toml, sentence) in BROKEN.items():
        followed.says(toml)

        def refused(sentence: str = sentence) -> list[str]:
            return [each for each in followed.logged("the settings stay as they are") if sentence in each]

        wait_until(refused)
        assert refused()[0].partition("\n")[2] in instance.run("settings").stderr, name
        assert followed.sizes() == {9}, name
    followed.says("page_size = 10")
    wait_until(lambda: followed.sizes() == {10})


def test_what_needs_a_restart_is_named_and_what_does_not_is_taken_over(followed):
    followed.says('page_size = 11\nthreads = 3\nmetrics_token = "of-an-operator-0123456789"')
    wait_until(lambda: followed.sizes() == {11})
    wait_until(lambda: followed.logged("settings have changed that need a restart: metrics_token, threads"))
    assert not followed.logged("of-an-operator")
    assert followed.service.call("GET", "/metrics")[0] == 404


def test_the_environment_wins(followed):
    followed.says("login_attempts = 5\npage_size = 12")
    wait_until(lambda: followed.sizes() == {12})
    assert followed.logged("settings.toml has them now: page_size") and not followed.logged("login_attempts")


def test_the_command_line_wins(instance):
    with following(instance, "--threads", "4") as followed:
        followed.says("threads = 5\npage_size = 13")
        wait_until(lambda: followed.sizes() == {13})
        assert not followed.logged("threads")


def test_a_hangup_that_changes_nothing_says_so(followed):
    followed.says("")
    wait_until(lambda: followed.logged("no setting has changed"))


def test_requests_are_logged_from_a_hangup_on(followed):
    followed.service.call("GET", "/api/health/live")
    followed.says("log_requests = true")

    def logged() -> list[str]:
        followed.service.call("GET", "/api/health/live")
        return followed.logged("GET /api/health/live")

    wait_until(logged)
    followed.says('log_requests = true\nlog_level = "error"')

    def silent() -> bool:
        before = len(followed.logged("GET "))
        followed.sizes()
        return len(followed.logged("GET ")) == before

    wait_until(silent)


def test_a_worker_that_replaces_another_has_what_the_others_have(instance):
    """Also if the file is broken now: the settings of the first process count."""
    with following(instance, "--workers", "2") as followed:
        followed.says("page_size = 14")
        wait_until(lambda: followed.sizes() == {14})
        followed.says("page_size = ")
        # by the first process and by both workers
        wait_until(lambda: len(followed.logged("the settings stay as they are")) == 3)
        for victim in children(followed.service.process.pid):
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda victim=victim: len(found := children(followed.service.process.pid)) == 2
                       and victim not in found)
        wait_until(lambda: _answered(followed, lambda: followed.sizes() == {14}))


def _answered(followed: Followed, ask: Callable[[], bool]) -> bool:
    try:
        return ask()
    except OSError:  # a worker that was killed had taken the connection
        return False


def test_a_process_that_runs_jobs_alone_follows_them_too(instance):
    (instance.folder / "settings.toml").unlink(missing_ok=True)
    worker = subprocess.Popen([*GATEPOST, "worker"], env=instance.environ(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    try:
        assert "Running jobs" in worker.stdout.readline()
        (instance.folder / "settings.toml").write_text("job_days = 3", "utf-8")
        worker.send_signal(signal.SIGHUP)
        assert "as settings.toml has them now: job_days" in worker.stderr.readline()
    finally:
        worker.terminate()
        worker.communicate(timeout=60)
