"""Removal of demo rows: deletes those that nobody edited and that no other row needs.

Demo rows are marked. An instance of an older version has no marks: there the rows that equal the shipped texts count.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from blueprints.demo import samples, showcase
from gatepost.http.security.passwords import UNUSABLE, end_of
from models.base import Record, Rows
from models.engine.database import Database
from models.engine.errors import StillReferenced
from models.tables import demo_row
from models.tables.job import Job
from models.tables.order import Order, items_of
from models.tables.product import Product
from models.tables.service_token import ServiceToken
from models.tables.share import Share
from models.tables.tenant import Tenant
from models.tables.user import User

EDITED, NEEDED = "edited", "needed"
_AT_ONCE = 500
_GENERATED = re.compile("|".join(map(re.escape, samples.SENTENCES)))


@dataclass
class Outcome:
    """The result of a removal: numbers of deleted rows by table, and the kept rows as (table, name, why)."""

    deleted: dict[str, int] = field(default_factory=dict)
    kept: list[tuple[str, str, str]] = field(default_factory=list)


class _Tried(Exception):
    """Undoes a trial."""


def remove(database: Database, tenant: Tenant, without: Collection[str], *, trial: bool = False) -> Outcome:
    """Deletes the demo rows of the tenants with demo rows, in one transaction. With `trial`, it undoes everything."""
    outcome = Outcome()

    def work() -> None:
        outcome.deleted, outcome.kept = {}, []
        for one in showcase.houses(tenant):
            _remove(database, one.id, showcase.models_of(without), outcome)
        if trial:
            raise _Tried

    with contextlib.suppress(_Tried):
        database.transact(work)
    return outcome


def _remove(database: Database, tenant_id: str, models: list[type[Record]], outcome: Outcome) -> None:
    marked = dict[type[Record], Mapping[str, int | None]]()
    marked |= {model: demo_row.marks(tenant_id, model) for model in models}
    if not any(marked.values()):
        # Before anything is deleted: orders are recognized by their customers and products.
        marked |= {model: dict.fromkeys(recognized(tenant_id, model)) for model in models}
    for model, marks in marked.items():
        kind, gone = model._meta.table_name, 0
        every = [*marks]
        for start in range(0, len(every), _AT_ONCE):
            ids = every[start:start + _AT_ONCE]
            rows = Rows(model, tenant_id).find_all(ids, lock=True)
            edited = [row for row in rows if marks[row.id] not in (None, row.version)]
            needed = _besides(tenant_id, [row.id for row in rows])
            free = [row for row in rows if row not in edited and row.id not in needed]
            deleted = _delete(database, Rows(model, tenant_id), free)
            gone += len(deleted)
            demo_row.unmark(tenant_id, model, [id for id in ids if id in deleted or id not in {row.id for row in rows}])
            outcome.kept += [(kind, _name_of(row), EDITED if row in edited else NEEDED)
                             for row in rows if row.id not in deleted]
        if gone:
            outcome.deleted[kind] = outcome.deleted.get(kind, 0) + gone


def _delete(database: Database, rows: Rows[Any], free: list[Any]) -> set[str]:
    """Deletes rows of one table, except those that other rows refer to. Returns the ids of the deleted ones."""
    deleted, remaining = set[str](), {row.id: row for row in free}
    column = rows.model.id

    def all_of(ids: list[str]) -> bool:
        try:
            database.attempt(lambda: rows.remove(column.in_(ids)))
        except StillReferenced:
            return False
        return True

    if remaining and all_of([*remaining]):
        return {*remaining}
    while True:  # again, because rows of one table may refer to each other
        now = [id for id in remaining if all_of([id])]
        if not now:
            return deleted
        deleted.update(now)
        for id in now:
            del remaining[id]


def _besides(tenant_id: str, ids: list[str]) -> set[str]:
    """Returns those of these rows with shares, service tokens or jobs, which would be deleted with them."""
    ids_in_use = {share.object_id for share in Rows(Share, tenant_id).select(Share.object_id).where(
        Share.object_id.in_(ids))}
    shared = [f"user:{id}" for id in ids]
    ids_in_use |= {one.grantee.removeprefix("user:")
              for one in Rows(Share, tenant_id).select(Share.grantee).where(Share.grantee.in_(shared))}
    ids_in_use |= {one.owner_id for one in Rows(ServiceToken, tenant_id).select(ServiceToken.owner_id).where(
        ServiceToken.owner_id.in_(ids))}
    return ids_in_use | {one.owner_id for one in Rows(Job, tenant_id).select(Job.owner_id).where(Job.owner_id.in_(ids))}


def _name_of(row: Any) -> str:
    return str(next((value for name in ("email", "title", "sku", "slug", "subject", "body")
                     if (value := row.__data__.get(name))), row.id))


def recognized(tenant_id: str, model: type[Record]) -> Iterator[str]:
    """Yields the ids of the rows that equal shipped demo rows, in an instance without marks."""
    if model is Order:
        yield from _orders(tenant_id)
    elif model is User:
        yield from _users(tenant_id)
    else:
        shipped = _texts(model._meta.table_name)
        yield from (row.id for row in Rows(model, tenant_id).select() if _is_shipped(row, shipped))


def _is_shipped(row: Any, known: tuple[tuple[str, ...], set[tuple[Any, ...]]]) -> bool:
    names, texts = known
    if tuple(getattr(row, name) for name in names) in texts:
        return True
    # The body of a generated article has nothing but the sentences of the samples.
    return names == ("slug", "title", "body") and row.version == 1 and row.slug.endswith(row.id[-12:]) and not (
        _GENERATED.sub("", row.body).strip())


def _texts(kind: str) -> tuple[tuple[str, ...], set[tuple[Any, ...]]]:
    """Returns the columns that a demo row is recognized by, and their shipped values."""
    match kind:
        case "categories":
            named = [*samples.CATEGORIES, *(name for name, _ in showcase.SHELVES)]
            return ("name", "slug"), {(name, samples.plain(name)) for name in named}
        case "products":
            return ("name", "sku", "price"), {(name, sku, price) for name, sku, price, *_ in showcase.PRODUCTS}
        case "articles":
            return ("slug", "title", "body"), {(one[1], one[0], one[-1]) for one in showcase.ARTICLES}
        case "pages":
            return ("slug", "language", "title", "body"), {(*one[:3], one[4]) for one in showcase.PAGES}
        case "comments":
            return ("body",), {(one[3],) for one in showcase.COMMENTS}
    return ("email", "subject", "body"), {(showcase.MESSAGE["email"], showcase.MESSAGE["subject"],
                                           showcase.MESSAGE["body"])}


def _users(tenant_id: str) -> Iterator[str]:
    """Yields the ids of the demo users without a password of their own."""
    people = {samples.address(name): name for name, *_ in (*samples.AUTHORS, *showcase.HARBOUR)}
    for user in Rows(User, tenant_id).select().where(User.email.in_([*people])):
        if user.version == 1 and user.name == people[user.email] and has_no_own_password(user):
            yield user.id


def has_no_own_password(user: User) -> bool:
    """True if the user has no password, or one of `gatepost demo`."""
    return user.password_hash == UNUSABLE or end_of(user.password_hash) is not None


def _orders(tenant_id: str) -> Iterator[str]:
    """Yields the ids of the orders with the customer, state, note and items of a demo order."""
    emails = {samples.address(name): name for name, *_ in samples.AUTHORS}
    people = {user.id: emails[user.email] for user in Rows(User, tenant_id).select().where(
        User.email.in_([*emails]))}
    skus = {product.id: product.sku for product in Rows(Product, tenant_id).select()}
    shipped = {(name, status, note, *sorted(items.items())) for name, status, _, note, items in showcase.ORDERS}
    orders = list(Rows(Order, tenant_id).select().where(Order.owner_id.in_([*people])))
    items = items_of(tenant_id, [order.id for order in orders])
    for order in orders:
        bought = sorted((skus.get(item.product_id, ""), item.quantity) for item in items[order.id])
        if (people[order.owner_id], order.status, order.note, *bought) in shipped:
            yield order.id
