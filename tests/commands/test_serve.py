"""`gatepost serve`, as a process: it starts, serves, stops, and says what is wrong."""

from __future__ import annotations

import http.client
import signal
import socket
import threading
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.running import Instance, Served


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Instance:
    """One database is enough here: what is tested is the server in front of it."""
    made = Instance(tmp_path_factory.mktemp("made") / "instance").made()
    assert made.run("demo", "--articles", "200").returncode == 0
    return made


def raw(service: Served, message: bytes) -> bytes:
    """Everything that the server answers to these bytes until it closes the connection."""
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        connection.sendall(message)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
        return answer


def test_it_serves_health_and_stops_on_sigterm_with_success(instance):
    with instance.served() as service:
        status, health = service.call("GET", "/api/health")
        assert (status, health["status"]) == (200, "ok")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=30) == 0
        assert "Traceback" not in service.process.stderr.read()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_stop_under_load_loses_no_request_that_was_begun(instance, stop):
    """Every write that the database holds was answered, and no answer is cut short."""
    with instance.served() as service:
        token = service.log_in()
        answered, broken, stopping = [], [], threading.Event()
        where = urlsplit(service.url)

        def write(worker: int) -> None:
            with closing(http.client.HTTPConnection(where.hostname, where.port, timeout=30)) as connection:
                try:
                    for number in range(100_000):
                        create(connection, f"{stop.name.lower()}-{worker}-{number}")
                except (http.client.RemoteDisconnected, ConnectionError):
                    pass  # refused before it was begun; the database tells below whether that is so
                except http.client.HTTPException as error:
                    broken.append(error)

        def create(connection: http.client.HTTPConnection, slug: str) -> None:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            body = f'{{"title": "Load", "slug": "{slug}", "body": "text"}}'
            connection.request("POST", "/api/articles", body, headers)
            answer = connection.getresponse()
            answer.read()
            answered.append((slug, answer.status))
            if len(answered) > 40:
                stopping.set()

        workers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for worker in workers:
            worker.start()
        assert stopping.wait(timeout=60)
        service.process.send_signal(stop)
        for worker in workers:
            worker.join(timeout=60)
        assert service.process.wait(timeout=60) == 0
    assert broken == []
    # Writes beyond a minute's limit are refused, and that is an answer too.
    created = {slug for slug, status in answered if status == 201}
    assert {status for _, status in answered} <= {201, 429}
    with instance.served() as service:
        token, kept, cursor = service.log_in(), set(), ""
        while cursor is not None:
            status, page = service.call("GET", f"/api/articles?limit=100&fields=slug&title=Load{cursor}", token=token)
            assert status == 200, page
            kept |= {row["slug"] for row in page["items"] if row["slug"].startswith(stop.name.lower())}
            cursor = f"&cursor={page['next_cursor']}" if page["has_next"] else None
    assert kept == created


def test_an_idle_connection_does_not_hold_up_a_stop(instance):
    with instance.served() as service:
        where = urlsplit(service.url)
        with socket.create_connection((where.hostname, where.port)) as idle:
            idle.sendall(b"GET /api/health HTTP/1.1\r\nHost: x\r\n")
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("case", "headers"),
    [
        ("length beside chunks", b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"),
        ("chunked twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ("chunked twice in one line", b"Transfer-Encoding: chunked, chunked\r\n"),
        ("two lengths", b"Content-Length: 4\r\nContent-Length: 5\r\n"),
    ],
)
def test_a_message_of_ambiguous_length_is_refused_and_the_connection_closed(instance, case, headers):
    with instance.served() as service:
        smuggled = b"0\r\n\r\nGET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
        answer = raw(service, b"POST /api/login HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + smuggled)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1


def test_the_server_does_not_name_its_software(instance):
    with instance.served() as service:
        answer = raw(service, b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"\r\nserver:" not in answer.lower()


def test_a_port_in_use_is_said_in_a_sentence(instance):
    with instance.served() as service:
        done = instance.run("serve", "--port", str(urlsplit(service.url).port))
        assert done.returncode == 1
        assert "Cannot listen on 127.0.0.1:" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_wrong_option_is_named(instance):
    done = instance.run("serve", "--port", "99999")
    assert done.returncode == 1
    assert "a whole number from 0 to 65535" in done.stderr


def test_keys_that_others_can_read_stop_the_start(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    (instance.folder / "secret.key").chmod(0o644)
    done = instance.run("serve")
    assert done.returncode == 1
    assert "chmod 600" in done.stderr
    assert instance.run("doctor").returncode == 1


def test_the_openapi_command_prints_the_description(instance):
    done = instance.run("openapi")
    assert done.returncode == 0, done.stderr
    assert '"openapi": "3.1' in done.stdout
    assert '"openapi": "3.0' in instance.run("openapi", "--openapi-version", "3.0").stdout


def test_migrate_has_nothing_to_do_on_a_new_instance(instance):
    for arguments in (("migrate", "--check"), ("migrate",)):
        done = instance.run(*arguments)
        assert (done.returncode, done.stdout) == (0, "Nothing to do.\n")
