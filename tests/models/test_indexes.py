"""Every sort, and every filter with its default sort, uses an index: no sort, no scan."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

import pytest

from models import indexes
from models.base import Table, new_id, now
from models.engine.database import Database
from models.indexes import made_by
from models.tables.article import Article
from models.tables.audit import Audit, origins
from models.tables.category import Category
from models.tables.comment import Comment
from models.tables.contact import ContactMessage
from models.tables.order import Order
from models.tables.page import Page
from models.tables.product import Product
from models.tables.service_token import ServiceToken
from models.tables.session import Session
from models.tables.share import Share
from models.tables.user import User

pytestmark = pytest.mark.both_databases

# table, columns that are compared with one value, sort ("-" descending; the id follows in the last direction)
OWNED = (Article, Category, Comment, Order, Page, Product, User)
STATED = (Article, Comment, Order, Page, Product)
WALKS: list[tuple[type[Table], tuple[str, ...], tuple[str, ...]]] = [
    *((table, (), (key,)) for table in OWNED for key in ("created_at", "updated_at")),
    *((table, ("owner_id",), ("created_at",)) for table in OWNED),
    *((table, ("status",), ("created_at",)) for table in STATED),
    *((table, (), ("status", "-created_at")) for table in STATED),
    (Article, (), ("title",)),
    (Article, (), ("published_at",)),
    (Article, ("category_id",), ("created_at",)),
    (Article, ("slug",), ()),
    (Category, (), ("name",)),
    (Category, ("parent_id",), ("created_at",)),
    (Category, ("slug",), ()),
    (Comment, ("article_id",), ("created_at",)),
    (Comment, ("article_status", "status"), ("created_at",)),
    (Order, (), ("total",)),
    (Page, (), ("title",)),
    (Page, (), ("slug",)),
    (Page, (), ("published_at",)),
    (Page, ("slug", "language"), ()),
    (Product, (), ("name",)),
    (Product, (), ("price",)),
    (Product, (), ("stock",)),
    (Product, ("category_id",), ("created_at",)),
    (Product, ("sku",), ()),
    (User, (), ("name",)),
    (User, (), ("email",)),
    (User, (), ("role", "-created_at")),
    (User, ("role",), ("created_at",)),
    (User, ("department",), ("created_at",)),
    (ContactMessage, (), ("created_at",)),
    (ServiceToken, (), ("created_at",)),
    (ServiceToken, ("owner_id",), ("created_at",)),
    (Session, (), ("created_at",)),
    (Session, ("owner_id",), ("created_at",)),
    (Session, ("owner_id",), ("expires_at",)),
    (Share, ("resource", "object_id", "grantee"), ()),
    (Share, ("resource", "grantee", "right"), ()),
    (Share, ("resource", "object_id"), ("created_at",)),
    (Audit, (), ("time",)),
    (Audit, ("principal",), ("time",)),
    (Audit, ("action",), ("time",)),
    (Audit, ("result",), ("time",)),
    (Audit, ("resource_id",), ("time",)),
]


def plan(database: Database, query: str, params: list[object]) -> str:
    if database.dialect == "sqlite":
        return "\n".join(row[3] for row in database.query(f"EXPLAIN QUERY PLAN {query}", params))
    # An empty table is cheapest to scan. The test asks whether an index could be used at all.
    for setting in ("enable_seqscan", "enable_sort", "enable_incremental_sort", "enable_bitmapscan"):
        database.execute_sql(f"SET {setting} = off")
    return "\n".join(row[0] for row in database.query(f"EXPLAIN {query}", params))


def is_served(found: str, columns: Iterable[str]) -> bool:
    """True if a plan neither scans a table nor sorts, and finds its place by all these columns."""
    words = ("SCAN", "Seq Scan", "TEMP B-TREE", "Sort")
    return not any(word in found for word in words) and all(
        f"{column}=" in found or f"{column} = " in found or f'"{column}" = ' in found for column in columns)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_each_walk_is_served_by_an_index(backward: bool, database: Database) -> None:
    faults = {}
    for table, equal, keys in WALKS:
        fields = table._meta.fields
        conditions = [table.tenant_id == new_id(), *(fields[one] == new_id() for one in equal)]
        directions = [(fields[key.lstrip("-")], key.startswith("-") != backward) for key in keys]
        if directions:
            directions.append((table.id, directions[-1][1]))
        order = [field.desc() if descending else field.asc() for field, descending in directions]
        query, params = table.select(table.id).where(*conditions).order_by(*order).limit(21).sql()
        found = plan(database, query, params)
        # The whole prefix finds the position, not only the tenant.
        if not is_served(found, ("tenant_id", *equal)):
            faults[table.__name__, equal, keys] = found
    assert faults == {}


REFERENCES = (
    ("articles", "owner_id"), ("articles", "category_id"), ("products", "owner_id"),
    ("products", "category_id"), ("orders", "owner_id"), ("comments", "owner_id"), ("comments", "article_id"),
    ("categories", "owner_id"), ("categories", "parent_id"), ("pages", "owner_id"),
    ("order_items", "order_id"), ("order_items", "product_id"), ("sessions", "owner_id"),
    ("service_tokens", "owner_id"), ("shares", "granted_by"),
)


def test_what_a_deletion_must_look_for_is_found_by_an_index(database: Database) -> None:
    mark, faults = "?" if database.dialect == "sqlite" else "%s", {}
    for table, column in REFERENCES:
        found = plan(database, f"SELECT 1 FROM {table} WHERE tenant_id = {mark} AND {column} = {mark}",
                     [new_id(), new_id()])
        if not is_served(found, ()) or found.count(f"{column}=") + found.count(f"{column} = ") != 1:
            faults[table, column] = found
    assert faults == {}


def test_the_origins_of_logins_are_found_among_logins_alone(
        database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[object]]] = []
    execute = database.execute_sql
    with monkeypatch.context() as patched:
        patched.setattr(database, "execute_sql", lambda sql, params=(): (
            asked.append((sql, params)), execute(sql, params))[1])
        assert origins(new_id(), "user:somebody", now()) == set()
    found = plan(database, *asked[-1])
    assert "audit_logins" in found and "Sort" not in found and "TEMP B-TREE" not in found, found


def test_without_a_temporary_folder_no_index_is_known_and_the_log_says_why(monkeypatch, tmp_path, caplog):
    known = made_by()
    indexes._made_by.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert made_by() == {}
    assert "no temporary database can be made" in caplog.text
    monkeypatch.undo()
    assert made_by() == known != {}
