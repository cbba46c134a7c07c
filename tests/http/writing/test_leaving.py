"""A grantee gives up their own right to an object, without a permission, and even without seeing the object."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from models.tables import share
from tests.apps import NO_ROW


def leave(caller, row, collection="articles"):
    return caller.delete(f"/api/{collection}/{row if isinstance(row, str) else row.id}/shares?grantee=me")


def shares_of(given, row):
    with given.database.connected():
        return [one.grantee for one in share.of_object(row.tenant_id, "article", row.id)]


@pytest.fixture
def ann(as_user):
    return as_user("user")


@pytest.fixture
def bob(as_user):
    return as_user("user", groups=["press"])


@pytest.fixture
def draft(ann, given):
    return given.article("draft", owner_id=ann.id)


@pytest.mark.parametrize("right", ["read", "write", "delete", "manage"])
def test_a_right_that_is_given_up_is_gone(given, bob, draft, right):
    given.share("article", draft, f"user:{bob.id}", right)
    assert bob.get(f"/api/articles/{draft.id}").status_code == 200
    answer = leave(bob, draft)
    assert (answer.status_code, answer.get_data()) == (204, b"")
    assert bob.get(f"/api/articles/{draft.id}").status_code == 404
    assert leave(bob, draft).status_code == 404


@pytest.mark.parametrize("collection", ["articles", "comments", "categories", "users"])
def test_it_needs_no_permission_to_share_and_no_view(given, bob, collection):
    rows = {"articles": given.article("draft"), "comments": given.comment("pending"), "categories": given.category(),
            "users": given.user()}
    resource = {"articles": "article", "comments": "comment", "categories": "category", "users": "user"}[collection]
    row = rows[collection]
    given.share(resource, row, f"user:{bob.id}", "delete")  # a share that no rule of comments or users reads
    assert leave(bob, row, collection).status_code == 204


def test_where_nothing_is_shared_is_one_answer_whatever_is_there(given, elsewhere, bob):
    own, hidden = given.article("draft", owner_id=bob.id), given.article("draft")
    foreign = elsewhere.article("draft")
    elsewhere.share("article", foreign, f"user:{bob.id}")
    given.share("article", hidden, "group:press")
    answers = [leave(bob, row) for row in (own, hidden, foreign, NO_ROW)]
    said = [answer.get_json() for answer in answers]
    assert {(one["status"], one["code"], one["detail"]) for one in said} == {
        (404, "not_found", "There is no such object, or you may not see it.")}


def test_what_is_shared_with_a_group_or_a_role_stays(given, bob, draft, as_role):
    for grantee in (f"user:{bob.id}", "group:press", "role:user"):
        given.share("article", draft, grantee)
    assert leave(bob, draft).status_code == 204
    assert bob.get(f"/api/articles/{draft.id}").status_code == 200
    shares = as_role("editor").get(f"/api/articles/{draft.id}/shares").get_json()["items"]
    assert [one["grantee"] for one in shares] == ["group:press", "role:user"]


@pytest.mark.both_databases
def test_whom_the_leaving_one_invited_leaves_too(ann, bob, as_user, draft):
    cy = as_user("user")
    for by, to, right in ((ann, bob, "manage"), (bob, cy, "read")):
        assert by.put(f"/api/articles/{draft.id}/shares",
                      {"grantee": f"user:{to.id}", "right": right}).status_code == 200
    assert leave(bob, draft).status_code == 204
    assert ann.get(f"/api/articles/{draft.id}/shares").get_json()["items"] == []


def test_a_guest_has_nothing_to_leave(given, as_role, draft):
    given.share("article", draft, "role:guest")
    answer = leave(as_role("guest"), draft)
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(("scope", "status"), [
    ("read:articles", 403), ("write:articles", 403), ("manage:products", 403), ("", 403), ("manage:articles", 204),
    ("*", 204)])
def test_a_token_leaves_only_what_it_could_share(given, as_user, draft, scope, status):
    bob = as_user("user", scope=scope)
    given.share("article", draft, f"user:{bob.id}")
    answer = leave(bob, draft)
    assert answer.status_code == status
    if status == 403:
        assert answer.get_json()["code"] == "insufficient_scope"
        assert shares_of(given, draft) == [f"user:{bob.id}"]


@pytest.mark.parametrize("query", ["", "grantee=", "grantee=ME", "grantee=me%20", "grantee=me&x=1",
                                   "grantee=me&grantee=me", "grantee=me&grantee=role:user",
                                   "grantee=role:user&grantee=me"])
def test_what_is_not_quite_me_is_400_and_takes_nothing(given, bob, draft, query):
    given.share("article", draft, f"user:{bob.id}", "manage")
    assert bob.delete(f"/api/articles/{draft.id}/shares?{query}").status_code == 400
    assert bob.get(f"/api/articles/{draft.id}").status_code == 200


def test_me_is_no_grantee_that_is_given_a_right(ann, draft):
    answer = ann.put(f"/api/articles/{draft.id}/shares", {"grantee": "me", "right": "read"})
    assert answer.status_code == 400


def test_the_trail_names_it(given, bob, draft, as_role):
    given.share("article", draft, f"user:{bob.id}")
    assert leave(bob, draft).status_code == 204
    [row] = as_role("owner").get(f"/api/audit?action=leave&principal={quote('user:' + bob.id)}").get_json()["items"]
    assert (row["resource"], row["resource_id"], row["result"]) == ("article", draft.id, "allowed")
