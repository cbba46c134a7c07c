"""`gatepost policy unused`, after requests, after a kill, and after a stop of the service."""

from __future__ import annotations

import json
import signal

import pytest

from blueprints.access_review import commands
from models.base import later
from tests.running import wait_until


def asked(instance, *options: str) -> dict:
    done = instance.run("policy", "unused", "--json", *options)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


def not_seen(instance) -> set[str]:
    return {line["text"] for line in asked(instance)["not_seen"]}


PUBLIC, OF_ADMIN = "p, guest, category.view, always, allow", "p, admin, *, always, allow"
HEALTH = "p, guest, health.view, always, allow"


@pytest.mark.slow
def test_what_a_process_has_stored_counts_and_what_is_lost_when_it_is_killed_is_said(instance, monkeypatch):
    first = asked(instance)
    assert (first["gaps"], first["lines"]) == ([
        "Nothing was counted since then: the service did not run, or could not store its counts."], 85)
    with instance.served() as server:
        token = server.log_in()
        server.call("POST", "/api/categories", {"name": "News", "slug": "news"}, token)
        assert server.call("GET", "/api/categories")[1]["items"]
        wait_until(lambda: PUBLIC not in not_seen(instance), every=1)  # a flush
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
    assert OF_ADMIN not in not_seen(instance)
    with instance.served() as server:
        assert server.call("GET", "/api/health")[0] == 200
    assert HEALTH not in not_seen(instance), "a process that ends stores the rest"
    monkeypatch.setattr(commands, "now", lambda: later(120))
    (lost,) = [gap for gap in asked(instance)["gaps"] if "killed" in gap]
    assert lost.startswith("A process that began at ") and lost.endswith(" are missing.")


def test_it_says_how_each_is_proved_and_ends_with_what_is_not_counted(instance):
    done = instance.run("policy", "unused", "--days", "7")
    assert done.returncode == 1
    assert "Not used, and proved for the audit log: " in done.stdout
    assert "Permissions that nobody used" in done.stdout
    assert "For lists, one page per second is counted" in done.stdout


def test_a_window_longer_than_counts_are_kept_is_refused(instance):
    assert instance.run("policy", "unused", "--days", "401").returncode == 2
