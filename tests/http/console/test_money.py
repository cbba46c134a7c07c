"""Money on the console: in the format of the reader's language, wherever its currency is known."""

from __future__ import annotations

import pytest

from tests.http.console.pages import Seen, visit


@pytest.fixture
def admin(app):
    return visit(app, "admin")


def shown(visitor, path, **query):
    answer = visitor.get(path, query_string={"lang": "en"} | query)
    assert answer.status_code == 200, answer.text
    return Seen.of(answer).text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("currency", "price", "english", "german"), [
    ("EUR", 690, "6.90 EUR", "6,90 EUR"), ("EUR", 5, "0.05 EUR", "0,05 EUR"),
    ("USD", 123_456_789, "1,234,567.89 USD", "1.234.567,89 USD"), ("JPY", 690, "690 JPY", "690 JPY"),
    ("KWD", 1500, "1.500 KWD", "1,500 KWD"), ("XQQ", 690, "6.90 XQQ", "6,90 XQQ"), ("EUR", 0, "0.00 EUR", "0,00 EUR"),
    ("EUR", 10**12, "10,000,000,000.00 EUR", "10.000.000.000,00 EUR")])
def test_a_price_has_the_decimals_of_its_currency(currency, price, english, german, admin, given):
    product = given.product(price=price, currency=currency)
    for path in (f"/console/data/products/{product.id}", "/console/data/products"):
        assert english in shown(admin, path)
        assert german in shown(admin, path, lang="de")


def test_an_order_tells_its_total_and_the_price_of_each_item_in_its_currency(admin, given):
    product = given.product(price=690, currency="EUR", stock=9)
    answer = admin.post("/console/data/orders/create", {
        "items.0.product_id": product.id, "items.0.quantity": "2", "note": ""})
    assert answer.status_code == 303, answer.text
    text = shown(admin, answer.headers["Location"])
    assert "6.90 EUR" in text and "13.80 EUR" in text
    assert "13.80 EUR" in shown(admin, "/console/data/orders")
