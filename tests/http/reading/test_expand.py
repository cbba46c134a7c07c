"""Expansions: objects beside their ids, each authorised separately, with one query for a page."""

import pytest

from models.records import bulk
from models.tables.order import OrderItem
from models.tables.product import Product
from tests.apps import close, make_app, new_instance
from tests.databases import Statements
from tests.samples import sampled


@pytest.fixture(scope="module")
def filed(given):
    category = given.category(name="News", slug="news")
    author = given.user("user", name="Ada")
    article = given.article(category_id=category.id, owner_id=author.id)
    return {"category": category, "author": author, "article": article}


def item(caller, path):
    answer = caller.get(path)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def test_the_object_stands_beside_its_id(client, filed):
    article = item(client, f"/api/articles/{filed['article'].id}?expand=category")
    assert article["category_id"] == filed["category"].id
    assert article["category"] == item(client, f"/api/categories/{filed['category'].id}")


def test_lists_expand_like_items(client, filed):
    found = item(client, "/api/articles?category=news&expand=category")["items"]
    assert [row["category"]["slug"] for row in found] == ["news"]


def test_an_object_that_the_caller_may_not_view_is_null(client, as_role, filed):
    path = f"/api/articles/{filed['article'].id}?expand=owner"
    assert item(client, path)["owner"] is None
    assert item(as_role("user"), path)["owner"] == {"id": filed["author"].id, "name": "Ada", "role": "user"}
    assert item(as_role("admin"), path)["owner"]["email"] == filed["author"].email


def test_absent_and_hidden_objects_are_alike(given, as_role):
    hidden = given.article("draft")
    comment = given.comment(article_id=hidden.id)
    shown = item(as_role("support"), f"/api/comments/{comment.id}?expand=article")
    assert (shown["article_id"], shown["article"]) == (hidden.id, None)
    assert item(as_role("editor"), f"/api/comments/{comment.id}?expand=article")["article"]["id"] == hidden.id


def test_a_reference_to_nothing_is_null(client, given):
    article = given.article(category_id=None)
    assert item(client, f"/api/articles/{article.id}?expand=category,owner")["category"] is None


def test_a_parent_is_expanded_once_and_no_further(client, given):
    top = given.category()
    middle = given.category(parent_id=top.id)
    low = given.category(parent_id=middle.id)
    shown = item(client, f"/api/categories/{low.id}?expand=parent")
    assert shown["parent"]["id"] == middle.id
    assert "parent" not in shown["parent"]


def test_products_of_an_order_stand_in_its_items(as_user, given):
    caller = as_user("user")
    product = given.product(name="Lamp")
    order = given.order(product=product, owner_id=caller.id)
    shown = item(caller, f"/api/orders/{order.id}?expand=items.product")
    assert shown["items"][0]["product_id"] == product.id
    assert shown["items"][0]["product"]["name"] == "Lamp"
    only = item(caller, f"/api/orders/{order.id}?fields=id&expand=items.product")
    assert list(only) == ["id", "items"]
    assert "product" not in item(caller, f"/api/orders/{order.id}")["items"][0]


@pytest.mark.slow
def test_a_page_of_long_orders_is_expanded_though_no_statement_holds_as_many_products(as_role, given):
    few, many = given.order(), 16_400  # twice as many values, counted in powers of two, are too many for SQLite
    products = [Product(name=f"Nail {n}", sku=f"nail-{n}", price=1, currency="EUR", stock=0, status="active")
                for n in range(many)]

    def store():
        bulk.insert(given.database, few.tenant_id, products)
        bulk.insert(given.database, few.tenant_id, [
            OrderItem(order_id=few.id, position=n, product_id=product.id, quantity=1, unit_price=1)
            for n, product in enumerate(products, start=1)])

    given.database.transact(store)
    shown = item(as_role("admin"), f"/api/orders/{few.id}?expand=items.product")["items"][1:]
    assert [row["product"]["name"] for row in shown] == [product.name for product in products]


def test_a_product_that_is_not_for_sale_any_more_is_null(as_user, given):
    caller = as_user("user")
    order = given.order(product=given.product("archived"), owner_id=caller.id)
    row = item(caller, f"/api/orders?expand=items.product&limit=1&fields=items&owner_id={order.owner_id}")["items"][0]
    assert row["items"][0]["product"] is None


def test_fields_do_not_keep_an_expansion_out(client, filed):
    shown = item(client, f"/api/articles/{filed['article'].id}?fields=title&expand=category")
    assert sorted(shown) == ["category", "title"]


@pytest.mark.parametrize("collection", ["articles", "comments", "categories", "orders", "pages"])
@pytest.mark.parametrize("expand", sampled([
    "", "nothing", "password_hash", "category.parent", "owner,", "owner;drop", "*", "items"], 2))
def test_what_is_not_declared_cannot_be_expanded(as_role, collection, expand):
    for path in (f"/api/{collection}", f"/api/{collection}/01930000-0000-7000-8000-000000000000"):
        answer = as_role("admin").get(path, query_string={"expand": expand})
        assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_parameter")


def test_an_export_expands_nothing(as_role):
    answer = as_role("editor").get("/api/articles/export?expand=category")
    assert (answer.status_code, answer.get_json()["code"]) == (400, "unknown_parameter")


@pytest.mark.both_databases
@pytest.mark.parametrize("rows", [1, 3, 20])
def test_each_expansion_of_a_page_is_one_query(client, given, monkeypatch, rows):
    tag = f"batch-{rows}"
    for _ in range(rows):
        category = given.category()
        given.article(category_id=category.id, title=f"{tag} {category.slug}", owner_id=given.user().id)
    statements = Statements()

    def count(path):
        statements.clear()
        assert len(item(client, path)["items"]) == rows
        return len(statements)

    services = client.application.extensions["gatepost"]
    kind = type(services.database)
    run = kind.query
    monkeypatch.setattr(kind, "query", lambda self, sql, params=(): statements.note(sql) or run(self, sql, params))
    plain = count(f"/api/articles?limit=50&title__startswith={tag}")
    assert count(f"/api/articles?limit=50&title__startswith={tag}&expand=category") == plain + 1


def test_a_narrower_policy_narrows_expansions_and_categories(tmp_path, database_url):
    """Guests who may not view categories learn nothing about them by an expansion or a filter."""
    folder = new_instance(tmp_path / "instance", database_url, "default")
    rules = folder / "policies" / "categories.csv"
    kept = [line for line in rules.read_text().splitlines() if not line.replace(" ", "").startswith("p,guest,")]
    rules.write_text("\n".join(kept) + "\n")
    app = make_app(folder, database_url)
    try:
        guest = app.test_client()
        assert guest.get("/api/categories").status_code == 401
        rows = item(guest, "/api/articles?expand=category&limit=100")["items"]
        assert any(row["category_id"] for row in rows)
        assert {row["category"] for row in rows} == {None}
        assert item(guest, "/api/articles?category=news")["items"] == []
        filed = next(row["category_id"] for row in rows if row["category_id"])
        assert item(guest, f"/api/articles?category={filed}")["items"] == []
    finally:
        close(app)
