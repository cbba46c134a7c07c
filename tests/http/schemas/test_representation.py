"""The answer to a list equals, byte for byte, the rows as the collection's schema dumps them."""

import orjson
import pytest

from models.base import Rows
from tests.apps import NO_ROW

ODD = 'Zoë \u2028 "quoted" \\ </script> 🪑 \t'


@pytest.fixture(scope="module", autouse=True)
def rows(given):
    """Rows of every collection, with and without optional values, and with text that needs escaping."""
    category = given.category(name=ODD)
    given.category(parent_id=category.id)
    owner = given.user(name=ODD, groups=["a", 'b"c'], department="x")
    given.user(groups=[], department=None, active=False)
    article = given.article(title=ODD, body=ODD * 10, category_id=category.id, owner_id=owner.id)
    given.article("draft", department="news")
    given.comment(body=ODD, article_id=article.id)
    given.page(body=ODD, title="Page")
    given.page("draft", published_at=None)
    product = given.product(name=ODD, description=None, price=2**53 + 1, stock=0)
    given.product("draft", description=ODD)
    given.order(product=product, owner_id=owner.id, note=ODD)
    given.order(note=None)
    given.contact_message(body=ODD)
    given.service_token(owner)


COLLECTIONS = ("articles", "categories", "comments", "contact", "orders", "pages", "products", "tokens", "users")


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_list_is_what_the_schema_dumps(app, as_role, given, name):
    collection = app.extensions["gatepost"].collections[name]
    answered = {row["id"]: row for row in as_role("admin").get(f"/api/{name}?limit=200").get_json()["items"]}
    with given.database.connected():
        stored = [dict(row.__data__) for row in Rows(collection.model, given.tenant_id).select()]
        collection.attach(given.tenant_id, stored)
    assert len(stored) == len(answered) > 0
    for row in stored:
        expected = collection.body_schema.dump(row)
        assert orjson.dumps(answered[row["id"]]) == orjson.dumps(expected)


@pytest.mark.parametrize("name", ["articles", "products", "orders", "users"])
def test_an_item_and_a_list_entry_are_alike(as_role, name):
    admin = as_role("admin")
    for row in admin.get(f"/api/{name}?limit=200").get_json()["items"]:
        assert orjson.dumps(admin.get(f"/api/{name}/{row['id']}").get_json()) == orjson.dumps(row)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_some_fields_are_a_part_of_the_whole(as_role, app, name):
    names = app.extensions["gatepost"].collections[name].representation.names
    admin = as_role("admin")
    whole = admin.get(f"/api/{name}?limit=200").get_json()["items"]
    for chosen in (names[::2], names[1::2], (names[-1],), tuple(reversed(names))):
        part = admin.get(f"/api/{name}?limit=200&fields={','.join(chosen)}").get_json()["items"]
        wanted = [field for field in names if field in chosen]
        assert [list(row) for row in part] == [[field for field in wanted if field in row] for row in whole]
        assert part == [{field: row[field] for field in wanted if field in row} for row in whole]


def test_numbers_and_truth_values_stay_what_they_are(as_role):
    product = as_role("admin").get("/api/products?price=9007199254740993").get_json()["items"][0]
    assert product["price"] == 2**53 + 1
    users = as_role("admin").get("/api/users?active=false&fields=active").get_json()["items"]
    assert users == [{"active": False}]


def test_a_row_that_does_not_exist_is_404(as_role):
    assert as_role("admin").get(f"/api/articles/{NO_ROW}").status_code == 404
