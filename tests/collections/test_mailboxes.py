"""One mailbox is one account for all spellings of its address. Accounts stored before this rule are still found."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from unicodedata import normalize

import peewee as pw
import pytest

from gatepost.http.operations import counters
from gatepost.http.operations.limits import Limits
from gatepost.http.schemas.fields import Email, with_read_ids
from models.tables import audit, traces
from models.tables.contact import ContactMessage
from models.tables.user import User
from tests.apps import PASSWORD
from tests.http.console.pages import visit

_numbers = count(1)
IMPOSSIBLE = ["a@b..org", ".a@b.org", "a..b@b.org", "a b@b.org", '"a"@b.org', "a@[127.0.0.1]", "a@127.0.0.1",
              "a@-b.org", "a@localhost", "a\u200b@b.org", "a\u115f@b.org", "a\x07@b.org", f"{'a' * 65}@b.org",
              f"a@{'b' * 64}.org", f"a@{'b.' * 125}org", "a@xn--a.org", "a@😀.org", "a@b.org.", "a", ""]


@pytest.fixture
def spelled():
    """The stored spelling of a mailbox, and other spellings of it."""
    name = f"bücher{next(_numbers)}"
    punycode = f"{name.encode('idna').decode()}.example"
    return f"noor@{name}.example", [
        f"noor@{punycode}", f"NOOR@{punycode.upper()}", f"Noor@{name.title()}.Example", f"ｎｏｏｒ@{name}.example",
        f"noor@{name}。example", normalize("NFD", f"noor@{name}．ｅｘａｍｐｌｅ")]


def body(email):
    return {"name": "New", "email": email, "password": "nine slow ferries"}


def login(app, email, password=PASSWORD, **more):
    return app.test_client().post("/api/login", json={"email": email, "password": password}, **more)


def stored_as(given, user, email):
    """Returns the user, with an address stored in an old spelling."""
    given.database.transact(lambda: User.update(email=pw.Value(email, converter=False)).where(
        User.id == user.id).execute())
    return given.found(User, user.id)


@pytest.fixture
def limited(app, monkeypatch):
    """The app, with a new count of guesses."""
    services = app.extensions["gatepost"]
    monkeypatch.setattr(counters, "monotonic", lambda: 0.0)
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, login_attempts=3)))
    return app


@pytest.mark.both_databases
def test_a_mailbox_that_is_taken_is_taken_in_every_spelling(as_role, as_user, given, spelled):
    email, others = spelled
    user, another = given.user(email=others[0]), as_user("user")
    assert given.found(User, user.id).email == email
    admin = as_role("admin")
    for written in (email, *others):
        made = admin.post("/api/users", body(written) | {"role": "user"})
        assert (made.status_code, made.json["errors"][0]["pointer"]) == (409, "/email"), written
        registered = as_role("guest").post("/api/register", body(written))
        assert (registered.status_code, registered.json["code"]) == (409, "already_exists"), written
        assert admin.patch(f"/api/users/{another.id}", {"email": written}).status_code == 409, written
        line = json.dumps(body(written) | {"role": "user"})
        imported = admin.call("POST", "/api/users/import", data=line, headers={"Content-Type": "application/x-ndjson"})
        assert imported.json["errors"][0]["code"] == "already_exists", written


@pytest.mark.both_databases
def test_an_account_logs_in_by_every_spelling_of_its_mailbox(app, given, spelled):
    email, others = spelled
    given.user(email=email, password=PASSWORD)
    assert [written for written in (email, *others) if login(app, written).status_code != 200] == []
    answer = visit(app).post("/console/login", {"email": others[0], "password": PASSWORD})
    assert answer.status_code == 303, "browsers send Punycode, whatever is typed"


def test_what_is_answered_is_the_one_spelling(as_role, spelled):
    email, others = spelled
    made = as_role("admin").post("/api/users", body(others[0]) | {"role": "user"})
    assert (made.status_code, made.json["email"]) == (201, email)
    changed = as_role("admin").patch(f"/api/users/{made.json['id']}", {"email": others[3]})
    assert (changed.status_code, changed.json["email"]) == (200, email)


@pytest.mark.parametrize("email", IMPOSSIBLE)
def test_an_impossible_address_is_a_fault_of_the_field(as_role, as_user, email):
    for answer in (as_role("admin").post("/api/users", body(email) | {"role": "user"}),
                   as_role("guest").post("/api/register", body(email)),
                   as_user("user").patch("/api/profile", {"email": email}),
                   as_role("guest").post("/api/contact", {"name": "N", "email": email, "subject": "S", "body": "B"})):
        assert (answer.status_code, {fault["pointer"] for fault in answer.json["errors"]}) == (400, {"/email"})
    line = json.dumps(body(email) | {"role": "user"})
    answer = as_role("admin").call("POST", "/api/users/import", data=line,
                                   headers={"Content-Type": "application/x-ndjson"})
    assert answer.json["errors"][0]["pointer"] == "/email"


@pytest.mark.both_databases
def test_filters_find_an_address_in_every_spelling(as_role, given, spelled):
    email, others = spelled
    user, message = given.user(email=email), given.contact_message(email=others[3])
    assert given.found(ContactMessage, message.id).email == email
    admin = as_role("admin")
    for written in (email, *others):
        users = admin.get("/api/users", query_string={"email": written}).json["items"]
        messages = admin.get("/api/contact", query_string={"email": written}).json["items"]
        assert ([row["id"] for row in users], [row["id"] for row in messages]) == ([user.id], [message.id]), written
        begun = admin.get("/api/users", query_string={"email__startswith": written}).json["items"]
        assert [row["id"] for row in begun] == [user.id], written
    for begun in (email[:8], others[2][:8], others[3][:8], email[:-2]):
        assert user.id in [row["id"] for row in admin.get(
            "/api/users", query_string={"email__startswith": begun, "limit": 100}).json["items"]]
    assert admin.get("/api/users", query_string={"email": f"a{others[0]}"}).json["items"] == []


def test_a_question_about_a_user_finds_them_by_every_spelling(as_role, given, spelled):
    email, others = spelled
    user = given.user(email=email)

    def asked(who):
        answer = as_role("admin").get("/api/admin/policy/explain", query_string={
            "as": who, "permission": "article.create"})
        return answer.status_code, answer.json.get("as_name")

    known = asked(user.id)
    assert known == (200, f"{user.name}, {email}")
    assert [written for written in (email, *others) if asked(written) != known] == []
    assert asked(f"a{email}") == (404, None)


@pytest.mark.parametrize("there", [True, False])
def test_guesses_by_several_spellings_are_guesses_of_one_account(limited, given, spelled, there):
    email, others = spelled
    if there:
        given.user(email=email, password=PASSWORD)
    answers = [login(limited, written, "wrong").status_code for written in others[:4]]
    assert answers == [401, 401, 401, 429]


def test_guesses_of_an_account_that_is_stored_otherwise_are_counted_alike(limited, given, spelled):
    email, others = spelled
    stored_as(given, given.user(password=PASSWORD), others[0])
    assert [login(limited, written, "wrong").status_code for written in (others[0], email, others[3], others[0])] == [
        401, 401, 401, 429]


@pytest.mark.both_databases
def test_two_accounts_of_one_mailbox_from_before_stay_and_log_in_each_by_its_own(app, as_role, given, spelled):
    email, others = spelled
    first = stored_as(given, given.user(password=PASSWORD), others[0])
    second = given.user(email=email, password="nine slow ferries")
    third = stored_as(given, given.user(password="three blue kites"), others[3])
    assert [login(app, *each).status_code for each in (
        (others[0], PASSWORD), (email, "nine slow ferries"), (others[3], "three blue kites"))] == [200] * 3
    assert [login(app, *each).status_code for each in (
        (others[0], "nine slow ferries"), (email, PASSWORD), (email, "three blue kites"))] == [401] * 3
    assert login(app, others[0].upper()).status_code == 200, "as it was before"
    # A form that is sent back contains the address, too.
    admin = as_role("admin")
    for user in (first, second, third):
        changed = admin.patch(f"/api/users/{user.id}", {"name": "Renamed", "email": user.email})
        assert (changed.status_code, changed.json["name"], changed.json["email"]) == (200, "Renamed", user.email)
    # One user gets another address. Then the other user can have the stored spelling.
    assert admin.patch(f"/api/users/{second.id}", {"email": f"second-{email}"}).status_code == 200
    assert login(app, email).status_code == 200, "no other has this mailbox in its one spelling"
    assert admin.patch(f"/api/users/{first.id}", {"email": first.email}).json["email"] == email


@pytest.mark.both_databases
def test_an_impossible_address_from_before_logs_in(app, given):
    for email in ("a@b..org", ".a@b.org", '"a b"@c.org', "Ａ@x..org"):
        stored_as(given, given.user(password=PASSWORD), email)
        assert login(app, email).status_code == 200, email
    assert login(app, "A@B..ORG").status_code == 200


def test_an_address_of_ones_own_in_another_spelling_needs_no_password(app, as_user, given, spelled):
    email, others = spelled
    caller = as_user("user")
    stored_as(given, given.found(User, caller.id), email)
    assert caller.patch("/api/profile", {"email": others[1]}).status_code == 200
    assert given.found(User, caller.id).email == email


@pytest.mark.both_databases
def test_what_is_known_of_a_person_is_found_by_the_spellings_of_before(given, spelled):
    email, others = spelled
    user = given.user(email=email)

    def tried(written):
        audit.add(tenant_id=given.tenant_id, principal="guest", role="guest", resource="session", action="create",
                  resource_id=None, result="failed", facts=json.dumps({"email": written}))
        return traces.newest_number()

    with given.database.connected():
        before = traces.newest_number()
    about = [given.database.transact(lambda written=written: tried(written)) for written in (email, others[0])]
    given.database.transact(lambda: tried("ada@example.org"))
    with given.database.connected():
        assert traces.events_naming(user, before) == about
    assert traces._names(user, f'{{"email":"{others[0]}"}}'.encode())
    given.contact_message(email=others[1])
    old = stored_as(given, user, others[0])
    with given.database.connected():
        assert ContactMessage.select().where(ContactMessage.email == old.email).count() == 1


def test_an_import_by_address_means_the_mailbox(spelled):
    email, others = spelled
    assert [with_read_ids(Email(), written) for written in others] == [email] * len(others)
