"""`GET /api/admin/policy/visible`: rows that another user may view, if the caller may see the rows and the user."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from gatepost.http.operations.limits import Limits
from models.base import Rows
from models.tables.audit import Audit
from tests.apps import NO_ROW

VISIBLE = "/api/admin/policy/visible"


def ask(caller, who, *rows, collection="articles", status=200):
    answer = caller.get(VISIBLE, query_string={"as": who, "collection": collection,
                                               **({"ids": ",".join(row.id for row in rows)} if rows else {})})
    assert answer.status_code == status, answer.text
    return answer.get_json()


def seen(answer):
    return {row["id"]: row["visible"] for row in answer["items"]}


@pytest.fixture(scope="module")
def admin(as_role):
    return as_role("admin")


@pytest.mark.both_databases
def test_it_answers_what_they_would_be_answered(admin, as_user, given):
    ann = as_user("user", name="Ann")
    rows = [given.article("draft", owner_id=ann.id), given.article("draft"), given.article("published")]
    given.share("article", rows[1], f"user:{ann.id}", "write")
    for who in (ann, as_user("editor"), as_user("moderator")):
        answer = ask(admin, who.id, *rows)
        assert (answer["as"], answer["role"], answer["name"]) == (who.id, who.user.role, who.user.name)
        assert [row["id"] for row in answer["items"]] == [row.id for row in rows]
        for told in answer["items"]:
            own = who.get(f"/api/articles/{told['id']}?fields=department,allowed_actions")
            assert told["visible"] == (own.status_code == 200)
            if told["visible"]:
                assert told["actions"] == own.get_json()["allowed_actions"]
                assert ("department" in told["hidden"]) == ("department" not in own.get_json())
            else:
                assert (told["hidden"], told["actions"]) == ([], [])


def test_a_person_is_named_by_their_address_and_a_role_stands_for_anybody_of_it(admin, given):
    user, row = given.user(email="ida@visible.example"), given.article("draft")
    assert ask(admin, "IDA@visible.example", row)["name"] == user.name
    answer = ask(admin, "editor", row)
    assert (answer["name"], answer["active"], seen(answer)) == (None, None, {row.id: True})
    assert seen(ask(admin, "guest", row)) == {row.id: False}


def test_rows_that_the_asker_may_not_view_are_not_told(as_user, as_role, given, elsewhere):
    """A developer has the permission and sees all articles but no order. No caller sees another tenant."""
    developer, order = as_role("developer"), given.order()
    assert ask(developer, "manager", order, collection="orders", status=200)["items"] == []
    assert ask(as_role("admin"), "editor", elsewhere.article())["items"] == []


def test_who_is_disabled_sees_nothing(admin, given):
    row, gone = given.article(), given.user("editor", active=False)
    answer = ask(admin, gone.id, row)
    assert answer["active"] is False and seen(answer) == {row.id: False}


def test_what_the_asker_may_not_see_of_a_person_is_not_told_by_what_they_see(under, as_user, given):
    """Rules that read the department would reveal it to a caller who learns the visible rows."""
    app = under("    (p.when == 'same_department' && r.obj.department == r.sub.department) || \\\n",
                {"articles.csv": "p, user, article.view, same_department, allow"})
    row, person = given.article("draft", department="news"), given.user(department="news")
    developer = as_user("developer")
    developer.client = app.test_client()
    assert "department" in ask(developer, person.id, row, status=403)["detail"]
    owner = as_user("admin")
    owner.client = app.test_client()
    assert seen(ask(owner, person.id, row)) == {row.id: True}


@pytest.mark.both_databases
def test_groups_that_the_asker_may_not_see_are_not_told_by_a_row_that_is_shared_with_one(under, as_user, given):
    app = under("", {"users.csv": "p, developer, user.view, always, allow"})
    developer, person = as_user("developer"), given.user(groups=["press"])
    developer.client = app.test_client()
    rows = [given.article("draft") for _ in range(3)]
    given.share("article", rows[0], f"user:{person.id}")
    given.share("article", rows[1], "role:user")
    assert seen(ask(developer, person.id, *rows)) == {rows[0].id: True, rows[1].id: True, rows[2].id: False}
    given.share("article", rows[1], "group:press")
    assert "groups" in ask(developer, person.id, *rows, status=403)["detail"]
    assert seen(ask(developer, person.id, rows[0], rows[2])) == {rows[0].id: True, rows[2].id: False}


def test_it_costs_a_unit_for_the_question_and_one_for_each_20_rows(app, as_user, given, monkeypatch):
    services, asks = app.extensions["gatepost"], as_user("admin")
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True)))
    rows, remaining = [given.article() for _ in range(100)], [600]
    for count in (0, 1, 19, 20, 100):
        ids = {"ids": ",".join(row.id for row in rows[:count])} if count else {}
        answer = asks.get(VISIBLE, query_string={"as": "editor", "collection": "articles", **ids})
        assert answer.status_code == 200
        remaining.append(int(re.search(r";r=(\d+)", answer.headers["RateLimit"])[1]))
    assert [before - after for before, after in pairwise(remaining)] == [1, 1, 1, 2, 6]


@pytest.mark.parametrize(("query", "status"), [
    ({"as": "editor"}, 400), ({"collection": "articles"}, 400), ({"as": "editor", "collection": "dragons"}, 400),
    ({"as": "editor", "collection": "articles", "ids": "no-id"}, 400),
    ({"as": "editor", "collection": "articles", "ids": ",".join([NO_ROW] * 101)}, 400),
    ({"as": "nobody@example.org", "collection": "articles"}, 404), ({"as": NO_ROW, "collection": "articles"}, 404),
], ids=["no collection", "nobody named", "collection", "id", "too many", "e-mail", "person"])
def test_what_cannot_be_asked_is_refused(query, status, admin):
    assert admin.get(VISIBLE, query_string=query).status_code == status


def test_a_person_of_another_tenant_is_as_good_as_absent(admin, elsewhere):
    ask(admin, elsewhere.user().id, status=404)


@pytest.mark.parametrize("role", ["guest", "user", "editor", "manager"])
def test_it_needs_the_permission_to_see_the_policy(role, as_role):
    ask(as_role(role), "editor", status=401 if role == "guest" else 403)


def test_a_look_is_recorded_once_an_hour_for_each_of_whom_is_asked(app, as_user, given):
    asks, persons = as_user("admin"), [given.user(), given.user()]
    for person in persons * 2:
        ask(asks, person.id, given.article())
    ask(asks, "editor")
    app.extensions["gatepost"].audit_writer.flush()
    with given.database.connected():
        rows = list(Rows(Audit, given.tenant_id).select().where(Audit.principal == f"user:{asks.id}"))
    assert sorted(str(row.resource_id) for row in rows) == sorted([*(person.id for person in persons), "None"])
    assert {(row.resource, row.action, row.result) for row in rows} == {("policy", "visible", "allowed")}
