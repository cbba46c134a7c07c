"""PUT and PATCH (docs/api/writing.md, Objects; RFC 7396): changed fields, unchanged fields, and refusals."""

from __future__ import annotations

import re

import pytest

from tests.apps import NO_ROW, ROLES
from tests.databases import Statements
from tests.samples import sampled


@pytest.fixture(scope="module")
def rows(given, as_role):
    """Rows of every collection. The caller of each role owns some."""
    made = {"articles": [], "products": [], "orders": [], "comments": [], "categories": [], "pages": [], "users": []}
    for role in ROLES[1:]:
        own = {"owner_id": as_role(role).id}
        made["articles"] += [given.article(status, **own) for status in ("draft", "published")]
        made["comments"] += [given.comment("pending", **own), given.comment("approved", **own)]
        made["orders"].append(given.order("pending", note="Ring twice.", **own))
        made["users"].append(as_role(role).user)
    made["products"] = [given.product(), given.product("draft", description="Words.", stock=0)]
    made["categories"] = [top := given.category(), given.category(parent_id=top.id)]
    made["pages"] = [given.page(), given.page("draft", language="pt-BR")]
    return made


COLLECTIONS = ("articles", "products", "orders", "comments", "categories", "pages", "users")
# The roles that may change at least one of the rows above.
CHANGERS = {
    "articles": {"user", "support", "editor", "moderator", "manager", "developer", "owner", "admin"},
    "products": {"manager", "owner", "admin"},
    "orders": set(ROLES[1:]),
    "comments": {"user", "support", "editor", "moderator", "manager", "developer", "owner", "admin"},
    "categories": {"editor", "manager", "owner", "admin"},
    "pages": {"editor", "owner", "admin"},
    "users": set(ROLES[1:]),
}


@pytest.mark.parametrize("role", sampled(ROLES, 3))
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_put_of_an_untouched_get_changes_nothing_but_version_and_updated_at(rows, as_role, collection, role):
    caller, changed = as_role(role), 0
    for row in rows[collection]:
        path = f"/api/{collection}/{row.id}"
        before = caller.get(path)
        if before.status_code != 200:
            assert before.status_code in (401, 403, 404)
            continue
        answer = caller.put(path, before.get_json())
        if answer.status_code != 200:
            # A stranger sees a part of a user, which is not enough to replace the user.
            assert answer.status_code in ((400, 403) if collection == "users" else (401, 403))
            continue
        changed += 1
        after = caller.get(path).get_json()
        expected = {**before.get_json(), "version": after["version"], "updated_at": after["updated_at"]}
        assert after == expected == {**answer.get_json()}
        assert after["version"] > before.get_json()["version"]
        assert after["updated_at"] > before.get_json()["updated_at"]
    assert bool(changed) == (role in CHANGERS[collection])


@pytest.mark.parametrize("role", sampled(ROLES, 3))
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_patch_of_nothing_changes_nothing(rows, as_role, collection, role):
    caller = as_role(role)
    for row in rows[collection]:
        path = f"/api/{collection}/{row.id}"
        before = caller.get(path)
        answer = caller.patch(path, {})
        if answer.status_code == 200:
            assert answer.get_json() == before.get_json() == caller.get(path).get_json()
            assert answer.headers["ETag"] == before.headers["ETag"]


@pytest.fixture
def article(given, as_role):
    category = given.category()
    id = given.article("draft", language="de", category_id=category.id, owner_id=as_role("user").id).id
    return as_role("user").get(f"/api/articles/{id}").get_json()


def test_put_replaces_in_full_so_what_is_left_out_goes_back_to_its_default(as_role, article):
    body = {name: article[name] for name in ("title", "slug", "body")}
    found = as_role("user").put(f"/api/articles/{article['id']}", body).get_json()
    assert (found["language"], found["category_id"]) == ("en", None)
    assert (found["owner_id"], found["status"], found["created_at"]) == tuple(
        article[name] for name in ("owner_id", "status", "created_at"))


@pytest.mark.both_databases
def test_a_put_stores_only_the_values_that_it_changes(app, as_role, article, monkeypatch):
    """Each stored value is written to its indexes, and a text is split into words again."""
    database, statements = app.extensions["gatepost"].database, Statements()
    write = type(database).write
    before = as_role("admin").get(f"/api/articles/{article['id']}").get_json()
    with monkeypatch.context() as patched:
        patched.setattr(type(database), "write", lambda self, sql, params=(): (
            statements.note(sql), write(self, sql, params))[1])
        answer = as_role("admin").put(f"/api/articles/{before['id']}", {**before, "language": "pt-BR"})
    assert answer.status_code == 200 and answer.get_json()["language"] == "pt-BR"
    update, = [sql.partition(" WHERE ")[0] for sql in statements if sql.startswith('UPDATE "articles"')]
    assert set(re.findall(r'"(\w+)" = ', update)) == {"version", "updated_at", "language"}


def test_put_makes_nothing_and_needs_every_required_field(as_role, article):
    user = as_role("user")
    body = {"title": "t", "slug": "nowhere", "body": "b"}
    assert user.put(f"/api/articles/{NO_ROW}", body).status_code == 404
    answer = user.put(f"/api/articles/{article['id']}", {"title": "t"})
    assert answer.status_code == 400
    assert {(fault["code"], fault["pointer"]) for fault in answer.get_json()["errors"]} == {
        ("missing_field", "/slug"), ("missing_field", "/body")}


@pytest.mark.parametrize("type", ["application/merge-patch+json", "application/json"])
def test_a_merge_patch_changes_what_it_names_and_null_takes_away(as_role, article, type):
    path = f"/api/articles/{article['id']}"
    answer = as_role("user").patch(path, data='{"title": "New", "category_id": null}', headers={"Content-Type": type})
    found = answer.get_json()
    assert (answer.status_code, found["title"], found["category_id"], found["language"]) == (200, "New", None, "de")


@pytest.mark.parametrize(("body", "code", "pointer"), [
    ({"title": None}, "invalid_field", "/title"),
    ({"nope": 1}, "unknown_field", "/nope"),
    ({"a/b~c": 1}, "unknown_field", "/a~1b~0c"),
    ({"status": "published"}, "read_only_field", "/status"),
    ({"version": 99}, "read_only_field", "/version"),
    ({"id": NO_ROW}, "read_only_field", "/id"),
    ({"tenant_id": NO_ROW}, "read_only_field", "/tenant_id"),
    ({"owner_id": NO_ROW}, "read_only_field", "/owner_id"),
    ({"department": "sales"}, "read_only_field", "/department"),
    ({"category_id": NO_ROW}, "invalid_reference", "/category_id"),
])
def test_a_patch_that_cannot_be_is_refused_and_says_where(as_role, article, body, code, pointer):
    path = f"/api/articles/{article['id']}"
    answer = as_role("user").patch(path, body)
    assert (answer.status_code, answer.get_json()["code"]) == (400, code)
    assert [fault["pointer"] for fault in answer.get_json()["errors"]] == [pointer]
    assert as_role("user").get(path).get_json() == article


def test_read_only_fields_are_accepted_when_they_are_what_is_stored(as_role, article):
    body = {name: article[name] for name in ("id", "tenant_id", "status", "version", "created_at", "owner_id")}
    answer = as_role("user").patch(f"/api/articles/{article['id']}", {**body, "title": "Mine"})
    assert (answer.status_code, answer.get_json()["title"]) == (200, "Mine")


def test_another_media_type_is_refused_with_the_types_to_send(as_role, article):
    answer = as_role("user").patch(f"/api/articles/{article['id']}", data="[]",
                                   headers={"Content-Type": "application/json-patch+json"})
    assert (answer.status_code, answer.get_json()["code"]) == (415, "unsupported_media_type")
    assert "application/merge-patch+json" in answer.headers["Accept-Patch"]


def test_a_caller_cannot_move_a_row_out_of_their_own_reach(as_role, article, given):
    path = f"/api/articles/{article['id']}"
    assert as_role("user").patch(path, {"owner_id": article["owner_id"]}).status_code == 200
    assert as_role("user").patch(path, {"owner_id": given.user().id}).status_code == 400
    assert as_role("editor").patch(path, {"owner_id": as_role("editor").id}).status_code == 200
    assert as_role("user").get(path).status_code == 404
