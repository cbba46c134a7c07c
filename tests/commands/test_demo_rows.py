"""`gatepost demo`: a password for a day, and the removal of the demo rows."""

from __future__ import annotations

import re

import pytest

from gatepost.http.security import passwords
from models.base import Rows, later
from models.tables import demo_row
from models.tables.article import Article
from models.tables.category import Category
from models.tables.comment import Comment
from models.tables.demo_row import DemoRow
from models.tables.product import Product
from models.tables.session import Session
from models.tables.share import Share
from models.tables.tenant import Tenant
from models.tables.user import User
from tests.running import Instance

EDITOR, OWNER = "maya.okafor@example.org", "ingrid.bauer@example.org"


@pytest.fixture
def shown(empty) -> Instance:
    """An instance with the demo rows."""
    done = empty.run("init")
    assert done.returncode == 0, done.stderr
    return empty


def password_of(instance, *more: str) -> str:
    done = instance.run("demo", *more)
    assert done.returncode == 0, done.stderr
    return re.search(r"Password: (\S+) +\(shown only now, and valid until 20\d\d-", done.stdout)[1]


def tenant_id(name: str = "default") -> str:
    found = Tenant.by_name(name)
    assert found is not None
    return found.id


def log_in(service, email: str, password: str):
    return service.call("POST", "/api/login", {"email": email, "password": password})


@pytest.mark.both_databases
def test_one_password_lets_the_demo_users_below_owner_in_for_a_day(shown):
    assert shown.run("user", "add", "me@example.org").returncode == 0
    first = password_of(shown)
    password = password_of(shown)
    with shown.answering() as service:
        assert log_in(service, EDITOR, first)[0] == 401, "a second run replaces the password"
        assert log_in(service, "tom.abara@example.org", password)[0] == 200, "also in the second tenant"
        for email in (OWNER, "freya.dahl@example.org", "admin@example.org", "me@example.org"):
            assert log_in(service, email, password)[0] == 401, email
        status, _ = log_in(service, EDITOR, password)
        assert status == 200
        with shown.database():
            session_ends = User.by_email(EDITOR).password_hash.partition("|")[2]
            assert {one.absolute_expires_at for one in Session.select()} == {session_ends}
            kept = User.by_email(EDITOR).password_hash.partition("|")[0]
            User.update({User.password_hash: passwords.ending(kept, later(-1))}).where(User.email == EDITOR).execute()
        status, problem = log_in(service, EDITOR, password)
        assert (status, problem["code"]) == (403, "forbidden")
        assert problem["detail"] == "This password has expired. Ask an administrator for a new one."
        assert log_in(service, EDITOR, "another one entirely")[0] == 401
    assert "user.password" in shown.run("audit", "tail").stdout


@pytest.mark.parametrize(("name", "value"), [
    ("GATEPOST_PUBLIC_URL", "https://api.example.org"), ("GATEPOST_TRUSTED_PROXIES", "1")])
def test_it_is_refused_where_others_can_reach_the_instance(tmp_path, name, value):
    instance = Instance(tmp_path / "instance")
    assert instance.run("init").returncode == 0
    done = Instance(instance.folder, {name: value}).run("demo")
    assert done.returncode == 1
    assert name.removeprefix("GATEPOST_").lower() in done.stderr
    assert done.stdout == ""
    with instance.database():
        assert User.by_email(EDITOR).password_hash == passwords.UNUSABLE


def test_a_user_with_a_password_of_their_own_keeps_it(shown):
    assert shown.run("user", "password", EDITOR, "--password-file", "-", input="seven green lanterns").returncode == 0
    password = password_of(shown)
    with shown.answering() as service:
        assert log_in(service, EDITOR, "seven green lanterns")[0] == 200
        assert log_in(service, EDITOR, password)[0] == 401


def test_without_demo_users_there_is_nothing_to_open(instance):
    done = instance.run("demo")
    assert done.returncode == 1
    assert "no demo users" in done.stderr
    assert instance.run("demo", "--yes").returncode == 2
    assert instance.run("demo", "--remove", "--articles", "3").returncode == 2
    assert instance.run("demo", "--remove", "--yes").stdout == "Nothing to delete.\n"


@pytest.mark.both_databases
def test_untouched_demo_rows_are_deleted_after_a_question(shown):
    password_of(shown)
    asked = shown.run("demo", "--remove", input="n\n")
    assert asked.returncode == 1
    assert re.search(r"^Would delete \d+ comments, 9 orders, \d+ articles, ", asked.stdout), asked.stdout
    with shown.database():
        before = DemoRow.select().count()
        assert before > 100
    done = shown.run("demo", "--remove", input="y\n")
    assert done.returncode == 0, done.stderr
    with shown.database():
        assert DemoRow.select().count() == 0
        for model in (Article, Category, Comment, Product):
            assert model.select().count() == 0, model
        assert [user.email for user in User.select()] == ["admin@example.org"]
    assert shown.run("demo", "--remove", "--yes").stdout == "Nothing to delete.\n"


@pytest.mark.both_databases
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "an older instance"])
def test_what_was_edited_or_is_needed_stays_and_is_listed(shown, marked):
    with shown.database() as database:
        home = tenant_id()

        def change() -> None:
            product = Rows(Product, home).find_by(sku="BK-1001")
            product.name = "Birds of the southern coast"
            Rows(Product, home).save(product)
            mine = Rows(Article, home).insert(Article(
                title="Mine", slug="mine", body="Words.", status="published",
                category_id=Rows(Category, home).find_by(slug="field-guides").id))
            tide = Rows(Article, home).find_by(slug="how-to-read-a-tide-table")
            Rows(Comment, home).insert(Comment(article_id=tide.id, body="Real.", status="approved"))
            wall = Rows(Article, home).find_by(slug="mending-a-dry-stone-wall")
            Rows(Share, home).insert(Share(resource="article", object_id=wall.id, grantee="role:user", right="read"))
            assert mine.id
            if not marked:
                DemoRow.delete().execute()

        database.transact(change)
    done = shown.run("demo", "--remove", "--yes")
    assert done.returncode == 0, done.stderr
    kept = set(re.findall(r"^  (\w+: .*) \(", done.stdout, re.MULTILINE))
    needed = {"articles: How to read a tide table", "articles: Mending a dry-stone wall",
              "users: maya.okafor@example.org", "users: sam.whitlock@example.org"}
    assert needed <= kept, done.stdout
    assert any("field-guides" in one for one in kept), done.stdout
    assert any("books" in one for one in kept), "a category that one of them needs"
    with shown.database():
        assert {one.slug for one in Article.select()} == {
            "mine", "how-to-read-a-tide-table", "mending-a-dry-stone-wall"}
        assert [one.name for one in Product.select()] == ["Birds of the southern coast"]
        assert {one.body for one in Comment.select()} == {"Real."}
        assert Share.select().count() == 1
        if marked:
            assert set(demo_row.marks(tenant_id(), Article)) == {
                one.id for one in Article.select() if one.slug != "mine"}
            assert "products: BK-1001 (edited)" in done.stdout


def test_articles_that_were_added_later_are_demo_rows_too(shown):
    assert shown.run("demo", "--articles", "1200").returncode == 0
    with shown.database():
        assert len(demo_row.marks(tenant_id(), Article)) >= 1260
    assert shown.run("demo", "--remove", "--yes").returncode == 0
    with shown.database():
        assert Article.select().count() == 0


def test_generated_articles_of_an_older_instance_are_recognized(shown):
    with shown.database() as database:
        database.transact(lambda: DemoRow.delete().execute())
    done = shown.run("demo", "--remove", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Kept" not in done.stdout, done.stdout
    with shown.database():
        assert [user.email for user in User.select()] == ["admin@example.org"]
        assert Category.select().count() == 0
