"""Rows: stamped, versioned, and only of one tenant."""

from __future__ import annotations

import pytest

from models.base import Rows, is_id, new_id, parse_time
from models.engine.database import Database
from models.engine.errors import AlreadyExists, InvalidReference, InvalidValue, Outdated, StillReferenced
from models.records import bulk
from models.tables import share
from models.tables.article import Article
from models.tables.category import Category, would_be_cycle
from models.tables.page import Page
from models.tables.product import Product
from models.tables.tenant import Tenant
from models.tables.user import User

pytestmark = pytest.mark.both_databases


@pytest.fixture
def tenant(database: Database) -> str:
    return Tenant.add(f"tenant {new_id()}").id


@pytest.fixture
def other(database: Database) -> str:
    return Tenant.add(f"other {new_id()}").id


def user(tenant_id: str, email: str | None = None) -> User:
    email = email or f"{new_id()}@example.org"
    return Rows(User, tenant_id).insert(User(name="Ada", email=email, password_hash="-", groups=["staff"]))


def article(**values: object) -> Article:
    return Article(**{"title": "Title", "slug": new_id(), "body": "Body", **values})


def test_a_new_row_is_stamped_with_id_tenant_version_and_times(tenant: str) -> None:
    row = Rows(Article, tenant).insert(article(tenant_id=new_id()))
    found = Rows(Article, tenant).find(row.id)
    assert is_id(found.id) and found.id[14] == "7"
    assert (found.tenant_id, found.version) == (tenant, 1)
    assert found.created_at == found.updated_at == parse_time(found.created_at)


def test_a_new_row_keeps_the_version_and_times_that_an_import_brings_along(tenant: str) -> None:
    at = "2026-01-01T00:00:00.000000Z"
    row = Rows(Article, tenant).insert(article(version=7, created_at=at, updated_at=at))
    found = Rows(Article, tenant).find(row.id)
    assert (found.version, found.created_at, found.updated_at) == (7, at, at)


def test_values_come_back_as_they_were_stored(tenant: str) -> None:
    times = ("2026-01-01T00:00:00.000000Z", "2026-12-31T23:59:59.999999Z", "2026-06-01T12:00:00.100000Z",
             "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z")
    for time in times:
        row = Rows(Article, tenant).insert(article(published_at=time, body="Zeile\n\u0301 \U0001f600"))
        found = Rows(Article, tenant).find(row.id)
        assert (found.published_at, found.body) == (time, "Zeile\n\u0301 \U0001f600")


def test_raw_rows_hold_the_same_text_as_objects(tenant: str, database: Database) -> None:
    row = Rows(Article, tenant).insert(article(published_at="2026-11-21T08:39:30.100000Z"))
    columns = (Article.id, Article.published_at, Article.category_id, Article.version)
    query = Rows(Article, tenant).select(*columns)
    assert database.query(*query.sql()) == [(row.id, "2026-11-21T08:39:30.100000Z", None, 1)]


HOSTILE = ["'; DROP TABLE articles; --", "100 %s %(id)s ? $1 :id", "naïve 🦉 \u202e", "\\ \" '", " ", "a\r\nb\t", "0",
           "null"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_row_is_stored_alike_alone_and_among_many_and_when_it_is_changed(
        text: str, tenant: str, database: Database) -> None:
    rows, at = Rows(Article, tenant), "2026-01-01T00:00:00.000000Z"
    values = {"title": text, "body": text, "department": text, "created_at": at, "updated_at": at}
    alone, among, changed = article(**values), article(**values), rows.insert(article(department="another"))
    rows.insert(alone)
    bulk.insert(database, tenant, [among, article()])
    for name, value in values.items():
        setattr(changed, name, value)
    rows.save(changed)
    apart = ("id", "slug", "version")
    found = [{name: value for name, value in rows.find(row.id).__data__.items() if name not in apart}
             for row in (alone, among, changed)]
    assert found[0] == found[1] == found[2]
    assert found[0]["title"] == text


def test_saving_counts_the_version_and_stores_what_changed(tenant: str) -> None:
    rows = Rows(Article, tenant)
    row = rows.find(rows.insert(article()).id)
    row.title = "Changed"
    rows.save(row)
    found = rows.find(row.id)
    assert (found.title, found.version, row.version) == ("Changed", 2, 2)
    assert found.updated_at > found.created_at


def test_saving_an_unchanged_row_changes_nothing(tenant: str) -> None:
    rows = Rows(Article, tenant)
    row = rows.find(rows.insert(article()).id)
    rows.save(row)
    assert rows.find(row.id).__data__ == row.__data__ and row.version == 1


def test_a_save_that_failed_can_be_repeated(tenant: str) -> None:
    rows = Rows(Article, tenant)
    taken, row = rows.insert(article()), rows.insert(article())
    row.slug = taken.slug
    with pytest.raises(AlreadyExists):
        rows.save(row)
    row.slug = new_id()
    rows.save(row)
    assert (rows.find(row.id).slug, rows.find(row.id).version) == (row.slug, 2)


def test_of_two_writers_that_read_the_same_version_only_one_can_save_it(tenant: str) -> None:
    rows = Rows(Article, tenant)
    first = rows.find(rows.insert(article()).id)
    second = rows.find(first.id)
    first.title, second.title = "First", "Second"
    rows.save(first)
    with pytest.raises(Outdated):
        rows.save(second)
    with pytest.raises(Outdated):
        rows.delete(second)
    assert (rows.find(first.id).title, second.version) == ("First", 1)


def test_rows_are_removed_by_conditions_and_values_with_their_shares_alone(tenant: str, other: str) -> None:
    rows = Rows(Article, tenant)
    old, new, kept = (rows.insert(article(title=title, body=body)) for title, body in (
        ("Old", "x"), ("New", "x"), ("Old", "y")))
    theirs = Rows(Article, other).insert(article(title="Old", body="x"))
    for tenant_id, row in ((tenant, old), (tenant, new), (tenant, kept), (other, theirs)):
        for resource in ("article", "page"):
            share.grant(tenant_id, resource, row.id, "role:user", "read")
    assert rows.remove(Article.title != "New", Article.created_at >= old.created_at, body="x") == 1
    assert (rows.find(old.id), share.of_object(tenant, "article", old.id)) == (None, [])
    assert all(share.number(tenant, "article", row.id) == 1 for row in (new, kept))
    assert share.number(other, "article", theirs.id) == 1
    assert rows.remove(title="Nowhere") == 0
    assert rows.remove(Article.id.in_([new.id, kept.id])) == 2
    assert not share.any_in(tenant, "article")


def test_another_tenant_neither_finds_nor_changes_nor_deletes_a_row(tenant: str, other: str) -> None:
    row = Rows(Article, tenant).insert(article())
    theirs = Rows(Article, other)
    assert theirs.find(row.id) is None
    assert theirs.find_all([row.id]) == []
    assert theirs.find_by(slug=row.slug) is None
    assert list(theirs.select()) == []
    assert theirs.change({Article.title: "Taken"}, Article.id == row.id) == 0
    assert theirs.remove(id=row.id) == 0
    row.title = "Taken"
    with pytest.raises(Outdated):
        theirs.save(row)
    with pytest.raises(Outdated):
        theirs.delete(row)
    assert Rows(Article, tenant).find(row.id).title == "Title"


def test_a_saved_row_stays_with_its_tenant_whatever_was_assigned(tenant: str, other: str) -> None:
    rows = Rows(Article, tenant)
    row = rows.find(rows.insert(article()).id)
    row.tenant_id = other
    rows.save(row)
    assert rows.find(row.id) is not None and Rows(Article, other).find(row.id) is None


def test_a_reference_into_another_tenant_is_invalid(tenant: str, other: str) -> None:
    with pytest.raises(InvalidReference):
        Rows(Article, tenant).insert(article(owner_id=user(other).id))


def test_a_reference_to_nothing_is_invalid_also_in_a_change(tenant: str) -> None:
    rows = Rows(Article, tenant)
    row = rows.find(rows.insert(article()).id)
    row.category_id = new_id()
    with pytest.raises(InvalidReference):
        rows.save(row)


def test_what_others_refer_to_cannot_be_deleted(tenant: str) -> None:
    owner = user(tenant)
    row = Rows(Article, tenant).insert(article(owner_id=owner.id))
    with pytest.raises(StillReferenced):
        Rows(User, tenant).delete(owner)
    Rows(Article, tenant).delete(row)
    Rows(User, tenant).delete(owner)
    assert Rows(User, tenant).find(owner.id) is None


@pytest.mark.parametrize(("model", "values", "columns"), [
    (Article, {"title": "T", "slug": "same", "body": "B"}, ("slug",)),
    (Category, {"name": "N", "slug": "same"}, ("slug",)),
    (Product, {"name": "N", "sku": "same", "price": 1, "currency": "EUR"}, ("sku",)),
    (Page, {"slug": "same", "language": "en", "title": "T", "body": "B"}, ("slug", "language")),
])
def test_a_unique_clash_names_its_columns_and_ends_at_the_tenant(
        model: type, values: dict, columns: tuple[str, ...], tenant: str, other: str) -> None:
    Rows(model, tenant).insert(model(**values))
    Rows(model, other).insert(model(**values))
    with pytest.raises(AlreadyExists) as clash:
        Rows(model, tenant).insert(model(**values))
    assert clash.value.columns == columns


def test_an_email_is_unique_in_the_instance_whatever_its_case(tenant: str, other: str) -> None:
    email = f"{new_id()}@Example.org"
    stored = user(tenant, email)
    with pytest.raises(AlreadyExists) as clash:
        user(other, email.upper())
    assert clash.value.columns == ("email",)
    assert User.by_email(email.swapcase()).id == stored.id


def test_an_email_changed_later_is_stored_like_a_new_one(tenant: str) -> None:
    rows = Rows(User, tenant)
    row = rows.find(user(tenant).id)
    row.email = f"Other.{new_id()}@Example.ORG"
    rows.save(row)
    assert rows.find(row.id).email == row.email.lower()


def test_a_user_is_its_own_owner(tenant: str) -> None:
    row = user(tenant)
    assert Rows(User, tenant).find(row.id).owner_id == row.id


@pytest.mark.parametrize("value", [2**63, -2**70])
def test_an_integer_beyond_64_bit_is_an_invalid_value(value: int, tenant: str) -> None:
    with pytest.raises(InvalidValue):
        Rows(Product, tenant).insert(Product(name="N", sku=new_id(), price=value, currency="EUR"))


@pytest.mark.parametrize("values", [{"stock": -1}, {"price": -1}])
def test_what_the_table_refuses_is_an_invalid_value(values: dict, tenant: str, database: Database) -> None:
    row = Product(**{"name": "N", "sku": new_id(), "price": 1, "currency": "EUR", **values})
    with pytest.raises(InvalidValue):
        database.transact(lambda: Rows(Product, tenant).insert(row))


def test_a_nul_is_stored_whole_or_refused(tenant: str, database: Database) -> None:
    row = article(title="before\0after")
    if database.dialect == "postgres":
        with pytest.raises(InvalidValue):
            Rows(Article, tenant).insert(row)
        return
    assert Rows(Article, tenant).find(Rows(Article, tenant).insert(row).id).title == "before\0after"


def test_a_lone_surrogate_is_an_invalid_value(tenant: str) -> None:
    with pytest.raises(InvalidValue):
        Rows(Article, tenant).insert(article(title="\ud800"))


def test_many_rows_are_stored_with_and_without_their_optional_columns(tenant: str, database: Database) -> None:
    owner = user(tenant)
    made = [article(**values) for values in ({"owner_id": owner.id}, {"status": "published"}) * 225]
    bulk.insert(database, tenant, made)
    rows = Rows(Article, tenant).select()
    for half in (Article.owner_id == owner.id, Article.status == "published"):
        assert rows.where(half).count() == 225


def test_rows_found_by_their_ids_come_in_the_order_of_ids_and_once(tenant: str, database: Database) -> None:
    ids = [Rows(Article, tenant).insert(article()).id for _ in range(3)]
    wanted = [ids[2], ids[0], ids[2], new_id()]
    found = database.transact(lambda: Rows(Article, tenant).find_all(wanted, lock=True))
    assert [row.id for row in found] == sorted([ids[0], ids[2]])


def test_a_row_is_found_only_where_it_is_as_asked(tenant: str) -> None:
    row = Rows(Article, tenant).insert(article(status="published"))
    assert Rows(Article, tenant).find(row.id, Article.status == "published").id == row.id
    assert Rows(Article, tenant).find(row.id, Article.status == "draft") is None


def test_lists_flags_and_absent_values_come_back_in_their_own_types(tenant: str) -> None:
    made = Rows(User, tenant).insert(User(name="A", email=f"{new_id()}@x.org", password_hash="-", active=False))
    found = Rows(User, tenant).find(made.id)
    assert (found.groups, found.active, found.department) == ([], False, None)
    found.groups, found.active = ["a", "b"], True
    Rows(User, tenant).save(found)
    found = Rows(User, tenant).find(made.id, User.active)
    assert (found.groups, found.active, found.is_dirty()) == (["a", "b"], True, False)


def test_a_category_below_itself_would_be_a_cycle(tenant: str) -> None:
    rows = Rows(Category, tenant)
    top = rows.insert(Category(name="Top", slug=new_id()))
    middle = rows.insert(Category(name="Middle", slug=new_id(), parent_id=top.id))
    leaf = rows.insert(Category(name="Leaf", slug=new_id(), parent_id=middle.id))
    assert would_be_cycle(tenant, top.id, leaf.id)
    assert would_be_cycle(tenant, top.id, top.id)
    assert not would_be_cycle(tenant, leaf.id, top.id)
    assert not would_be_cycle(tenant, top.id, None)
