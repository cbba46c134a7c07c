"""*Audit*: pages of the audit log and of one event."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from models.base import new_id, now
from models.tables.audit import Audit, append
from models.tables.seals import heads
from tests.apps import NO_ROW, PASSWORD, ROLES
from tests.http.console.pages import Seen, visit
from tests.tampering import disarmed

TRAIL = "/console/audit"
HOSTILE = '"><script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}'


@pytest.fixture
def admin(app):
    return visit(app, "admin")


@pytest.fixture
def note(given):
    """Adds an event to the audit log of the default tenant, or of the tenant `home`."""
    def add(home=given, **values):
        row = Audit(**{"id": new_id(), "tenant_id": home.tenant_id, "time": now(), "principal": "operator",
                       "role": "operator", "action": "update", "resource": "article", "result": "allowed"} | values)
        row.facts = None if row.facts is None else json.dumps(row.facts)
        home.database.transact(lambda: append([row]))
        return row

    return add


@pytest.fixture
def refused(app, as_user, given):
    """The audit event of Ann, who could not delete an article of hers in review."""
    ann = as_user("user", name="Ann Archer")
    article = given.article("in_review", owner_id=ann.id, title="The gate at dusk")
    assert ann.delete(f"/api/articles/{article.id}").status_code == 403
    services = app.extensions["gatepost"]
    services.audit_writer.flush(early=True)
    with services.database.connected():
        return Audit.select().where(Audit.principal == f"user:{ann.id}", Audit.action == "delete").get()


def seen(visitor, path=TRAIL, **query):
    answer = visitor.get(path, query_string=query or None)
    assert answer.status_code == 200, answer.text
    return Seen.of(answer)


def events(page):
    return [link.rpartition("/")[2] for link in page.links if link.startswith(f"{TRAIL}/")]


def rows_of(given):
    with given.database.connected():
        return Audit.select().count()


# The audit log

def test_it_names_people_and_objects_and_marks_the_result(admin, refused):
    page = seen(admin, who="Ann Archer")
    assert events(page) == [refused.id]
    assert all(text in page.text for text in ("Ann Archer", "The gate at dusk", "article.delete", "refused"))
    assert f"/console/people/{refused.principal.removeprefix('user:')}" in page.links


def test_refusals_that_were_merged_say_how_many_they_are(admin, note):
    row = note(result="refused", count=14, action="burn")
    page = seen(admin, action="burn")
    assert events(page) == [row.id] and "14 identical events" in page.text


def test_the_newest_come_first_and_pages_go_by_cursor_both_ways(admin, note):
    ids = [note(action="mow").id for _ in range(60)]
    first = seen(admin, action="mow")
    assert events(first) == list(reversed(ids))[:50]
    [older] = [link for link in first.links if "cursor=" in link]
    second = seen(admin, older)
    assert events(second) == list(reversed(ids))[50:]
    assert not [link for link in second.links if "cursor=" in link]
    [newer] = [link for link in second.links if "before=" in link]
    assert parse_qs(urlsplit(newer).query)["action"] == ["mow"]
    assert events(seen(admin, newer)) == events(first)


@pytest.mark.parametrize(("query", "found"), [
    ({"resource": "page"}, {"page"}),
    ({"action": "prune"}, {"prune"}),
    ({"result": "failed"}, {"failed"}),
    ({"who": "operator"}, {"page", "prune", "failed", "old"}),
    ({"to": "2026-01-01T12:00"}, {"old"}),
    ({"from": "2026-01-01", "to": "2026-01-02"}, {"old"}),
    ({"from": "2026-01-01T10:59:59+00:00", "to": "2026-01-01T11:00:01Z"}, {"old"}),
    ({"who": "system"}, set()),
], ids=["resource", "action", "result", "operator", "until", "days", "offsets", "nobody"])
def test_it_is_narrowed(query, found, admin, note):
    mark = new_id()
    made = {note(resource="page", resource_id=mark).id: "page", note(action="prune", resource_id=mark).id: "prune",
            note(result="failed", resource_id=mark).id: "failed",
            note(time="2026-01-01T11:00:00.000000Z", resource_id=mark).id: "old"}
    page = seen(admin, id=mark, **query)
    assert {made[id] for id in events(page)} == found
    assert found or "No matching events." in page.text


def test_a_name_of_several_asks_which_of_them(admin, given, refused):
    given.user(name="Ann Archer the elder")
    page = seen(admin, who="ann archer", result="refused")
    assert "Select a user" in page.text and events(page) == []
    links = [link for link in page.links if "who=01" in link and "result=refused" in link]
    assert len(links) >= 2
    assert refused.id in [id for link in links for id in events(seen(admin, link))]


@pytest.mark.parametrize(("query", "said"), [
    ({"who": "xyzzyxyzzy"}, "There is no such user"),
    ({"who": "nobody@example.org"}, "There is no such user"),
    ({"who": NO_ROW}, "There is no such user"),
    ({"id": "no-id"}, "This is not an id"),
    ({"from": "teatime"}, "time"),
    ({"cursor": "made-up"}, ""),
], ids=["name", "address", "id", "object", "time", "cursor"])
def test_what_cannot_be_asked_is_said_in_words(query, said, admin):
    page = seen(admin, **query)
    assert said in page.text and [tag for tag, attributes in page.tags if attributes.get("role") == "alert"]


def test_following_is_a_link_and_looks_at_the_newest_alone(admin, note):
    note(action="hoe")
    page = seen(admin, action="hoe")
    [follow] = [link for link in page.links if "follow=1" in link]
    assert not any("data-follow" in attributes for _, attributes in page.tags)
    page = seen(admin, follow)
    assert [attributes["data-swap"] for _, attributes in page.tags if "data-follow" in attributes] == ["found"]
    assert "action=hoe" in follow and "Refresh" in page.text and "Stop auto-refresh" in page.text


def test_to_look_changes_nothing_but_for_one_row_an_hour_that_says_so(app, given):
    visitor = visit(app, "owner")
    app.extensions["gatepost"].audit_writer.flush(early=True)
    before = rows_of(given)
    for _ in range(3):
        seen(visitor)
    app.extensions["gatepost"].audit_writer.flush(early=True)
    assert rows_of(given) == before + 1


# One event

def test_an_event_tells_all_of_it_and_by_which_facts_it_was_decided(admin, refused):
    page = seen(admin, f"{TRAIL}/{refused.id}")
    assert "was refused article.delete on “The gate at dusk”" in page.text
    assert "status is in_review, must be draft" in page.text and "Closest rules" in page.text
    assert all(text in page.text for text in (refused.id, refused.request_id, refused.policy_version, "127.0.0.1",
                                              '"status": "in_review"'))
    [today] = [link for link in page.links if link.startswith("/console/why?")]
    asked = {name: values[0] for name, values in parse_qs(urlsplit(today).query).items()}
    assert asked == {"as": refused.principal.removeprefix("user:"), "permission": "article.delete",
                     "id": refused.resource_id}
    assert "may not article.delete" in seen(admin, today).text
    [alike] = [link for link in page.links if "id=" in link and link.startswith(f"{TRAIL}?")]
    assert refused.id in events(seen(admin, alike))


def test_an_event_is_proved_by_its_seal_once_it_has_one(app, admin, refused):
    services, path = app.extensions["gatepost"], f"{TRAIL}/{refused.id}"
    services.audit_writer.seal()
    with services.database.connected():
        [head] = [one.head for one in heads()][-1:]
    text = seen(admin, path).text
    assert "verified This event and all others under the same seal are unchanged." in text and head in text
    disarmed(services.database, f"UPDATE audit SET principal = 'forged' WHERE id = '{refused.id}'")
    assert "verification failed This event, or another under the same seal, was changed." in seen(admin, path).text


def test_what_was_allowed_names_the_line(app, admin, as_user, given):
    bo = as_user("user", name="Bo Berg")
    article = given.article("draft", owner_id=bo.id)
    assert bo.patch(f"/api/articles/{article.id}", {"title": "New"}).status_code == 200
    page = seen(admin, f"{TRAIL}/{events(seen(admin, id=article.id))[0]}")
    assert "was allowed article.update" in page.text and "Deciding rule" in page.text


def test_what_was_no_decision_says_so(admin, note):
    row = note(principal="guest", role="guest", action="create", resource="session", result="failed",
               reason="invalid_credentials", facts={"email": HOSTILE})
    assert "The rules did not decide this event." in seen(admin, f"{TRAIL}/{row.id}").text


def test_rules_that_are_gone_are_said_to_be_so(admin, note):
    row = note(principal=f"user:{NO_ROW}", role="user", action="delete", result="refused", reason="forbidden",
               policy_version="0123456789abcdef", facts={"obj": None})
    page = seen(admin, f"{TRAIL}/{row.id}")
    assert "is no longer stored" in page.text and "Check against the active rules" in page.text


@pytest.mark.parametrize("id", ["absent", "foreign", "no-id"])
def test_an_event_of_another_tenant_is_as_absent_as_one_that_is_not_there(id, admin, note, elsewhere):
    row = note(elsewhere)
    answer = admin.get(f"{TRAIL}/{ {'absent': NO_ROW, 'foreign': row.id}.get(id, id)}")
    assert answer.status_code == (400 if id == "no-id" else 404)
    assert row.id not in events(seen(admin))


# Who sees what

@pytest.mark.parametrize("role", ROLES)
def test_it_is_for_those_who_may_see_the_trail(role, app, as_role, note):
    row = note()
    expected = {"guest": 303, "owner": 200, "admin": 200}.get(role, 403)
    for path in (TRAIL, f"{TRAIL}/{row.id}"):
        assert visit(app, role).get(path).status_code == expected


def test_facts_and_reasons_are_for_those_who_may_see_them(under, given, refused):
    trail_alone = under(lines={"admin.csv": "p, support, audit.view, always, allow"})
    page = seen(visit(trail_alone, given.user("support")), f"{TRAIL}/{refused.id}")
    assert "article.delete" in page.text and "Ann Archer" in page.text
    absent = ("in_review", "Closest rules", "Check against the active rules")
    assert not any(text in page.text for text in absent)
    with_facts = under(lines={"admin.csv": "p, support, audit.*, always, allow"})
    page = seen(visit(with_facts, given.user("support")), f"{TRAIL}/{refused.id}")
    assert "in_review" in page.text and "Closest rules" not in page.text


def test_names_that_the_reader_may_not_see_are_ids(under, given, refused):
    app = under(lines={"users.csv": "p, auditor, user.view, own, allow", "roles.csv": "g, auditor, guest",
                       "admin.csv": "p, auditor, audit.view, always, allow"})
    page = seen(visit(app, given.user("auditor")), id=refused.resource_id)
    assert "Ann Archer" not in page.text and "The gate at dusk" not in page.text
    assert f"…{refused.principal[-8:]}" in page.text and f"…{refused.resource_id[-8:]}" in page.text


def test_hostile_texts_are_texts(admin, given, note):
    user = given.user(name=(HOSTILE * 20)[:200])
    article = given.article(title=(HOSTILE * 20)[:200])
    row = note(principal=f"user:{user.id}", role="user", action="update", resource_id=article.id, reason=HOSTILE,
               address=HOSTILE, request_id=HOSTILE, policy_version=HOSTILE, facts={"email": HOSTILE * 20})
    for answer in (admin.get(TRAIL), admin.get(f"{TRAIL}/{row.id}"), admin.get(TRAIL, query_string={"id": article.id})):
        assert answer.status_code == 200 and "\\u202e" in answer.text
        assert "<script>alert" not in answer.text and "\N{RIGHT-TO-LEFT OVERRIDE}" not in answer.text
    for name in ("who", "action", "resource", "result", "id", "from", "to", "cursor", "before", "follow"):
        assert "<script>alert" not in admin.get(TRAIL, query_string={name: HOSTILE}).text
        assert admin.get(TRAIL, query_string={name: "x" * 501}).status_code == 400


def test_a_login_is_said_of_the_person_and_of_the_guest_that_they_were(app, admin, given):
    user = given.user(name="Gina Gate", password=PASSWORD)
    assert app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD}).status_code == 200
    with app.extensions["gatepost"].database.connected():
        row = Audit.select().where(Audit.principal == f"user:{user.id}", Audit.resource == "session").get()
    text = seen(admin, f"{TRAIL}/{row.id}").text
    assert "Gina Gate, as guest, was allowed session.create" in text
