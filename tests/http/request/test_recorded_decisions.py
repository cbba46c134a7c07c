"""The audit log records enough of a request to make each decision again, with the same answer."""

from __future__ import annotations

import itertools

import pytest

from models.records.times import later
from models.tables.audit import told_since
from policies.questions.evaluated import answer
from policies.questions.recorded import COLUMNS, Entry, decisions
from policies.questions.replay import replay
from tests.apps import NO_ROW, PASSWORD

pytestmark = pytest.mark.both_databases

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def week(app, as_user, given, client):
    """Requests of every kind by every role, and their audit events."""
    begun = later(0)
    slugs = (f"article-{number}" for number in itertools.count())
    for role in ("user", "support", "editor", "manager", "owner"):
        caller = as_user(role, password=PASSWORD)
        own, strange = given.article("draft", owner_id=caller.id), given.article("published")
        for id in (own.id, strange.id, given.article("draft").id, NO_ROW):
            caller.patch(f"/api/articles/{id}", {"title": "New"})
            caller.post(f"/api/articles/{id}/submit")
            caller.get(f"/api/articles/{id}")
            caller.delete(f"/api/articles/{id}")
        caller.post("/api/articles", {"title": "T", "slug": next(slugs), "body": "b"})
        product = given.product("draft", owner_id=caller.id)
        caller.patch(f"/api/products/{product.id}", {"department": "sea", "price": 3})
        caller.call("POST", "/api/products/import", data=f'{{"id": "{product.id}", "name": "Again"}}', headers=NDJSON)
        caller.patch("/api/profile", {"name": "New"})
        caller.get("/api/audit")
        caller.get("/api/admin/policy")
        caller.get("/api/users/export")
        made = caller.post("/api/tokens", {"name": "A program", "scopes": ["write:articles"],
                                           "current_password": PASSWORD}).get_json()
        program = {"Authorization": f"Bearer {made['token']}"}
        caller.patch(f"/api/articles/{given.article('draft', owner_id=caller.id).id}", {"title": "X"}, headers=program)
        caller.delete(f"/api/products/{product.id}", headers=program)
    client.post("/api/articles", json={"title": "T"})
    client.get(f"/api/articles/{given.article('draft').id}")
    app.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        return [Entry(**row) for row in told_since(given.tenant_id, begun, COLUMNS)]


def test_each_decision_is_made_again_with_the_same_answer(app, week):
    policy = app.extensions["gatepost"].policy.current
    told = [(row, decision) for row in week for decision in decisions(row, policy.vocabulary)]
    assert {decision.answered for _, decision in told} == {"allowed", "refused", "hidden"} and len(told) > 90
    wrong = [(row, found) for row, decision in told
             if (found := answer(policy, decision)).result != decision.answered]
    assert wrong == []


def test_the_same_rules_change_nothing(app, week):
    policy = app.extensions["gatepost"].policy.current
    found = replay(policy, policy, week)
    assert (found.unknown, found.otherwise, bool(found)) == (0, 0, False)


def test_the_trail_is_read_a_few_rows_at_a_time_and_by_time(week, given, monkeypatch):
    monkeypatch.setattr("models.tables.audit._READ_AT_ONCE", 7)
    with given.database.connected():
        rows = list(told_since(given.tenant_id, week[10].time, ("id", "time")))
    wanted = sorted((row.time, row.id) for row in week if row.time >= week[10].time)
    assert [(row["time"], row["id"]) for row in rows] == wanted
