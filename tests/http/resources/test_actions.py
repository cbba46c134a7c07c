"""Actions with and without a body and transitions, and lists filtered by an entry."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from marshmallow import fields
from marshmallow.validate import OneOf

from gatepost.collections.plugins.discovery import discover
from gatepost.http.request import events
from gatepost.testing import Example, log_in
from gatepost.testing.contract import CHECKS, World
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.http.resources.shelf import books as module
from tests.http.resources.shelf.books import Books, BookSchema
from tests.samples import sampled

EXAMPLE = Example(Books, body=lambda admin, n: {"title": f"Book {n}"}, changes={"tags": ["old"]},
                  actions={"rate": {"stars": 4}})


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def app(request, tmp_path_factory):
    url = new_database(request.param, request, migrated=False)
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover([Books]).migrations)
    database.close_all()
    folder = new_instance(tmp_path_factory.mktemp("shelf") / "instance", url, "default", "contract")
    made = make_app(folder, url, [Books])
    yield made
    close(made)


@pytest.fixture(scope="module")
def user(app):
    return log_in(app, "user")


@pytest.fixture(scope="module")
def editor(app):
    return log_in(app, "editor")


numbers = iter(range(10_000))


def book(caller, **body):
    answer = caller.post("/api/books", {"title": f"Number {next(numbers)}", **body})
    assert answer.status_code == 201, answer.text
    return answer.get_json()


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_is_kept_with_actions_of_every_kind(app, check):
    check(World(app, EXAMPLE))


def rate(caller, row, body, **headers):
    return caller.post(f"/api/books/{row['id']}/rate", body, headers=headers)


def test_an_action_gets_its_body_and_who_calls(user, editor):
    row = book(user)
    answer = rate(user, row, {"stars": 3})
    assert (answer.status_code, answer.get_json()["stars"], answer.get_json()["status"]) == (200, 3, "here")
    assert answer.get_json()["version"] == 2
    assert answer.headers["ETag"].startswith('"2')
    refused = rate(user, row, {"stars": 5})
    assert (refused.status_code, refused.get_json()["code"]) == (409, "conflict")
    assert user.get(f"/api/books/{row['id']}").get_json()["stars"] == 3


@pytest.mark.parametrize(("body", "code", "pointer"), [
    ({}, "missing_field", "/stars"),
    ({"stars": 6}, "invalid_field", "/stars"),
    ({"stars": "3"}, "invalid_field", "/stars"),
    ({"stars": 3, "more": 1}, "unknown_field", "/more"),
    ({"stars": 3, "given": "x"}, "read_only_field", "/given"),
    ({"stars": 3, "about": "01930000-0000-7000-8000-000000000000"}, "invalid_reference", "/about"),
])
def test_a_body_that_is_wrong_is_refused_as_everywhere(user, body, code, pointer):
    answer = rate(user, book(user), body)
    assert answer.status_code == 400
    assert [(one["code"], one["pointer"]) for one in answer.get_json()["errors"]] == [(code, pointer)]


def test_an_action_is_judged_by_its_own_permission(app, user):
    row = book(user)
    assert log_in(app, "user").post(f"/api/books/{row['id']}/lend").status_code == 403
    assert user.client.post(f"/api/books/{row['id']}/rate", json={"stars": 1}).status_code == 401
    assert log_in(app, "user").post(f"/api/books/{row['id']}/rate", {"stars": 1}).status_code == 200


def test_an_action_keeps_to_if_match_and_is_done_once_for_a_key(user):
    row = book(user)
    assert rate(user, row, {"stars": 2}, **{"If-Match": '"7"'}).status_code == 412
    first, second = (rate(user, row, {"stars": 2}, **{"Idempotency-Key": f"rate-{row['id']}"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.get_json() == second.get_json()
    assert second.headers["Idempotency-Replayed"] == "true"
    other = rate(user, row, {"stars": 3}, **{"Idempotency-Key": f"rate-{row['id']}"})
    assert (other.status_code, other.get_json()["code"]) == (422, "idempotency_mismatch")


def test_an_action_that_changes_nothing_of_the_row_leaves_its_version(user):
    row = book(user)
    answer = user.post(f"/api/books/{row['id']}/keep")
    assert (answer.status_code, answer.get_json()) == (200, row)


def test_an_action_is_an_event_and_an_update_only_where_it_changes_the_row(user, monkeypatch):
    noted = []
    monkeypatch.setattr(events, "note", lambda call, collection, what, id: noted.append((collection, what, id)))
    row = book(user)
    for name, body in (("keep", {}), ("rate", {"stars": 2})):
        assert user.post(f"/api/books/{row['id']}/{name}", body).status_code == 200
    assert [(name, what) for name, what, id in noted if id == row["id"]] == [
        ("books", "created"), ("books", "keep"), ("books", "updated"), ("books", "rate")]


def test_a_row_moves_along_with_a_body_and_back_without(user, app):
    row = book(user, tags=["red"])
    lent = user.post(f"/api/books/{row['id']}/lend", {"to": "Ada"}).get_json()
    assert (lent["status"], lent["tags"]) == ("lent", ["red", "at Ada"])
    again = user.post(f"/api/books/{row['id']}/lend")
    assert (again.status_code, again.get_json()["code"]) == (409, "invalid_transition")
    admin = log_in(app, "admin")
    assert admin.post(f"/api/books/{row['id']}/come_back").get_json()["status"] == "here"


def test_allowed_actions_name_what_needs_no_state_always(user, app):
    row, admin = book(user), log_in(app, "admin")
    shown = admin.get(f"/api/books/{row['id']}?fields=allowed_actions").get_json()["allowed_actions"]
    assert {"rate", "keep", "lend"} <= set(shown)
    assert "come_back" not in shown
    mine = user.get(f"/api/books/{row['id']}?fields=allowed_actions").get_json()["allowed_actions"]
    assert {"rate", "keep", "lend"} <= set(mine)
    theirs = log_in(app, "user").get(f"/api/books/{row['id']}?fields=allowed_actions").get_json()["allowed_actions"]
    assert [name for name in theirs if name in ("rate", "keep", "lend")] == ["rate"]


def test_explain_has_no_rule_of_state_for_an_action_without_one(user, app):
    row, admin = book(user), log_in(app, "admin")

    def rules(permission):
        answer = admin.get(f"/api/admin/policy/explain?permission={permission}&id={row['id']}&as={user.id}")
        assert answer.status_code == 200, answer.text
        assert answer.get_json()["verdict"] == "allowed"
        return [rule["name"] for rule in answer.get_json()["rules"]]

    assert "state" not in rules("book.rate")
    assert "state" in rules("book.lend")


def test_the_audit_trail_names_who_did_it(user, app):
    row, admin = book(user), log_in(app, "admin")
    rate(user, row, {"stars": 1})
    found = admin.get(f"/api/audit?resource_id={row['id']}").get_json()["items"]
    assert (found[0]["action"], found[0]["principal"]) == ("rate", f"user:{user.id}")


def test_the_document_describes_the_body_of_an_action(app, user):
    paths = user.get("/api/openapi.json").get_json()["paths"]
    rated, kept = (paths[f"/api/books/{{id}}/{name}"]["post"] for name in ("rate", "keep"))
    assert rated["operationId"] == "books_rate"
    assert rated["requestBody"]["required"] is True
    assert "Rate" in rated["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert "requestBody" not in kept
    lent = paths["/api/books/{id}/lend"]["post"]["requestBody"]
    assert lent["required"] is False


# Lists filtered by an entry

TAGS = ["red", 'a"b', "it's", "100%", "a\\b", "ünïcode", "', 1) OR 1=1 --", "[]", "$.x", "\U0001f4d6", "red wine"]


@pytest.mark.both_databases
@pytest.mark.parametrize("tag", sampled(TAGS, 2))
def test_has_finds_the_rows_whose_list_has_the_entry(app, tag):
    caller = log_in(app, "user")
    with_it, without = book(caller, tags=["other", tag]), book(caller, tags=["other"])
    found = [row["id"] for row in caller.get(f"/api/books?tags__has={quote(tag)}").get_json()["items"]]
    assert with_it["id"] in found
    assert without["id"] not in found
    bare = book(caller)
    assert bare["id"] not in [row["id"] for row in caller.get("/api/books?tags__has=other").get_json()["items"]]


@pytest.mark.both_databases
def test_has_counts_pages_and_exports_like_every_filter(app):
    caller = log_in(app, "user")
    mine = {book(caller, tags=["counted"])["id"] for _ in range(5)}
    page = caller.get("/api/books?tags__has=counted&page=1&page_size=2").get_json()
    assert (page["total"], len(page["items"])) == (5, 2)
    found, path = set(), "/api/books?tags__has=counted&limit=2"
    for _ in range(3):
        answer = caller.get(path).get_json()
        found |= {row["id"] for row in answer["items"]}
        path = f"/api/books?tags__has=counted&limit=2&cursor={answer['next_cursor']}"
    assert found == mine
    assert caller.get("/api/books?tags__has=").status_code == 400
    assert caller.get("/api/books?tags__has=a&tags__has=b").status_code == 400
    assert caller.get("/api/books?tags=counted").status_code == 400


def test_has_tells_nothing_of_a_list_that_is_hidden(app):
    caller, editor = log_in(app, "user"), log_in(app, "editor")
    row = book(caller, secrets=["buried"])
    assert "secrets" not in row
    assert caller.get("/api/books?secrets__has=buried").get_json()["items"] == []
    assert row["id"] not in [one["id"] for one in caller.get("/api/books?secrets__isnull=false").get_json()["items"]]
    admin = log_in(app, "admin")
    assert [one["id"] for one in admin.get("/api/books?secrets__has=buried").get_json()["items"]] == [row["id"]]
    assert editor.get("/api/books?secrets__has=other").get_json()["items"] == []


def test_the_document_says_what_has_means(user):
    document = user.get("/api/openapi.json").get_json()
    known = [document["components"]["parameters"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
             for one in document["paths"]["/api/books"]["get"]["parameters"]]
    about, = [one["description"] for one in known if one["name"] == "tags__has"]
    assert about == "Only rows that have this among their tags."


def test_the_module_is_a_plugin_too():
    from gatepost.collections.plugins.contents import contents

    assert contents(module) == [Books]


class LostSchema(BookSchema):
    """One book, which code alone may find lost."""

    status = fields.String(dump_only=True, validate=OneOf(["here", "lost"]))


def test_a_state_that_only_code_sets_is_known_by_the_choices_of_the_schema():
    found = discover([type("Books", (Books,), {"schema": LostSchema, "__module__": Books.__module__})])
    assert found.collections["books"].values_of("status") == ("here", "lent", "lost")
    assert found.vocabulary.resources["book"].columns["status"].values == ("here", "lent", "lost")
    assert discover([Books]).collections["books"].values_of("status") == ("here", "lent")
