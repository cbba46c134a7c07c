"""Users: the visible fields for each role. No role changes a user of a higher role."""

from __future__ import annotations

import itertools
import json

import pytest

from models.tables.user import User
from tests.apps import NO_ROW

PASSWORD = "a long walk along the shore"
# The inherited roles of each role of users, itself included (docs/reference.md, Roles).
CIRCLES = {
    "owner": {"user", "support", "editor", "moderator", "manager", "owner"},
    "admin": {"user", "support", "editor", "moderator", "manager", "owner", "developer", "admin"},
}
ROLES = sorted(CIRCLES["admin"])


NUMBERS = itertools.count(1)


def new(role):
    return {"name": "New", "email": f"new{next(NUMBERS)}@example.org", "password": PASSWORD, "role": role}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("who", CIRCLES)
def test_no_caller_creates_changes_or_deletes_a_user_above_their_own_role(who, role, as_role, given):
    caller, within = as_role(who), role in CIRCLES[who]

    def status(good):
        return good if within else 403

    assert caller.post("/api/users", new(role)).status_code == status(201)
    user = given.user(role)
    path = f"/api/users/{user.id}"
    assert caller.get(path).status_code == 200, "to see is not to decide"
    assert caller.patch(path, {"name": "Renamed"}).status_code == status(200)
    assert caller.put(path, {"name": "Replaced", "email": user.email}).status_code == status(200)
    assert caller.patch(path, {"role": "user"}).status_code == status(200)
    other = f"/api/users/{given.user(role).id}"
    told = caller.get(f"{other}?fields=allowed_actions").json["allowed_actions"]
    assert told == (["update", "delete", "share", "disable"] if within else ["share"])
    assert caller.post(f"{other}/disable").status_code == status(200)
    assert caller.post(f"{other}/enable").status_code == (200 if within else 403)
    assert caller.delete(other).status_code == status(204)
    promoted = f"/api/users/{given.user().id}"
    assert caller.patch(promoted, {"role": role}).status_code == status(200)
    assert caller.put(promoted, {"name": "N", "email": new("")["email"], "role": role}).status_code == status(200)


@pytest.mark.parametrize("role", ["wizard", "guest", "Admin", "*", "role:admin", "", " admin"])
def test_a_role_that_does_not_exist_is_no_role(role, as_role):
    answer = as_role("admin").post("/api/users", new(role))
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (400, "/role")


def test_an_owner_cannot_lift_themselves(as_user):
    owner = as_user("owner")
    assert owner.patch(f"/api/users/{owner.id}", {"role": "admin"}).status_code == 403
    assert owner.get("/api/profile").json["role"] == "owner"


def test_strangers_see_id_name_and_role_the_owner_and_managers_everything_but_the_password(as_role, as_user, given):
    user = given.user(department="news", groups=["staff"])
    path = f"/api/users/{user.id}"
    assert as_role("editor").get(path).json == {"id": user.id, "name": user.name, "role": "user"}
    whole = {"id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "name", "email", "role",
             "email_verified_at", "department", "groups", "active"}
    assert set(as_role("admin").get(path).json) == whole
    assert set(as_user(user).get(path).json) == whole
    listed = as_role("editor").get("/api/users?limit=100").json["items"]
    assert all(set(row) == (whole if row["id"] == as_role("editor").id else {"id", "name", "role"}) for row in listed)


def test_a_disabled_user_is_out_at_once_and_comes_back_only_by_logging_in(as_role, as_user, given):
    user = given.user()
    session, owner = as_user(user), as_role("owner")
    assert session.get("/api/profile").status_code == 200
    assert owner.post(f"/api/users/{user.id}/disable").json["active"] is False
    assert session.get("/api/profile").status_code == 401
    assert owner.post(f"/api/users/{user.id}/disable").json["code"] == "invalid_transition"
    assert owner.post(f"/api/users/{user.id}/enable").json["active"] is True
    assert session.get("/api/profile").status_code == 401


@pytest.mark.both_databases
@pytest.mark.parametrize("thing", ["article", "product", "order", "comment", "category", "page"])
def test_a_user_with_rows_stays_until_the_rows_are_gone(thing, as_role, given):
    user, admin = given.user(), as_role("admin")
    row = getattr(given, thing)(owner_id=user.id)
    answer = admin.delete(f"/api/users/{user.id}")
    assert (answer.status_code, answer.json["code"]) == (409, "still_referenced")
    assert given.found(type(row), row.id).owner_id == user.id


@pytest.mark.both_databases
def test_sessions_tokens_and_shares_go_with_their_user(as_role, given):
    user, article = given.user(), given.article()
    session, token = given.session(user), given.service_token(user)
    share = given.share("article", article, f"user:{user.id}")
    assert as_role("admin").delete(f"/api/users/{user.id}").status_code == 204
    for row in (user, session, token, share):
        assert given.found(type(row), row.id) is None


@pytest.mark.both_databases
def test_an_address_belongs_to_one_user_of_the_whole_instance_whatever_its_case(as_role, elsewhere):
    taken = elsewhere.user(email="taken@example.org")
    answer = as_role("admin").post("/api/users", new("user") | {"email": taken.email.upper()})
    assert (answer.status_code, answer.json["code"]) == (409, "already_exists")
    assert answer.json["errors"][0]["pointer"] == "/email"


@pytest.mark.both_databases
def test_an_address_belongs_to_one_user_however_its_accents_are_typed(as_role, given):
    taken = given.user(email="ren\u00e9@example.org")
    answer = as_role("admin").post("/api/users", new("user") | {"email": "rene\u0301@example.org"})
    assert (answer.status_code, answer.json["code"]) == (409, "already_exists")
    assert given.found(type(taken), taken.id).email == "ren\u00e9@example.org"


@pytest.mark.parametrize("line", [
    {"role": "admin"}, {"role": "developer"}, {"role": "wizard"}, {"password_hash": "x"}, {"tenant_id": NO_ROW},
], ids=str)
def test_an_import_gives_no_user_a_role_that_the_importer_may_not_give(line, as_role, given):
    person = new("user") | line
    answer = as_role("owner").post("/api/users/import", data=json.dumps(person), content_type="application/x-ndjson")
    assert answer.status_code in (400, 403)
    with given.database.connected():
        assert User.by_email(person["email"]) is None


def test_a_user_whom_an_import_disables_comes_back_only_by_logging_in_too(as_role, as_user):
    owner, caller = as_role("owner"), as_user("user")
    for active in (False, True):
        line = json.dumps({"id": caller.id, "active": active})
        answer = owner.call("POST", "/api/users/import", data=line, headers={"Content-Type": "application/x-ndjson"})
        assert answer.json["updated"] == 1, answer.json
        assert caller.get("/api/profile").status_code == 401
    assert owner.get(f"/api/sessions?owner_id={caller.id}").json["items"] == []


def test_an_import_changes_no_user_above_its_importer(as_role, given):
    above = given.user("admin")
    line = json.dumps({"id": above.id, "name": "Renamed", "email": above.email})
    answer = as_role("owner").post("/api/users/import", data=line, content_type="application/x-ndjson")
    assert answer.status_code in (400, 403)
    assert given.found(User, above.id).name == above.name
