"""Both servers, as processes: they stop without losing a request, survive a kill, and follow signals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.databases import new_database
from tests.incidents.load import SERVERS, Load, kept
from tests.running import GATEPOST, Instance, Served, wait_until

pytestmark = pytest.mark.slow

WRITES = 60  # acknowledged writes before a stop or a kill


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def instance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance without limits, because the tests send many requests."""
    environment = {"GATEPOST_RATE_LIMITS": "off"}
    if request.param == "postgres":
        environment["GATEPOST_DATABASE_URL"] = new_database("postgres", request, migrated=False)
    return Instance(tmp_path_factory.mktemp("made") / "instance", environment).made()


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return request.param


def children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text("ascii")
    return [int(each) for each in text.split()]


def test_a_stop_under_load_loses_no_request_whose_handler_started(instance, server):
    """Every stored write was answered, and no answer is cut off."""
    name = f"stop-{server}"
    with instance.served(*SERVERS[server]) as service, Load(service, service.log_in(), name=name) as load:
        load.wait(WRITES)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=60) == 0
    assert (load.cut, load.others) == ([], [])
    exported = map(json.loads, instance.run("export", "articles").stdout.splitlines())
    assert {row["slug"] for row in exported if row["slug"].startswith(f"{name}-")} == set(load.created)


def test_a_killed_server_starts_again_and_keeps_what_it_acknowledged(instance, server):
    """`make bench-kill` repeats this many times."""
    name = f"kill-{server}"
    with instance.served(*SERVERS[server]) as service, Load(service, service.log_in(), name=name) as load:
        load.wait(WRITES)
        service.process.kill()
    with instance.served(*SERVERS[server]) as service:
        assert service.call("GET", "/api/health")[0] == 200
        assert set(load.created) <= kept(service, service.log_in(), name)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """One database is enough, because these tests are about the server."""
    return Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()


@pytest.fixture(scope="module")
def service(local: Instance, server: str) -> Iterator[Served]:
    """Each server in turn, for all tests that leave it running."""
    with local.served(*SERVERS[server]) as service:
        yield service


def test_a_hangup_makes_every_process_look_at_the_policy(local, server, service):
    token = service.log_in()

    def version() -> str:
        return service.call("GET", "/api/health", token=token)[1]["policy_version"]

    before = version()
    file = local.folder / "policies" / "articles.csv"
    text = file.read_text("utf-8")
    file.write_text(text.replace("# end", f"# {server}\n# end"), "utf-8")
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: all(version() != before for _ in range(8)))
    assert service.process.poll() is None


def test_a_worker_that_is_killed_is_replaced(local):
    with local.served("--workers", "2") as service:
        pid = service.process.pid
        wait_until(lambda: len(children(pid)) == 2)
        victim = children(pid)[0]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(children(pid)) == 2 and victim not in children(pid))
        assert {service.call("GET", "/api/health/live")[0] for _ in range(10)} == {200}


def test_no_signal_interrupts_what_granian_is_doing(local):
    """Nor is a signal lost in a new fork: the first thread leaves all signals to another one."""
    with local.served("--workers", "2") as service:
        for process in (service.process.pid, *children(service.process.pid)):
            held = re.search(r"^SigBlk:\s*(\w+)$", Path(f"/proc/{process}/status").read_text("ascii"), re.MULTILINE)
            for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                assert int(held[1], 16) & 1 << each - 1, each.name


BEGUN = b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-"
BEGUN_BODY = BEGUN + b"Type: application/json\r\nContent-Length: 60\r\n\r\n{"


def drip(service: Served, sent: bytes) -> socket.socket:
    """A connection that has begun a request and sends no more."""
    where = urlsplit(service.url)
    connection = socket.create_connection((where.hostname, where.port), timeout=60)
    connection.sendall(sent)
    return connection


def answer_to(connection: socket.socket) -> tuple[int, dict[str, str]]:
    """Reads the next answer. Returns status and headers (lower case)."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


REFUSED = (b"POST /api/articles/import HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
           b"Content-Length: 30000000\r\n\r\n")


@pytest.fixture(scope="module")
def one_worker(local: Instance) -> Iterator[Served]:
    with local.served("--workers", "1") as service:
        yield service


@pytest.mark.parametrize("head", [REFUSED, REFUSED.replace(b"Content-Length: 30000000", b"Transfer-Encoding: chunked")],
                         ids=["length", "chunks"])
def test_a_body_that_is_not_needed_is_not_waited_for_and_the_connection_ends(one_worker, head):
    """The import has no credentials, so the service needs none of its 30 MB. waitress has its own tests."""
    with drip(one_worker, head) as connection:
        status, headers = answer_to(connection)
        assert (status, headers["connection"]) == (401, "close")
        assert connection.recv(1) == b""


def test_a_connection_whose_bodies_are_read_is_kept(service):
    whole = (b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             b"Content-Length: 2\r\n\r\n{}",
             b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    with drip(service, b"") as connection:
        for sent in whole * 2:
            connection.sendall(sent)
            status, headers = answer_to(connection)
            assert (status, headers.get("connection")) == (400, None)


def test_two_hundred_conditional_requests_use_one_connection(service):
    where, token = urlsplit(service.url), {"Authorization": f"Bearer {service.log_in()}"}
    with closing(HTTPConnection(where.hostname, where.port, timeout=60)) as connection:
        connection.connect()
        connection.auto_open = 0  # a second connection is an error
        for method, path, sent, status in 200 * (("GET", "/api/articles", {"If-None-Match": "*"}, 304),
                                                 ("OPTIONS", "/api/articles", {}, 204),
                                                 ("HEAD", "/api/articles/export", token, 200)):
            connection.request(method, path, headers=sent)
            with closing(connection.getresponse()) as answer:
                assert (answer.status, answer.read(), answer.getheader("Connection")) == (status, b"", None)


def test_streams_do_not_end_their_connection(service):
    where, token = urlsplit(service.url), {"Authorization": f"Bearer {service.log_in()}"}
    with closing(HTTPConnection(where.hostname, where.port, timeout=60)) as connection:
        connection.connect()
        connection.auto_open = 0
        for _ in range(20):
            connection.request("GET", "/api/users/export", headers=token)
            with closing(connection.getresponse()) as answer:
                found = (answer.status, answer.getheader("Transfer-Encoding"), answer.getheader("Connection"))
                assert found == (200, "chunked", None) and answer.read().endswith(b"}\n")


@pytest.mark.parametrize("sent", [BEGUN, BEGUN_BODY], ids=["headers", "bodies"])
def test_two_hundred_dripping_connections_do_not_shut_out_an_honest_client(service, sent):
    with ExitStack() as dripping:
        for _ in range(200):
            dripping.enter_context(drip(service, sent))
        for _ in range(20):
            assert service.call("GET", "/api/health/live")[0] == 200


def test_a_path_that_makes_no_sense_is_the_clients_error(service):
    for path in ("/api/articles/%ff", "/api/%ff", "/api/articles?title=%ff", "/%00", "/api//articles"):
        status, problem = service.call("GET", path)
        assert (status, problem["status"]) in ((400, 400), (404, 404)), path


# granian checks its limit only between two reads.
HEADERS = {"waitress": (65_534, 65_535, 65_536), "granian": (65_535, 65_536, 200_000)}


def status_line(service: Served, size: int) -> bytes:
    """Returns the status line for a request whose line and headers have `size` bytes; b"" if it is cut off."""
    where = urlsplit(service.url)
    head = b"GET /api/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Padding: "
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection, suppress(ConnectionError):
        connection.sendall(head.ljust(size - 4, b"x") + b"\r\n\r\n")
        return connection.recv(64).partition(b"\r\n")[0]
    return b""


def test_headers_have_a_largest_size(server, service):
    *within, beyond = HEADERS[server]
    for size in within:
        assert status_line(service, size) == b"HTTP/1.1 200 OK"
    assert status_line(service, beyond)[9:] in (b"431 Request Header Fields Too Large", b"")


def test_a_port_in_use_is_said_in_a_sentence(local, server, service):
    done = local.run("serve", *SERVERS[server], "--port", str(urlsplit(service.url).port))
    assert done.returncode == 1
    assert "Cannot listen on 127.0.0.1:" in done.stderr
    assert "Traceback" not in done.stderr


def used_port() -> int:
    """A port whose last server has just closed a connection, which is in TIME_WAIT."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            listener.accept()[0].close()
            assert client.recv(1) == b""
    return port


def test_a_server_follows_another_on_its_port_at_once(local, server):
    with local.served(*SERVERS[server], "--port", str(used_port())) as service:
        assert service.call("GET", "/api/health/live")[0] == 200


def test_a_port_is_refused_on_which_nothing_but_a_foreign_server_listens(local, server):
    """Also if the foreign server would share the port."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as foreign:
        done = local.run("serve", *SERVERS[server], "--port", str(foreign.getsockname()[1]))
    assert (done.returncode, "Cannot listen on 127.0.0.1:" in done.stderr) == (1, True)


def test_a_stop_while_the_workers_still_start_does_not_wait_for_a_timeout(local):
    patient = Instance(local.folder, {**local.environment, "GATEPOST_DRAIN_TIMEOUT": "3600"})
    with patient.served("--workers", "4") as service:
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=300) == 0


def test_ctrl_c_in_a_terminal_ends_the_service_without_a_word_of_errors(local, server):
    """A terminal signals all processes of a group, and the workers must not end before the first process ends them."""
    command = [sys.executable, *GATEPOST[1:], "serve", "--port", "0", *SERVERS[server]]
    with subprocess.Popen(command, env=local.environ(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          process_group=0) as process:
        assert process.stdout.readline().startswith("Console: http://")
        assert process.stdout.readline().startswith("Serving on")
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0
    assert output == "" and "error" not in errors.lower() and "panicked" not in errors


def test_without_the_extra_several_workers_are_refused_in_a_sentence(local, monkeypatch):
    for module in ("granian", "gatepost.servers.granian.server"):
        monkeypatch.setitem(sys.modules, module, None)
    done = local.run("serve", "--workers", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install granian" in done.stderr


def test_one_worker_that_is_asked_for_is_granian_too(one_worker):
    with urlopen(f"{one_worker.url}/api/health/live", timeout=60) as answer:
        assert answer.headers["Server"] == "granian"
