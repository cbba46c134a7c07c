"""A server that dies between a commit and its answer: a client that repeats the request gets the answer."""

from __future__ import annotations

import http.client
import json
import signal
import sys
import urllib.request

import pytest

from tests import running
from tests.databases import new_database

pytestmark = pytest.mark.slow

BODY = {"title": "Survives", "slug": "survives", "body": "Written once."}


@pytest.fixture(params=["sqlite", "postgres"])
def instance(request, tmp_path):
    environment = {} if request.param == "sqlite" else {
        "GATEPOST_DATABASE_URL": new_database("postgres", request, migrated=False)}
    return running.Instance(tmp_path / "instance", environment).made()


def create(served, token):
    """Status and bytes of the one request of this test."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}", "Idempotency-Key": "the-key"}
    request = urllib.request.Request(f"{served.url}/api/articles", json.dumps(BODY).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.read()


@pytest.mark.slow
def test_the_answer_to_what_was_committed_is_there_after_a_kill(instance, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(running, "GATEPOST", [sys.executable, "-m", "tests.http.writing.dying"])
        with instance.served() as served:
            token = served.log_in()
            with pytest.raises((http.client.HTTPException, OSError)):
                create(served, token)
            assert served.process.wait(60) == -signal.SIGKILL
    with instance.served() as served:
        status, first = create(served, token)
        assert (status, json.loads(first)["version"]) == (201, 1)
        assert create(served, token) == (201, first)
        found = served.call("GET", "/api/articles?slug=survives", token=token)[1]["items"]
        assert found == [json.loads(first)]
