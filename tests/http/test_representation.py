"""Answers are made by an encoder that is derived from the schema: byte for byte what `schema.dump` would give."""

from __future__ import annotations

import orjson
import pytest

from blueprints.http.registry import discover
from models.base import Rows

UNUSUAL = 'A "quoted" \\ title \u2028 \U0001f600 é'


@pytest.fixture(scope="module")
def rows(given):
    """Rows of every collection, with and without what may be missing."""
    owner = given.user("editor", name=UNUSUAL, department="news", groups=["a", "b"])
    category = given.category(name=UNUSUAL)
    article = given.article("draft", title=UNUSUAL, owner_id=owner.id, department="news", category_id=category.id)
    product = given.product(name=UNUSUAL, description=UNUSUAL, price=2**40, owner_id=owner.id)
    return {
        "users": [owner, given.user("user", active=False)],
        "categories": [category, given.category(parent_id=category.id)],
        "articles": [article, given.article()],
        "comments": [given.comment("pending", article_id=article.id, body=UNUSUAL, owner_id=owner.id), given.comment()],
        "pages": [given.page("draft", title=UNUSUAL), given.page(owner_id=owner.id)],
        "products": [product, given.product(stock=0)],
        "orders": [given.order(product=product, quantity=3, note=UNUSUAL, owner_id=owner.id), given.order("shipped")],
        "contact": [given.contact_message(body=UNUSUAL)],
        "tokens": [given.service_token(owner, scopes=["read:articles", "write:profile"]), given.service_token(owner)],
    }


def test_no_collection_is_left_out(rows):
    assert set(rows) == set(discover().collections) - {"audit"}


@pytest.mark.parametrize("name", sorted(set(discover().collections) - {"audit"}))
def test_what_is_listed_is_what_the_schema_dumps(app, as_role, given, rows, name):
    collection = app.extensions["gatepost"].collections[name]
    listed = {}
    following = f"/api/{name}?limit=100"
    while following:
        page = as_role("admin").get(following).get_json()
        listed |= {item["id"]: item for item in page["items"]}
        following = f"/api/{name}?limit=100&cursor={page['next_cursor']}" if page["has_next"] else None
    with given.database.connected():
        stored = [dict(row.__data__) for row in Rows(collection.model, given.tenant_id).find_all(
            [row.id for row in rows[name]])]
        collection.attach(given.tenant_id, stored)
    assert len(stored) == len(rows[name])
    for values in stored:
        dumped = orjson.dumps(collection.schema().dump(values))
        assert orjson.dumps(listed[values["id"]]) == dumped
        assert orjson.dumps(collection.representation.encode(values, collection.representation.names)) == dumped


@pytest.mark.parametrize("name", ["articles", "products", "orders", "users", "categories", "comments", "pages"])
def test_one_alone_is_what_is_listed(as_role, rows, name):
    for row in rows[name]:
        alone = as_role("admin").get(f"/api/{name}/{row.id}")
        assert alone.status_code == 200
        listed = as_role("admin").get(f"/api/{name}?sort=-created_at&limit=100").get_json()["items"]
        assert alone.get_json() in listed
