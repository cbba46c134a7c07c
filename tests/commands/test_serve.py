"""`gatepost serve` as a process: its start, requests, stop, and error messages."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from app import create_app
from gatepost.commands import server
from gatepost.commands.context import load_settings
from gatepost.commands.instance import database_of
from models.engine.connect import open_database
from tests.databases import new_database
from tests.incidents.load import Load, kept
from tests.running import Instance, Served


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Instance:
    """One database is enough, because these tests are about the server."""
    return Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()


@pytest.fixture(scope="module")
def service(instance) -> Iterator[Served]:
    """A server for all tests that leave it running."""
    with instance.served() as service:
        yield service


def raw(service: Served, message: bytes) -> bytes:
    """Returns the server's answers to these bytes until it closes the connection."""
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
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
        assert service.process.wait(timeout=60) == 0
        assert "Traceback" not in service.process.stderr.read()


@pytest.mark.slow
def test_ctrl_c_under_load_loses_no_request_that_was_begun(instance):
    """Every stored write was answered, and no answer is cut off, as after SIGTERM."""
    with instance.served() as service, Load(service, service.log_in()) as load:
        load.wait(40)
        service.process.send_signal(signal.SIGINT)
        assert service.process.wait(timeout=60) == 0
    assert (load.cut, load.others) == ([], [])
    with instance.served() as service:
        assert kept(service, service.log_in(), "load") == set(load.created)


@pytest.mark.slow
def test_an_idle_connection_does_not_hold_up_a_stop(instance):
    patient = replace(instance, environment={**instance.environment, "GATEPOST_DRAIN_TIMEOUT": "3600"})
    with patient.served() as service:
        where = urlsplit(service.url)
        with socket.create_connection((where.hostname, where.port)) as idle:
            idle.sendall(b"GET /api/health HTTP/1.1\r\nHost: x\r\n")
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(timeout=60) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "headers"),
    [
        ("length beside chunks", b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"),
        ("chunked twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ("chunked twice in one line", b"Transfer-Encoding: chunked, chunked\r\n"),
        ("two lengths", b"Content-Length: 4\r\nContent-Length: 5\r\n"),
    ],
)
def test_a_message_of_ambiguous_length_is_refused_and_the_connection_closed(service, case, headers):
    smuggled = b"0\r\n\r\nGET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = raw(service, b"POST /api/login HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + smuggled)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.slow
def test_the_server_does_not_name_its_software(service):
    answer = raw(service, b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nserver:" not in answer.lower()


def test_a_wrong_option_is_named(instance):
    done = instance.run("serve", "--port", "99999")
    assert done.returncode == 1
    assert "a whole number from 0 to 65535" in done.stderr


@pytest.mark.parametrize(("host", "proxies", "told"), [
    ("127.0.0.1", "1", False), ("0.0.0.0", "0", False), ("0.0.0.0", "1", True), ("::", "2", True)])
def test_a_start_says_when_a_client_can_pass_the_proxies_that_are_trusted(instance, host, proxies, told, monkeypatch):
    monkeypatch.setattr("gatepost.commands.server.serve_waitress", lambda app, **options: None)
    trusting = replace(instance, environment={**instance.environment, "GATEPOST_TRUSTED_PROXIES": proxies})
    done = trusting.run("serve", "--host", host)
    assert done.returncode == 0, done.stderr
    assert ("can claim any address" in done.stderr) == told


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


@pytest.mark.parametrize(("dialect", "threads"), [("sqlite", 20), ("postgres", 8)])
def test_a_worker_has_as_many_threads_as_can_have_a_connection(dialect, threads, tmp_path, request, monkeypatch):
    url = new_database(dialect, request, migrated=False)
    made = Instance(tmp_path / "instance", {"GATEPOST_DATABASE_URL": url, "GATEPOST_POOL_SIZE": "8"}).made()
    asked: dict[str, Any] = {}
    monkeypatch.setattr("gatepost.servers.granian.server.serve", lambda app, **options: asked.update(options))
    assert made.run("serve", "--workers", "2", "--threads", "20").returncode == 0
    assert (asked["workers"], asked["threads"]) == (2, threads)
    monkeypatch.setattr("gatepost.commands.server.serve_waitress", lambda app, **options: asked.update(options))
    assert made.run("serve", "--threads", "20").returncode == 0
    assert asked["threads"] == threads


@pytest.mark.parametrize(("dialect", "few"), [("sqlite", 10), ("postgres", 4)])
def test_half_of_the_threads_is_one_number(dialect, few, tmp_path, request, monkeypatch):
    """Limits the requests that wait for the database, send long answers or read large bodies."""
    url = new_database(dialect, request, migrated=False)
    made = Instance(tmp_path / "instance", {"GATEPOST_DATABASE_URL": url, "GATEPOST_POOL_SIZE": "8"}).made()
    opened: dict[str, Any] = {}

    def open_and_note(*arguments: Any, **options: Any) -> Any:
        opened.update(options)
        return open_database(*arguments, **options)

    monkeypatch.setattr("gatepost.assembly.open_database", open_and_note)
    app = create_app({"instance": made.folder, "database_url": url, "pool_size": 8, "threads": 20})
    services = app.extensions["gatepost"]
    services.stop()
    assert (opened["waiting"], services.long_answers.most, services.large_bodies.most) == (few, few, few)


@pytest.mark.parametrize("said", ["on", "off"])
def test_one_setting_rules_the_group_commit_out_for_requests_and_commands(said, instance):
    services = create_app({"instance": instance.folder, "group_commit": said}).extensions["gatepost"]
    services.stop()
    with database_of(load_settings(instance=instance.folder, group_commit=said)) as commands:
        assert [services.database.group_commit, commands.group_commit] == [said == "on"] * 2


def test_the_collector_leaves_alone_what_the_app_is_made_of(instance, monkeypatch):
    frozen = []

    def look(make_app, _settings, _place):
        make_app()
        frozen.append(gc.get_freeze_count())

    monkeypatch.setattr(server, "_one_process", look)
    try:
        assert instance.run("serve").returncode == 0
    finally:
        gc.unfreeze()
    assert frozen[0] > 10_000  # objects
