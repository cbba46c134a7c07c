"""More requests than the concurrency limit: they wait a little or get 503, and the liveness probe is answered.

One server refuses requests that have waited for half a second, another one those that have waited for ten minutes. The
first gets the requests to be refused, the second those to be answered, so that a busy machine makes no difference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests import running
from tests.running import Instance, Served, wait_until

pytestmark = pytest.mark.slow

SERVERS = {"waitress": (), "granian": ("--workers", "1")}
THREADS = 2

# The shipped server with another patience, and with /api/ping, which answers once a file exists.
STUCK = """
import os, pathlib, time, uuid
from gatepost.servers import admission
from gatepost.http.pipeline import stages

admission.PATIENCE = float(os.environ["PATIENCE"])

def note(call, announced, until=pathlib.Path(os.environ["STUCK_UNTIL"])):
    until.with_name(f"begun-{uuid.uuid4()}").touch()
    while not until.exists():
        time.sleep(0.02)

stages._announce = note
from gatepost_start.command import cli
cli()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Instance(tmp_path_factory.mktemp("made") / "instance").made().folder


@pytest.fixture(scope="module")
def until(made: Path) -> Path:
    """The file that /api/ping waits for."""
    return made.parent / "until"


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def serving(made: Path, until: Path, server: str, patience: float) -> Iterator[Served]:
    instance = Instance(made, {"GATEPOST_RATE_LIMITS": "off", "STUCK_UNTIL": str(until), "PATIENCE": str(patience)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "GATEPOST", [sys.executable, "-c", STUCK])
        with instance.served(*SERVERS[server], "--threads", str(THREADS)) as service:
            yield service


@pytest.fixture(scope="module")
def impatient(made: Path, until: Path, server: str) -> Iterator[Served]:
    with serving(made, until, server, 0.5) as service:
        yield service


@pytest.fixture(scope="module")
def patient(made: Path, until: Path, server: str) -> Iterator[Served]:
    with serving(made, until, server, 600.0) as service:
        yield service


def get(service: Served, path: str) -> tuple[int, Message, dict]:
    """Status, headers and JSON."""
    try:
        with urlopen(Request(service.url + path), timeout=60) as answer:
            return answer.status, answer.headers, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, error.headers, json.loads(error.read())


Ask = Callable[[str], Future]


@contextmanager
def stuck(service: Served, until: Path) -> Iterator[Ask]:
    """Occupies every thread with a request that does not end. Yields `ask(path)`, which sends another one."""
    until.unlink(missing_ok=True)
    for file in until.parent.glob("begun-*"):
        file.unlink()

    def ping() -> None:
        while get(service, "/api/ping")[0] != 200:  # refused on a busy machine
            pass

    with ThreadPoolExecutor(64) as pool:
        pings = [pool.submit(ping) for _ in range(THREADS)]
        try:
            wait_until(lambda: len(list(until.parent.glob("begun-*"))) == THREADS)
            yield lambda path: pool.submit(get, service, path)
        finally:
            until.touch()
        for each in pings:
            each.result()


def test_a_request_that_finds_every_place_taken_gets_503(impatient, until):
    service = impatient
    with stuck(service, until):
        status, headers, problem = get(service, "/api/v1/articles")
        assert (status, problem["code"], problem["instance"]) == (503, "overloaded", "/api/articles")
        assert headers["Content-Type"] == "application/problem+json"
        assert int(headers["Retry-After"]) >= 1
        assert headers["X-Request-ID"] == problem["request_id"]
        assert (headers["API-Version"], headers["X-Content-Type-Options"]) == ("1", "nosniff")
    wait_until(lambda: get(service, "/api/articles")[0] == 200)


def test_the_process_says_that_it_lives_while_every_place_is_taken_and_many_wait(impatient, until):
    with stuck(impatient, until) as ask:
        waiting = [ask("/api/articles") for _ in range(20)]
        assert {get(impatient, path)[0] for path in ("/api/health/live", "/api/v1/health/live") * 5} == {200}
        assert {each.result()[0] for each in waiting} == {503}


def test_a_request_that_waits_for_a_moment_is_answered(patient, until):
    with stuck(patient, until) as ask:
        waiting = [ask("/api/articles") for _ in range(10)]
        until.touch()
        assert {each.result()[0] for each in waiting} == {200}


def test_what_is_sent_at_once_by_many_is_read_whole(patient):
    message = json.dumps({"name": "N", "email": "n@example.org", "subject": "s", "body": "b" * 3000}).encode()

    def send(_: int) -> int:
        asked = Request(f"{patient.url}/api/contact", message, {"Content-Type": "application/json"})
        with urlopen(asked, timeout=60) as answer:
            return answer.status

    with ThreadPoolExecutor(40) as pool:
        assert set(pool.map(send, range(200))) == {202}
