"""Hidden fields of a user: absent from every answer to a caller who may not see them, and not revealed indirectly."""

from __future__ import annotations

import base64
import csv
import io
import json
from urllib.parse import quote

import pytest

from tests.samples import sampled_rows

PUBLIC = {"id", "name", "role"}
STRANGERS = ("user", "support", "editor", "moderator", "manager", "developer")
GUARDED = ("tenant_id", "owner_id", "version", "created_at", "updated_at", "email", "email_verified_at", "department",
           "groups", "active")


@pytest.fixture(scope="module")
def eve(given):
    """A user with a value in every field."""
    return given.user("user", name="Eve Guarded", email="eve.guarded@example.org", department="secret service",
                      groups=["spies"])


def rows(caller, query):
    answer = caller.get(f"/api/users?{query}&page=1&page_size=100")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    page = answer.get_json()
    assert page["total"] == len(page["items"])
    return page["items"]


@pytest.mark.parametrize(("may", "told"), [
    ("", "There is no parameter 'emails' here."),
    ("p, guest, user.view_private, always, allow", "There is no parameter 'emails' here; did you mean email?"),
])
def test_a_filter_by_a_guarded_field_is_suggested_to_those_alone_who_may_see_it(under, may, told):
    client = under("", {"users.csv": f"p, guest, user.view, always, allow\n{may}\n"}).test_client()
    assert client.get("/api/users?emails=x").get_json()["errors"][0]["detail"] == told
    assert "did you mean name?" in client.get("/api/users?names=x").get_json()["errors"][0]["detail"]


def bare(answer):
    return {**answer.get_json(), "request_id": ""}


@pytest.mark.parametrize("role", STRANGERS)
def test_a_stranger_sees_id_name_and_role_of_an_item_of_a_list_and_of_an_expanded_owner(as_role, given, eve, role):
    stranger = as_role(role)
    shown = {"id": eve.id, "name": "Eve Guarded", "role": "user"}
    assert stranger.get(f"/api/users/{eve.id}").get_json() == shown
    assert rows(stranger, "name=Eve+Guarded") == [shown]
    article = given.article(owner_id=eve.id)
    assert stranger.get(f"/api/articles/{article.id}?expand=owner").get_json()["owner"] == shown
    [item] = stranger.get(f"/api/articles?owner_id={eve.id}&expand=owner&limit=1").get_json()["items"]
    assert item["owner"] == shown


def test_owners_administrators_and_the_user_see_everything_but_the_password(as_role, as_user, eve):
    for caller in (as_role("owner"), as_role("admin"), as_user(eve)):
        assert caller.get(f"/api/users/{eve.id}").get_json().keys() == PUBLIC | set(GUARDED)
        [item] = rows(caller, "email=eve.guarded@example.org")
        assert item.keys() == PUBLIC | set(GUARDED)


@pytest.mark.parametrize("field", GUARDED)
def test_asking_for_a_guarded_field_by_name_answers_nothing_of_it(as_role, eve, field):
    stranger = as_role("user")
    assert stranger.get(f"/api/users/{eve.id}?fields={field}").get_json() == {}
    assert stranger.get(f"/api/users/{eve.id}?fields=id,{field}").get_json() == {"id": eve.id}
    assert {"id": eve.id} in stranger.get(f"/api/users?name=Eve+Guarded&fields=id,{field}").get_json()["items"]


@pytest.mark.both_databases
@pytest.mark.parametrize("role", STRANGERS)
@pytest.mark.parametrize(("right", "wrong"), sampled_rows([
    ("email=eve.guarded@example.org", "email=eve.guarded@example.com"),
    ("email__startswith=eve.guarded@", "email__startswith=eve.guarded%25"),
    ("department=secret+service", "department=another+service"),
    ("name=Eve+Guarded&email=eve.guarded@example.org", "name=Eve+Guarded&email=x@example.org"),
    ("name=Eve+Guarded&department__isnull=false", "name=Eve+Guarded&department__isnull=true"),
    ("name=Eve+Guarded&active=true", "name=Eve+Guarded&active=false"),
    ("name=Eve+Guarded&created_at__lt=2999-01-01T00:00:00Z", "name=Eve+Guarded&created_at__lt=1999-01-01T00:00:00Z"),
], 3))
def test_a_filter_by_a_guarded_field_finds_as_little_with_the_right_value_as_with_a_wrong_one(
        as_role, eve, role, right, wrong):
    stranger = as_role(role)
    for tail in ("", "&page=1", "&limit=1&snapshot=true", "&sort=name"):
        answers = [stranger.get(f"/api/users?{query}{tail}") for query in (right, wrong)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].get_json() == answers[1].get_json()
        assert answers[0].get_json()["items"] == []
        assert answers[0].headers["ETag"] == answers[1].headers["ETag"]


@pytest.mark.parametrize("sort", ["email", "-email", "created_at", "-created_at", "updated_at"])
def test_a_caller_cannot_sort_by_a_field_that_they_may_not_see(as_role, eve, sort):
    refused = as_role("developer").get(f"/api/users?sort={sort}")
    assert (refused.status_code, refused.get_json()["code"]) == (400, "invalid_parameter")
    assert as_role("owner").get(f"/api/users?sort={sort}").status_code == 200


def test_a_cursor_carries_nothing_guarded(as_role, given, eve):
    given.user("user", name="Eve Guarded", email="eve.second@example.org")
    cursor = as_role("user").get("/api/users?name=Eve+Guarded&limit=1").get_json()["next_cursor"]
    for part in cursor.split("."):
        assert b"example.org" not in base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_the_order_of_a_list_tells_nothing_guarded(as_role, given):
    """Users with the same name are sorted by their ids, not by their e-mails."""
    made = [given.user("user", name="Same Name", email=f"{letter}.same@example.org") for letter in "zmafq"]
    found = [item["id"] for item in rows(as_role("user"), "name=Same+Name")]
    assert found == sorted(user.id for user in made)


def test_an_editor_has_no_action_on_another_user_active_or_not(as_role, given, eve):
    idle = given.user("user", active=False)
    for user in (eve, idle):
        seen = as_role("editor").get(f"/api/users/{user.id}?fields=id,allowed_actions").get_json()
        assert seen == {"id": user.id, "allowed_actions": []}
        for action in ("disable", "enable"):
            answer = as_role("editor").post(f"/api/users/{user.id}/{action}")
            assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
        assert as_role("editor").patch(f"/api/users/{user.id}", {"email": user.email}).status_code == 403


def test_a_precondition_says_nothing_before_permission_does(as_role, eve):
    for version in (1, 2, 99):
        answer = as_role("editor").patch(f"/api/users/{eve.id}", {"name": "X"}, headers={"If-Match": f'"{version}"'})
        assert answer.status_code == 403


@pytest.mark.parametrize("scope", ["read:users", "write:users", "manage:users"])
@pytest.mark.parametrize(("role", "sees_all"), [("owner", True), ("editor", False)])
def test_a_token_sees_what_its_owner_sees_as_far_as_its_scopes_go(as_user, eve, role, scope, sees_all):
    token = as_user(role, scope=scope)
    assert ("email" in token.get(f"/api/users/{eve.id}").get_json()) is sees_all
    assert bool(rows(token, "email=eve.guarded@example.org")) is sees_all
    assert token.get("/api/users?sort=email").status_code == (200 if sees_all else 400)


def test_a_token_that_may_not_view_users_gets_no_owner(as_user, given, eve):
    article = given.article(owner_id=eve.id)
    token = as_user("owner", scope="read:articles")
    assert token.get(f"/api/articles/{article.id}?expand=owner").get_json()["owner"] is None


# Rules by which more callers export users, and some manage some

@pytest.fixture(scope="module")
def generous(under):
    return under("", {"users.csv": "p, user, user.export, always, allow\n"
                                   "p, support, user.view_private, same_department, allow\n"})


def exported(caller, media_type, query=""):
    answer = caller.get(f"/api/users/export?{query}", headers={"Accept": media_type})
    assert answer.status_code == 200
    text = answer.get_data(as_text=True)
    if media_type == "text/csv":
        lines = csv.DictReader(io.StringIO(text))
        return {line["id"]: {name: value for name, value in line.items() if value} for line in lines}
    return {row["id"]: row for row in map(json.loads, text.splitlines())}


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "text/csv"])
def test_an_export_leaves_out_what_a_list_does(generous, as_user, eve, media_type):
    user = as_user("user")
    user.client = generous.test_client()
    found = exported(user, media_type)
    assert found[eve.id].keys() == PUBLIC
    assert found[user.id]["email"] == user.user.email
    assert "eve.guarded@" not in str(found) and "secret service" not in str(found)
    assert exported(user, media_type, "email=eve.guarded@example.org") == {}
    assert user.get("/api/users/export?sort=email").status_code == 400


@pytest.mark.both_databases
def test_a_manager_of_some_users_sees_filters_and_counts_those(generous, as_user, given, eve):
    sue = as_user("support", department="secret service")
    sue.client = generous.test_client()
    far = given.user("user", name="Eve Guarded", email="far@example.org", department="sales")
    none = given.user("user", name="Eve Guarded", email="none@example.org")
    seen = {item["id"]: item.keys() for item in rows(sue, "name=Eve+Guarded")}
    assert seen[eve.id] == PUBLIC | set(GUARDED)
    assert seen[far.id] == seen[none.id] == PUBLIC
    assert [item["id"] for item in rows(sue, "email=eve.guarded@example.org")] == [eve.id]
    assert rows(sue, "email=far@example.org") == rows(sue, "email=none@example.org") == []
    assert {item["id"] for item in rows(sue, "active=true")} >= {eve.id, sue.id}
    assert not {item["id"] for item in rows(sue, "active=true")} & {far.id, none.id}
    assert sue.get(f"/api/users?email={quote(sue.user.email)}").get_json()["items"][0]["id"] == sue.id
    assert sue.get("/api/users?sort=email").status_code == 400, "an order would reveal e-mails of other users"
