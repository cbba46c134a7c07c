"""References: only to rows that the caller may see, never in a cycle, and never dangling."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from models.base import Rows
from models.tables.category import Category
from tests.apps import NO_ROW

pytestmark = pytest.mark.both_databases


def code(answer):
    return answer.status_code, answer.json["code"], answer.json["errors"][0].get("pointer")


# What may be named


@pytest.mark.parametrize(("path", "body", "field"), [
    ("/api/articles", {"title": "T", "slug": "t", "body": "B"}, "category_id"),
    ("/api/products", {"name": "N", "sku": "S", "price": 1, "currency": "EUR"}, "category_id"),
    ("/api/categories", {"name": "N", "slug": "n"}, "parent_id"),
    ("/api/articles", {"title": "T", "slug": "t", "body": "B"}, "owner_id"),
    ("/api/comments", {"body": "B"}, "article_id"),
])
def test_what_is_absent_elsewhere_or_no_id_cannot_be_named(as_role, elsewhere, path, body, field):
    admin = as_role("admin")
    there = {"category_id": elsewhere.category, "parent_id": elsewhere.category, "owner_id": elsewhere.user,
             "article_id": elsewhere.article}[field]().id
    assert code(admin.post(path, body | {field: NO_ROW})) == (400, "invalid_reference", f"/{field}")
    assert code(admin.post(path, body | {field: there})) == (400, "invalid_reference", f"/{field}")
    assert code(admin.post(path, body | {field: "x"})) == (400, "invalid_field", f"/{field}")


def test_a_row_that_the_caller_may_not_see_is_as_good_as_absent(as_role, given):
    user, hidden = as_role("user"), given.article("draft")
    answers = [user.post("/api/comments", {"article_id": id, "body": "B"}).json for id in (hidden.id, NO_ROW)]
    assert answers[0]["errors"] == answers[1]["errors"]
    assert as_role("editor").post("/api/comments", {"article_id": hidden.id, "body": "B"}).status_code == 201


def test_a_comment_stays_with_its_article(as_role, given):
    comment = given.comment("pending", owner_id=as_role("user").id)
    path, other = f"/api/comments/{comment.id}", given.article()
    assert code(as_role("user").patch(path, {"article_id": other.id})) == (400, "read_only_field", "/article_id")
    assert code(as_role("moderator").put(path, {"article_id": other.id, "body": "B"}))[1] == "read_only_field"


# What must stay


def test_what_others_refer_to_stays_until_they_are_gone(as_role, given):
    admin = as_role("admin")
    top = given.category()
    child = given.category(parent_id=top.id)
    article = given.article(category_id=child.id)
    product = given.product(category_id=child.id)
    comment = given.comment(article_id=article.id)
    for path in (f"categories/{top.id}", f"categories/{child.id}", f"articles/{article.id}"):
        answer = admin.delete(f"/api/{path}")
        assert (answer.status_code, answer.json["code"]) == (409, "still_referenced")
    for path in (f"comments/{comment.id}", f"articles/{article.id}", f"products/{product.id}",
                 f"categories/{child.id}", f"categories/{top.id}"):
        assert admin.delete(f"/api/{path}").status_code == 204


def test_shares_go_with_their_object(as_role, given):
    article = given.article("draft")
    given.share("article", article, f"user:{as_role('user').id}", "manage")
    assert as_role("user").delete(f"/api/articles/{article.id}").status_code == 204
    with given.database.connected():
        from models.tables.share import of_object

        assert of_object(given.tenant_id, "article", article.id) == []


@pytest.mark.parametrize(("path", "body"), [
    ("/api/articles", {"title": "T", "slug": "twice", "body": "B"}),
    ("/api/products", {"name": "N", "sku": "TWICE", "price": 1, "currency": "EUR"}),
    ("/api/categories", {"name": "N", "slug": "twice"}),
])
def test_a_name_is_taken_once_in_a_tenant(as_role, path, body):
    for tenant in ("default", "other"):
        admin = as_role("admin", tenant=tenant)
        assert admin.post(path, body).status_code == 201
        unique = "sku" if "sku" in body else "slug"
        assert code(admin.post(path, body)) == (409, "already_exists", f"/{unique}")


# The tree of categories


def test_a_category_cannot_lie_below_itself(as_role, given):
    manager = as_role("manager")
    top = given.category()
    middle = given.category(parent_id=top.id)
    leaf = given.category(parent_id=middle.id)
    for below in (top, middle, leaf):
        answer = manager.patch(f"/api/categories/{top.id}", {"parent_id": below.id})
        assert (answer.status_code, answer.json["code"]) == (409, "conflict")
        whole = {"name": "N", "slug": top.slug, "parent_id": below.id}
        assert manager.put(f"/api/categories/{top.id}", whole).status_code == 409
    assert manager.patch(f"/api/categories/{leaf.id}", {"parent_id": top.id}).status_code == 200
    assert manager.patch(f"/api/categories/{middle.id}", {"parent_id": None}).status_code == 200


@pytest.mark.parametrize("size", [2, 3, 5])
def test_moves_at_the_same_time_never_close_a_circle(as_role, given, size):
    """Moves each category below the next: each move alone is valid, but all of them make a cycle."""
    manager = as_role("manager")
    for _ in range(4):
        ring = [given.category() for _ in range(size)]

        def move(index, ring=ring):
            return manager.patch(f"/api/categories/{ring[index].id}", {"parent_id": ring[(index + 1) % size].id})

        with ThreadPoolExecutor(size) as pool:
            answers = sorted(answer.status_code for answer in pool.map(move, range(size)))
        assert answers == [200] * (size - 1) + [409]
        with given.database.connected():
            parents = {row.id: row.parent_id for row in Rows(Category, given.tenant_id).find_all({
                category.id for category in ring})}
        assert list(parents.values()).count(None) == 1


def test_an_import_cannot_close_a_circle_either(as_role, given):
    top = given.category()
    below = given.category(parent_id=top.id)
    line = json.dumps({"id": top.id, "name": "N", "slug": top.slug, "parent_id": below.id})
    answer = as_role("manager").post("/api/categories/import", data=line, content_type="application/x-ndjson")
    assert (answer.status_code, answer.json["errors"][0]["code"]) == (400, "conflict")
    assert given.found(Category, top.id).parent_id is None
