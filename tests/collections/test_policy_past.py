"""`GET /api/admin/policy/explain/<id>`: an audit event, explained by the facts and the rules of that day."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from blueprints.policy import past
from gatepost.testing import log_in
from models.base import new_id, now
from models.tables import policy_version
from models.tables.audit import Audit, append
from tests.apps import NO_ROW

EXPLAIN = "/api/admin/policy/explain"


@pytest.fixture
def refused(app, as_user, given):
    """The audit event of a user who could not delete their article in review."""
    ann = as_user("user", name="Ann Archer")
    article = given.article("in_review", owner_id=ann.id)
    assert ann.delete(f"/api/articles/{article.id}").status_code == 403
    return row_of(app, ann, "delete")


def row_of(app, caller, action):
    services = app.extensions["gatepost"]
    services.audit_writer.flush(early=True)
    with services.database.connected():
        return Audit.select().where(Audit.principal == f"user:{caller.id}", Audit.action == action).get()


def added(given, **values):
    row = Audit(**{"id": new_id(), "tenant_id": given.tenant_id, "time": now(), "principal": "guest", "role": "guest",
                   "action": "create", "resource": "session", "result": "failed", "facts": {"email": "a@example.org"}}
                | values)
    row.facts = json.dumps(row.facts)
    given.database.transact(lambda: append([row]))
    return row


def ask(caller, row):
    answer = caller.get(f"{EXPLAIN}/{row.id}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def test_a_refusal_names_what_came_nearest_and_people_by_name(as_role, refused):
    found = ask(as_role("owner"), refused)
    [one] = found["decisions"]
    assert found["error"] is None
    assert (one["answered"], one["policy_alone"], one["agrees"]) == ("refused", "refused", True)
    assert one["permission"] == "article.delete" and one["as"].startswith("Ann Archer")
    facts = {fact["text"]: fact["holds"] for fact in one["nearest_misses"][0]["facts"]}
    assert facts["status is in_review, must be draft"] is False


def test_what_was_allowed_names_the_line_of_then_though_the_row_has_changed(app, as_user, as_role, given):
    user = as_user("user")
    article = given.article("draft", owner_id=user.id)
    assert user.patch(f"/api/articles/{article.id}", {"title": "New"}).status_code == 200
    assert user.post(f"/api/articles/{article.id}/submit").status_code == 200
    [one] = ask(as_role("owner"), row_of(app, user, "update"))["decisions"]
    assert one["decided_by"]["rule"] == "p, user, article.update, own_draft, allow"
    assert "status is draft" in [fact["text"] for fact in one["decided_by"]["facts"]]


def test_what_was_no_decision_says_none(as_role, given):
    assert ask(as_role("owner"), added(given)) == {"decisions": [], "error": None}


def test_rules_that_are_not_kept_or_cannot_be_used_are_said_to_be_so(as_role, given, monkeypatch):
    row = added(given, principal=f"user:{new_id()}", role="user", action="delete", resource="article",
                result="refused", reason="forbidden", policy_version="0123456789abcdef", facts={"obj": None})
    found = ask(as_role("owner"), row)
    assert found["decisions"] == [] and "is no longer stored" in found["error"]
    monkeypatch.setattr(policy_version, "named", lambda version: SimpleNamespace(files={"model.conf": ""}))
    assert "cannot be used today" in ask(as_role("owner"), row)["error"]


def test_another_version_is_asked_as_the_history_keeps_it(app, as_role, given, refused, monkeypatch):
    files = app.extensions["gatepost"].policy.current.files
    kept = {name: text.decode() if isinstance(text, bytes) else text for name, text in files.items()}
    now = app.extensions["gatepost"].policy.current
    monkeypatch.setattr(past, "from_files", lambda files, vocabulary, closing: now)
    monkeypatch.setattr(policy_version, "named", lambda version: SimpleNamespace(files=kept))
    row = added(given, principal=refused.principal, role="user", action="delete", resource="article", result="refused",
                reason="forbidden", policy_version="0123456789abcdef", facts=refused.facts,
                resource_id=refused.resource_id)
    assert ask(as_role("owner"), row)["decisions"][0]["nearest_misses"]


def test_lines_that_are_no_longer_accepted_are_not_blamed_for_what_they_allowed(app, as_role, given, refused,
                                                                                monkeypatch):
    kept = {name: text.decode() for name, text in app.extensions["gatepost"].policy.current.files.items()}
    always = "p.when == 'always' || \\\n"
    kept["model.conf"] = kept["model.conf"].replace(
        always, f"{always}    p.when == 'mine' && inGroup(r.sub, r.sub.id) || \\\n")
    kept["more.csv"] = "p, user, article.delete, mine, allow\n# end\n"
    monkeypatch.setattr(policy_version, "named", lambda version: SimpleNamespace(files=kept))
    row = added(given, principal=refused.principal, role="user", action="delete", resource="article", result="allowed",
                rule="more.csv:1", policy_version="0123456789abcdef", facts=refused.facts,
                resource_id=refused.resource_id)
    [one] = ask(as_role("owner"), row)["decisions"]
    assert one["agrees"] is None and "some rules of that version are no longer accepted" in one["summary"]


@pytest.mark.parametrize(("lines", "status"), [
    ("p, support, policy.view, always, allow", 404),
    ("p, support, policy.view, always, allow\np, support, audit.view, always, allow", 403),
    ("p, support, audit.view, always, allow\np, support, audit.view_facts, always, allow", 403),
    ("p, support, policy.view, always, allow\np, support, audit.*, always, allow", 200),
], ids=["rules alone", "without facts", "trail alone", "both"])
def test_the_rules_the_row_and_its_facts_must_all_be_for_the_caller(lines, status, under, given, refused):
    caller = log_in(under(lines={"admin.csv": lines}), given.user("support"))
    answer = caller.get(f"{EXPLAIN}/{refused.id}")
    assert answer.status_code == status
    if status == 200:
        # A supporter sees only the name of other users.
        assert answer.get_json()["decisions"][0]["as"] == "Ann Archer"


def test_a_look_at_a_row_is_a_look_at_the_trail(app, as_user, refused):
    owner = as_user("owner")
    ask(owner, refused)
    assert row_of(app, owner, "view").resource == "audit"


def test_a_row_of_another_tenant_is_not_there(as_role, elsewhere):
    row = added(elsewhere)
    for id in (row.id, NO_ROW):
        assert as_role("admin").get(f"{EXPLAIN}/{id}").status_code == 404
        assert as_role("admin").get(f"/api/audit/{id}").status_code == 404


def test_one_row_is_told_as_in_the_list(as_role, refused):
    owner = as_role("owner")
    listed = next(one for one in owner.get("/api/audit").get_json()["items"] if one["id"] == refused.id)
    assert owner.get(f"/api/audit/{refused.id}").get_json() == listed
    assert owner.get(f"/api/audit/{refused.id}?fields=id,count").get_json() == {"id": refused.id, "count": 1}


def test_tokens_are_listed_of_one_user(as_role, given):
    ann, bo = given.user(), given.user()
    token = given.service_token(ann)
    given.service_token(bo)
    found = as_role("owner").get(f"/api/tokens?owner_id={ann.id}").get_json()["items"]
    assert [one["id"] for one in found] == [token.id]
    assert as_role("user").get(f"/api/tokens?owner_id={ann.id}").get_json()["items"] == []
