"""Both servers under a supervisor: sockets that it holds, notifications, restarts that lose no request."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gatepost.servers.activation import HeldSocketError, held_sockets
from settings import SettingError
from settings.supervisor import Supervisor, take_supervisor
from tests import running
from tests.incidents import restarts
from tests.incidents.load import SERVERS
from tests.incidents.restarts import SOCKETS, held, made, restart, serving, start
from tests.running import Instance

PID = str(os.getpid())

# The shipped server with a long grace period, because a client on a busy machine may be late.
PATIENT = """
from gatepost.servers import activation
activation.GRACE = 60.0
from gatepost_start.command import cli
cli()
"""


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (running, restarts):
            patch.setattr(module, "GATEPOST", [sys.executable, "-c", PATIENT])
        yield


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return made(tmp_path_factory.mktemp("made") / "instance")


# The supervisor's variables


@pytest.mark.parametrize(("said", "taken"), [
    ({}, Supervisor()),
    ({"LISTEN_PID": PID, "LISTEN_FDS": "2"}, Supervisor(sockets=(3, 4))),
    ({"LISTEN_PID": PID, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "http"}, Supervisor(sockets=(3,))),
    ({"LISTEN_PID": "1", "LISTEN_FDS": "1"}, Supervisor()),  # meant for another process
    ({"LISTEN_FDS": "1"}, Supervisor()),
    ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000"}, Supervisor(notify="@x", watchdog=3.0)),
    ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, Supervisor())])
def test_what_a_supervisor_says_is_taken_out_of_the_environment(said, taken):
    environ = {**said, "PATH": "/bin"}
    assert take_supervisor(environ) == taken
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize(("said", "sentence"), [
    ({"LISTEN_PID": PID, "LISTEN_FDS": "abc"}, "LISTEN_FDS: 'abc' is not allowed"),
    ({"LISTEN_PID": PID, "LISTEN_FDS": "0"}, "LISTEN_FDS: '0' is not allowed"),
    ({"LISTEN_PID": PID, "LISTEN_FDS": "9" * 30}, "LISTEN_FDS: "),
    ({"LISTEN_PID": "x", "LISTEN_FDS": "1"}, "LISTEN_PID: 'x' is not allowed"),
    ({"LISTEN_PID": PID, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "ssh"}, "FileDescriptorName=http"),
    ({"LISTEN_PID": PID, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http"}, "LISTEN_FDNAMES: 2 sockets are given"),
    ({"NOTIFY_SOCKET": "vsock:2:1"}, "NOTIFY_SOCKET: 'vsock:2:1' is neither"),
    ({"WATCHDOG_USEC": "-1"}, "WATCHDOG_USEC: '-1' is not allowed")])
def test_what_makes_no_sense_is_refused(said, sentence):
    with pytest.raises(SettingError, match=re.escape(sentence)):
        take_supervisor(said)


def test_what_is_no_socket_to_serve_is_refused(tmp_path):
    with ExitStack() as stack:
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(tmp_path / "socket"))
        unix.listen()
        deaf = stack.enter_context(socket.socket())
        datagrams = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        file = stack.enter_context(open(tmp_path / "file", "w"))
        for each in (unix, deaf, datagrams):
            with pytest.raises(HeldSocketError, match="no TCP socket that listens"):
                held_sockets([each.fileno()], workers=0)
        for number in (file.fileno(), 10**6):
            with pytest.raises(HeldSocketError, match="is no socket"):
                held_sockets([number], workers=0)


@pytest.mark.parametrize(("count", "workers"), [(2, 0), (1, 2), (3, 2)])
def test_each_process_has_one_socket(count, workers):
    """A socket that several workers share gives all connections to one of them."""
    with held(count) as sockets, pytest.raises(HeldSocketError, match=f"holds {count} socket"):
        held_sockets([each.fileno() for each in sockets], workers)


def test_the_sockets_of_all_workers_have_one_address():
    with held(1) as first, held(1) as second, pytest.raises(HeldSocketError, match="several addresses"):
        held_sockets([each.fileno() for each in (*first, *second)], workers=2)


@pytest.mark.slow
def test_a_wrong_socket_ends_the_start_with_a_sentence(instance):
    with held(2) as sockets:
        process = start(instance, sockets)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "ListenStream=" in said and "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_a_held_socket_counts_more_than_host_and_port_and_no_child_inherits_it(instance, server):
    with held(SOCKETS[server]) as sockets, serving(instance, sockets, *SERVERS[server], "--port", "1") as service:
        assert service.url.endswith(f":{sockets[0].getsockname()[1]}")
        assert service.call("GET", "/api/health/live")[0] == 200
        environ = Path(f"/proc/{service.process.pid}/fdinfo/3").read_text("ascii")
        flags = int(re.search(r"^flags:\s*(\w+)", environ, re.MULTILINE)[1], 8)
        assert flags & os.O_CLOEXEC


# Notifications


@contextmanager
def told(name: str) -> Iterator[socket.socket]:
    """A supervisor's socket: `@…` for an abstract one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        connection.bind(name.replace("@", "\0"))
        connection.settimeout(60)
        yield connection


@pytest.mark.slow
@pytest.mark.parametrize(("server", "abstract"), [("waitress", True), ("granian", False)])
def test_a_supervisor_is_told_of_the_start_of_life_and_of_the_stop(instance, tmp_path, server, abstract):
    name = f"@{tmp_path}" if abstract else str(tmp_path / "notify")
    with told(name) as supervisor, held(SOCKETS[server]) as sockets:
        with serving(instance, sockets, *SERVERS[server], NOTIFY_SOCKET=name, WATCHDOG_USEC="200000") as service:
            assert supervisor.recv(999).decode().split("\n") == ["READY=1", f"STATUS=Serving on {service.url}."]
            for _ in range(3):
                assert supervisor.recv(999) == b"WATCHDOG=1"
        heard = b""
        while not heard.startswith(b"STOPPING=1\n"):
            heard = supervisor.recv(999)


@pytest.mark.slow
def test_a_worker_that_stands_still_gives_no_sign_of_life(instance, tmp_path):
    name = str(tmp_path / "notify")
    with told(name) as supervisor, held(2) as sockets, serving(
            instance, sockets, "--workers", "2", NOTIFY_SOCKET=name, WATCHDOG_USEC="200000") as service:
        worker = int(Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()[0])
        os.kill(worker, signal.SIGSTOP)
        try:
            supervisor.settimeout(1)  # notifications continue for two seconds after a worker's last heartbeat
            with pytest.raises(TimeoutError):
                while True:
                    supervisor.recv(999)
        finally:
            os.kill(worker, signal.SIGCONT)
        supervisor.settimeout(60)
        assert supervisor.recv(999) == b"WATCHDOG=1"


@pytest.mark.slow
def test_a_supervisor_that_is_gone_does_not_stop_the_service(instance, tmp_path):
    with held(1) as sockets, serving(instance, sockets, NOTIFY_SOCKET=str(tmp_path / "nobody")) as service:
        assert service.call("GET", "/api/health/live")[0] == 200


# A stop


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("sockets", ["held", "own"])
def test_a_connection_that_is_kept_gets_an_answer_after_the_stop_and_is_told_to_close(instance, server, sockets):
    with ExitStack() as stack:
        if sockets == "held":
            given = stack.enter_context(held(SOCKETS[server]))
            service = stack.enter_context(serving(instance, given, *SERVERS[server]))
        else:
            service = stack.enter_context(instance.served(*SERVERS[server]))
        host, port = service.url.removeprefix("http://").split(":")
        with closing(HTTPConnection(host, int(port), timeout=60)) as connection:
            connection.request("GET", "/api/health/live")
            answer = connection.getresponse()
            answer.read()
            assert answer.getheader("Connection") is None
            service.process.send_signal(signal.SIGTERM)
            asked = 0
            while answer.getheader("Connection") is None:
                connection.request("GET", "/api/health/live")
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200
                asked += 1
            assert (answer.getheader("Connection"), asked > 0) == ("close", True)
            assert service.process.wait(timeout=60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_restarts_under_load_fail_no_request(instance, server):
    """`make restarts` repeats this twenty times."""
    seen = restart(instance, server, times=2, between=0.2)
    assert seen.failures == []
    assert seen.created
