"""The example data that `gatepost init` puts into a new instance."""

from __future__ import annotations

from collections import Counter

import pytest

from models.base import Rows
from models.engine.connect import open_database
from models.tables.article import Article
from models.tables.category import Category
from models.tables.comment import Comment
from models.tables.contact import ContactMessage
from models.tables.order import Order, items_of
from models.tables.page import Page
from models.tables.product import Product
from models.tables.tenant import Tenant
from models.tables.user import User
from tests.commands.conftest import _environment
from tests.running import PASSWORD, Instance

ROLES = {"user", "support", "editor", "moderator", "manager", "developer", "owner", "admin"}


@pytest.fixture(scope="module")
def shown(dialect, request, tmp_path_factory):
    """`shown(Model, tenant="default")` returns the rows of a new instance."""
    made = Instance(tmp_path_factory.mktemp("shown") / "instance", _environment(dialect, request))
    done = made.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    url = made.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{made.folder / 'gatepost.db'}")
    database = open_database(url, pool_size=1)
    with database.connected():
        yield lambda model, tenant="default": list(Rows(model, Tenant.by_name(tenant).id).select())
    database.close_all()


def test_there_are_a_dozen_people_of_every_role_in_two_tenants(shown):
    here, there = shown(User), shown(User, "harbour")
    assert len(here) >= 12 and len(there) >= 4
    assert {user.role for user in here} == ROLES
    assert {user.role for user in there} >= {"owner", "editor", "user"}


def test_only_the_administrator_can_log_in_until_others_are_given_a_password(shown):
    hashes = Counter(user.password_hash.startswith("$argon2") for user in shown(User) + shown(User, "harbour"))
    assert hashes[True] == 1


def test_articles_are_written_in_two_languages_and_in_several_states(shown):
    articles = shown(Article)
    assert Counter(article.language for article in articles)["de"] >= 3
    assert {article.status for article in articles} >= {"draft", "in_review", "published"}
    assert all(len(article.body) > 100 for article in articles if article.language == "de")


def test_a_first_page_of_articles_is_english_and_so_is_the_newest_comment(shown):
    newest = sorted(shown(Article), key=lambda article: article.created_at)[-20:]
    assert {article.language for article in newest} == {"en"}
    assert "Danke" not in max(shown(Comment), key=lambda comment: comment.created_at).body


def test_orders_are_in_every_state_and_their_pieces_are_gone_from_the_shelf(shown):
    orders, products = shown(Order), {product.id: product for product in shown(Product)}
    assert {order.status for order in orders} == {
        "pending", "approved", "rejected", "cancelled", "shipped", "completed", "refunded"}
    items = items_of(orders[0].tenant_id, [order.id for order in orders])
    for order in orders:
        assert order.total == sum(item.quantity * item.unit_price for item in items[order.id]) > 0
    assert {product.status for product in products.values()} == {"draft", "active", "archived"}
    assert next(product.stock for product in products.values() if product.sku == "BK-1003") == 2


def test_there_is_something_of_everything(shown):
    assert {comment.status for comment in shown(Comment)} == {"pending", "approved", "rejected"}
    assert {(page.slug, page.language) for page in shown(Page)} >= {("imprint", "en"), ("imprint", "de")}
    assert any(category.parent_id for category in shown(Category))
    assert shown(ContactMessage) and shown(Product, "harbour") and shown(Article, "harbour")
