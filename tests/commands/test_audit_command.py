"""`gatepost audit`: an operator reads the audit log, exports it, and verifies it."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from tests.running import Instance


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    """An instance whose audit log has a login, a write and a refusal."""
    made = Instance(tmp_path_factory.mktemp("audited") / "instance").made()
    with made.answering() as served:
        token = served.log_in()
        assert served.call("POST", "/api/articles", {"title": "T", "slug": "t", "body": "b"}, token)[0] == 201
        assert served.call("GET", "/api/profile")[0] == 401
    return made


def test_a_graceful_stop_stores_and_seals_what_was_waiting(instance):
    shown = instance.run("audit", "verify")
    assert shown.returncode == 0
    assert shown.stdout.startswith("3 events are proved, 0 are too new to have a seal")


def test_tail_shows_the_newest_rows_the_last_one_last(instance):
    lines = instance.run("audit", "tail").stdout.splitlines()
    assert [line.split("  ")[1].strip() for line in lines] == ["allowed", "allowed", "refused"]
    assert "session.create" in lines[0] and "article.create" in lines[1] and "[unauthenticated]" in lines[2]
    assert instance.run("audit", "tail", "-n", "1").stdout.splitlines() == lines[-1:]


def test_export_writes_every_column_of_every_row(instance):
    rows = [json.loads(line) for line in instance.run("audit", "export").stdout.splitlines()]
    assert [(row["resource"], row["action"], row["result"]) for row in rows] == [
        ("session", "create", "allowed"), ("article", "create", "allowed"), ("profile", "view", "refused")]
    assert rows[1]["rule"] and rows[1]["seq"] > rows[0]["seq"]
    since = instance.run("audit", "export", "--since", rows[2]["time"]).stdout.splitlines()
    assert [json.loads(line)["id"] for line in since] == [
        row["id"] for row in rows if row["time"] >= rows[2]["time"]]


@pytest.mark.parametrize("arguments", [
    ("export", "--since", "yesterday"), ("tail", "--tenant", "nobody"), ("tail", "-n", "0")])
def test_what_cannot_be_meant_is_said_in_a_sentence(arguments, instance):
    done = instance.run("audit", *arguments)
    assert done.returncode != 0 and "Error" in done.stderr and "Traceback" not in done.stderr


def test_heads_are_exported_and_must_be_there_later(instance, tmp_path):
    heads = tmp_path / "heads.txt"
    heads.write_text(instance.run("audit", "export", "--heads").stdout)
    assert instance.run("audit", "verify", "--heads", str(heads)).returncode == 0
    heads.write_text(heads.read_text() + "9999 0123456789ab:00\n")
    found = instance.run("audit", "verify", "--heads", str(heads))
    assert found.returncode == 1 and "seal 9999, which was exported, is gone" in found.stdout
    heads.write_text("rubbish")
    assert "not a list of heads" in instance.run("audit", "verify", "--heads", str(heads)).stderr


@pytest.mark.parametrize(("command", "action"), [
    (("add", "ada@example.org"), "create"), (("password", "ada@example.org"), "password"),
    (("disable", "ada@example.org"), "disable"), (("enable", "ada@example.org"), "enable")])
def test_what_an_operator_does_is_recorded_too(command, action, instance):
    done = instance.run("user", *command)
    assert done.returncode == 0, done.stderr
    assert f"operator (operator) from -: user.{action} " in instance.run("audit", "tail", "-n", "1").stdout


@pytest.fixture
def looked_at(instance):
    """The instance after a read of the audit log over HTTP, and an export of articles in both ways."""
    with instance.answering() as served:
        token = served.log_in()
        assert served.call("GET", "/api/audit", token=token)[0] == 200
    assert instance.run("export", "articles", "-").returncode == 0
    return instance


def test_what_follows_the_trail_leaves_out_looks_at_it(looked_at, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    assert "audit.view" in looked_at.run("audit", "tail").stdout
    # The module, not the command of the same name that its package holds.
    monkeypatch.setattr(sys.modules["blueprints.audit.commands"], "time", SimpleNamespace(sleep=interrupt))
    followed = looked_at.run("audit", "tail", "-f").stdout
    assert "session.create" in followed and "audit.view" not in followed


def test_an_operators_export_is_recorded_with_its_number_of_rows(looked_at):
    row = json.loads(looked_at.run("audit", "export").stdout.splitlines()[-1])
    assert (row["principal"], row["resource"], row["action"], row["result"]) == (
        "operator", "article", "export", "allowed")
    assert row["facts"] == {"filters": {}, "count": 1}
    assert looked_at.run("audit", "tail", "-n", "1").stdout.endswith('article.export  {"filters":{},"count":1}\n')
