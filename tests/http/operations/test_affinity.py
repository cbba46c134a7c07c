"""The cores of a server's threads: each process handles requests on one core, and hashes passwords on all."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gatepost.http.operations import affinity
from tests.incidents.load import SERVERS
from tests.running import Instance, Served

ALL = len(os.sched_getaffinity(0))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(ALL < 2, reason="there is one core only")]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return request.param


def instance(folder: Path, **environment: str) -> Instance:
    return Instance(folder / "instance", {"GATEPOST_RATE_LIMITS": "off", **environment}).made()


def cores(service: Served) -> set[int]:
    """Returns the numbers of cores that the threads of a server and its workers may use."""
    leader = service.process.pid
    workers = Path(f"/proc/{leader}/task/{leader}/children").read_text("ascii").split()
    return {len(os.sched_getaffinity(int(thread.name))) for process in (str(leader), *workers)
            for thread in Path(f"/proc/{process}/task").iterdir()}


def test_a_thread_that_answers_has_one_core_and_one_that_hashes_has_all(tmp_path, server):
    with instance(tmp_path).served(*SERVERS[server]) as service:
        service.log_in()
        assert cores(service) == {1, ALL}


def test_a_thread_is_bound_once_and_not_at_each_request(monkeypatch):
    bindings: list[object] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: bindings.append(cores))
    application = affinity.OneCore(lambda environ, start_response: [], number=0)
    with ThreadPoolExecutor(1) as thread:
        for _ in range(3):
            thread.submit(application, {}, lambda *arguments: lambda data: None).result()
    assert len(bindings) == 1


def test_a_sandbox_that_refuses_it_stops_neither_server_nor_logins(monkeypatch):
    def refuse(process: int, cores: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    affinity.keep(1)
    affinity.roam()


def test_by_setting_every_thread_has_all_cores(tmp_path, server):
    with instance(tmp_path, GATEPOST_ONE_CORE="off").served(*SERVERS[server]) as service:
        service.log_in()
        assert cores(service) == {ALL}


def test_a_command_that_ends_leaves_its_thread_as_it_was(tmp_path):
    with instance(tmp_path).served() as service:
        port = service.url.rpartition(":")[2]
        assert Instance(tmp_path / "instance").run("serve", "--port", port).returncode != 0
    assert len(os.sched_getaffinity(0)) == ALL
