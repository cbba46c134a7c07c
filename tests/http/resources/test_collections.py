"""Every collection keeps the contract that plugins are tested with, on both databases."""

from __future__ import annotations

import pytest

from blueprints.articles import Articles
from blueprints.categories import Categories
from blueprints.comments import Comments
from blueprints.orders import Orders
from blueprints.pages import Pages
from blueprints.products import Products
from blueprints.users import Users
from gatepost.collections.plugins.discovery import discover
from gatepost.testing import Example, contract

pytestmark = pytest.mark.both_databases


def an_article(admin, n):
    return {"title": f"Title {n}", "slug": f"contract-{n}", "body": "Words."}


def a_comment(admin, n):
    article = admin.post("/api/articles", an_article(admin, f"of-{n}")).get_json()
    return {"article_id": article["id"], "body": f"Comment {n}"}


def a_product(admin, n):
    return {"name": f"Product {n}", "sku": f"CONTRACT-{n}", "price": 100 + n, "currency": "EUR", "stock": 9}


def an_order(admin, n):
    product = admin.post("/api/products", a_product(admin, n) | {"sku": f"ORDERED-{n}"}).get_json()
    admin.post(f"/api/products/{product['id']}/publish")
    return {"items": [{"product_id": product["id"], "quantity": 2}], "note": f"Order {n}"}


EXAMPLES = (
    Example(Articles, an_article, {"title": "Another"}),
    Example(Categories, lambda admin, n: {"name": f"Category {n}", "slug": f"contract-{n}"}, {"name": "Another"}),
    Example(Comments, a_comment, {"body": "Another"}),
    Example(Orders, an_order, {"note": "Another"}),
    Example(Pages, lambda admin, n: {"slug": f"contract-{n}", "title": "Title", "body": "Words.", "language": "en"},
            {"title": "Another"}),
    Example(Products, a_product, {"price": 1}),
    Example(Users, lambda admin, n: {"name": f"Person {n}", "email": f"person{n}@contract.example.org",
                                     "password": "a long walk along the shore"}, {"name": "Another"}),
)

test_contract = contract(*EXAMPLES)


def test_no_collection_is_left_out():
    whole = {name for name, collection in discover().collections.items()
             if {"create", "update", "replace"} <= {endpoint.name for endpoint in collection.endpoints()}}
    assert {example.collection.name for example in EXAMPLES} == whole
