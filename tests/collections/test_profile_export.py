"""`GET /api/profile/export`: all data of the caller, and none of other users."""

from __future__ import annotations

import json

import pytest

from gatepost.http.request.call import Services
from models.base import new_id
from models.tables.audit import Audit, add
from models.tables.contact import ContactMessage


@pytest.fixture
def ann(given):
    return given.user("editor", name="Ann", department="press")


@pytest.fixture
def nobody_sees_private_fields(app, instance_folder):
    """Removes the rule by which users see their own hidden fields."""
    file, watcher = instance_folder / "policies/users.csv", app.extensions["gatepost"].policy
    before = file.read_text(encoding="utf-8")
    line = next(line for line in before.splitlines(True) if line.startswith("p, user,  user.view_private"))
    file.write_text(before.replace(line, ""), encoding="utf-8")
    assert watcher.reload().error is None
    yield
    file.write_text(before, encoding="utf-8")
    watcher.reload()


def exported(caller):
    answer = caller.get("/api/profile/export")
    assert answer.status_code == 200, answer.get_json()
    lines = [json.loads(line) for line in answer.data.splitlines()]
    assert lines[-1] == {"about": "end", "rows": len(lines) - 1}
    return lines[:-1]


def about(lines, kind):
    return [line["row"] for line in lines if line["about"] == kind]


@pytest.mark.both_databases
def test_it_has_what_is_the_callers_and_nothing_of_others(app, given, as_user, ann):
    other = given.user("editor")
    mine, theirs = given.article(owner_id=ann.id), given.article(owner_id=other.id)
    given.order(owner_id=ann.id, note="Mine")
    for owner in (ann, other):
        given.comment(owner_id=owner.id)
    lines = exported(as_user(ann))
    assert about(lines, "users")[0] | {"email": ann.email, "department": "press"} == about(lines, "users")[0]
    assert [row["id"] for row in about(lines, "articles")] == [mine.id]
    assert [row["note"] for row in about(lines, "orders")] == ["Mine"]
    assert len(about(lines, "comments")) == len(about(lines, "sessions")) == 1
    assert other.id not in json.dumps(lines) and theirs.id not in json.dumps(lines)
    assert "hash" not in json.dumps(lines)


def test_messages_of_the_address_are_not_in_it_since_nobody_proved_whose_it_is(given, as_user, ann):
    given.row(ContactMessage(name="Somebody", email=ann.email, subject="S", body="A secret"))
    assert "A secret" not in json.dumps(exported(as_user(ann)))


@pytest.mark.parametrize(("role", "sees"), [("editor", False), ("owner", True)])
def test_the_facts_of_what_was_done_need_their_permission(app, given, as_user, role, sees):
    person = given.user(role)
    given.database.transact(lambda: add(
        tenant_id=given.tenant_id, principal=f"user:{person.id}", role=role, action="update", resource="article",
        resource_id=None, result="allowed", address="192.0.2.7", reason="articles.csv:3", facts='{"fields":["x"]}'))
    row, *_ = [one for one in about(exported(as_user(person)), "audit") if one["action"] == "update"]
    assert row["address"] == "192.0.2.7" and "reason" not in row
    assert ("facts" in row) is sees


def test_a_guarded_field_that_the_caller_may_not_see_is_not_in_it(as_user, ann, nobody_sees_private_fields):
    row, = about(exported(as_user(ann)), "users")
    assert row["name"] == "Ann" and "department" not in row and "email" not in row


def test_it_is_an_export_in_the_trail_and_costs_like_one(app, given, as_user, ann):
    services: Services = app.extensions["gatepost"]
    lines = exported(as_user(ann))
    services.audit_writer.flush(early=True)
    with given.database.connected():
        noted, = Audit.select().where(Audit.resource == "profile", Audit.principal == f"user:{ann.id}")
    assert (noted.action, noted.result, noted.facts["count"]) == ("export", "allowed", len(lines) + 1)


@pytest.mark.both_databases
def test_it_is_read_some_rows_at_a_time(app, given, as_user, ann, monkeypatch):
    for number in range(5):
        given.article(owner_id=ann.id, slug=f"one-of-ann-{number}-{new_id()}")
    from blueprints.privacy import exporting
    monkeypatch.setattr(exporting, "AT_ONCE", 2)
    assert len(about(exported(as_user(ann)), "articles")) == 5


def test_it_waits_for_no_slot_but_says_when_to_come_back(app, as_user, ann):
    services: Services = app.extensions["gatepost"]
    key, taken = f"user:{ann.id}", 0
    while services.long_answers.acquire(key):
        taken += 1
    try:
        answer = as_user(ann).get("/api/profile/export")
        assert (answer.status_code, answer.get_json()["code"]) == (503, "overloaded")
        assert answer.headers["Retry-After"]
    finally:
        for _ in range(taken):
            services.long_answers.release(key)
