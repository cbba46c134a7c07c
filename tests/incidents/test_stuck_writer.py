"""Another process keeps the write lock of SQLite: readers do not notice it, and writers soon get 503."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest

from tests.databases import turn_held
from tests.running import Instance, Served

pytestmark = pytest.mark.slow

THREADS = 4


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return Instance(tmp_path_factory.mktemp("stuck") / "instance", {"GATEPOST_THREADS": str(THREADS)}).made()


def post(server: Served, token: str, slug: str, **headers: str) -> tuple[int, str | None, Mapping[str, str]]:
    """Status, code of the problem and headers of a new article."""
    request = urllib.request.Request(
        f"{server.url}/api/articles", json.dumps({"title": "t", "slug": slug, "body": "b"}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token}", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, None, answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())["code"], error.headers


def test_half_of_the_threads_wait_while_others_are_refused_and_readers_are_answered(instance: Instance) -> None:
    with instance.served() as server, ThreadPoolExecutor(THREADS) as clients:
        token = server.log_in()
        with turn_held(instance.folder / "gatepost.db"):
            sent = [clients.submit(post, server, token, f"sent-{number}", **{"Idempotency-Key": f"key-{number}"})
                    for number in range(THREADS // 2 + 1)]
            refused = next(as_completed(sent, timeout=60))
            status, code, headers = refused.result()
            assert (status, code) == (503, "overloaded")
            assert 1 <= int(headers["Retry-After"]) <= 5
            for _ in range(20):
                assert server.call("GET", "/api/articles", token=token)[0] == 200
        assert "overloaded" not in [one.result()[1] for one in sent if one is not refused]
        number = sent.index(refused)
        again = post(server, token, f"sent-{number}", **{"Idempotency-Key": f"key-{number}"})
        assert (again[0], "Idempotency-Replayed" in again[2]) == (201, False)


def test_a_writer_that_has_waited_for_the_whole_time_gets_503_and_retry_after(instance: Instance) -> None:
    with instance.served() as server:
        token = server.log_in()
        with turn_held(instance.folder / "gatepost.db"):
            status, code, headers = post(server, token, "too-late")
        assert (status, code) == (503, "unavailable")
        assert int(headers["Retry-After"]) >= 1
        assert post(server, token, "too-late")[0] == 201
