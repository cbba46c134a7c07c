"""Shares: a user, group or role has a right on one object of another owner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import peewee as pw

from models.engine.database import Database, current
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.records.columns import IdField
from models.records.rows import Rows
from models.records.table import Record
from models.tables.tenant import Tenant

GROUP = "group:"  # prefix of a grantee that is a group


class Share(Record):
    """`grantee` (`user:<id>`, `group:<name>`, `role:<name>`) has `right` on one object of `resource`.

    `granted_by` is the id of the user who gave it, null where that was the owner of the object.
    """

    resource = pw.TextField()
    object_id = IdField()
    grantee = pw.TextField()
    right = pw.TextField()
    granted_by = IdField(null=True)

    class Meta:
        table_name = "shares"


def of_object(tenant_id: str, resource: str, object_id: str) -> list[Share]:
    """Returns the shares of one object, the oldest first."""
    return list(Rows(Share, tenant_id).select().where(*_object(resource, object_id))
                .order_by(Share.created_at, Share.id))


def of_objects(tenant_id: str, resource: str, object_ids: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Returns (grantee, right) of the shares of several objects, by the object's id; the oldest first."""
    shares: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for share in (Rows(Share, tenant_id).select().where(Share.resource == resource, Share.object_id.in_(object_ids))
                .order_by(Share.created_at, Share.id)):
        shares[share.object_id].append((share.grantee, share.right))
    return shares


def in_effect(tenant_id: str, resource: str, object_ids: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Returns the shares that give rights, as `of_objects` does; none if sharing is left out."""
    return of_objects(tenant_id, resource, object_ids) if any_in(tenant_id, resource) else {}


def with_groups(tenant_id: str, resource: str, object_ids: Collection[str]) -> bool:
    """True if one of these objects is shared with a group."""
    return not are_ignored() and bool(Rows(Share, tenant_id).select().where(
        Share.resource == resource, Share.object_id.in_(object_ids),
        pw.fn.substr(Share.grantee, 1, len(GROUP)) == GROUP).exists())


def number(tenant_id: str, resource: str, object_id: str) -> int:
    """Returns the number of shares of an object."""
    return int(Rows(Share, tenant_id).select().where(*_object(resource, object_id)).count())


def find(tenant_id: str, resource: str, object_id: str, grantee: str) -> Share | None:
    """Returns the share of this grantee on one object."""
    return Rows(Share, tenant_id).find_by(resource=resource, object_id=object_id, grantee=grantee)


def grant(tenant_id: str, resource: str, object_id: str, grantee: str, right: str,
          granted_by: str | None = None) -> Share:
    """Gives `grantee` that right, in place of any other on the same object."""
    rows = Rows(Share, tenant_id)
    share = find(tenant_id, resource, object_id, grantee)
    if share is None:
        return rows.insert(Share(resource=resource, object_id=object_id, grantee=grantee, right=right,
                                 granted_by=granted_by))
    if (share.right, share.granted_by) != (right, granted_by):
        share.right, share.granted_by = right, granted_by
        rows.save(share)
    return share


def withdraw(tenant_id: str, resource: str, object_id: str, grantee: str | None = None) -> int:
    """Deletes the share of `grantee` on the object, or all of its shares. Returns their number."""
    whose = {} if grantee is None else {"grantee": grantee}
    return Rows(Share, tenant_id).discard(resource=resource, object_id=object_id, **whose)


def withdraw_granted(tenant_id: str, resource: str, object_id: str, granted_by: str) -> int:
    """Deletes the shares that one user granted on one object. Returns their number."""
    return Rows(Share, tenant_id).discard(resource=resource, object_id=object_id, granted_by=granted_by)


def granted_on(tenant_id: str, granted_by: str) -> list[tuple[str, str]]:
    """Returns (resource, object id) of every object that one user shared with others, in this order."""
    shares = (Rows(Share, tenant_id).select(Share.resource, Share.object_id).distinct()
             .where(Share.granted_by == granted_by).order_by(Share.resource, Share.object_id))
    return [(share.resource, share.object_id) for share in shares]


def named(grantee: str, resources: Collection[str], most: int) -> tuple[int, list[Share]]:
    """Returns the number of shares with a grantee on objects of these resources, and the first `most` of them."""
    # Across tenants: for operators. The conditions on tenant and resource let the index serve.
    query = Share.select().where(Share.tenant_id.in_(Tenant.select(Tenant.id)), Share.resource.in_(list(resources)),
                                 Share.grantee == grantee)
    return int(query.count()), list(query.order_by(Share.resource, Share.object_id).limit(most))


def forget(tenant_id: str, grantee: str) -> int:
    """Deletes all shares of a deleted grantee. Returns their number."""
    return Rows(Share, tenant_id).discard(grantee=grantee)


def shared_ids(tenant_id: str | Bind, resource: str | Bind, grantees: Collection[str | Bind],
               rights: Collection[str]) -> pw.ModelSelect[Share]:
    """Returns a sub-query for `id IN (…)`: the objects on which one of `grantees` has one of `rights`."""
    return Rows(Share, tenant_id).select(Share.object_id).where(
        Share.resource == resource, Share.grantee.in_(list(grantees)), Share.right.in_(list(rights)))


def any_shared(tenant_id: str, resource: str, grantees: Sequence[str]) -> bool:
    """True if one of `grantees` has any right on any object."""
    values = {"tenant": tenant_id, "resource": resource, **_named(grantees)}
    return bool(_any_shared(current, len(grantees)).recall(current, values)) and not are_ignored()


@cache_sql
def _any_shared(database: Database, grantees: int) -> Prepared:
    return prepare(database, Rows(Share, Bind("tenant")).select(pw.SQL("1")).where(
        Share.resource == Bind("resource"), Share.grantee.in_(_binds(grantees))).limit(1))


def any_in(tenant_id: str, resource: str) -> bool:
    """True if any object of a resource is shared with anybody."""
    # `are_ignored` comes last, because in most tenants nothing is shared.
    return bool(_any_in(current).recall(current, {"tenant": tenant_id, "resource": resource})) and not are_ignored()


@cache_sql
def _any_in(database: Database) -> Prepared:
    return prepare(database, Rows(Share, Bind("tenant")).select(pw.SQL("1")).where(
        Share.resource == Bind("resource")).limit(1))


def has_right(tenant_id: str, resource: str, object_id: str, grantees: Sequence[str],
              rights: Collection[str]) -> bool:
    """True if one of `grantees` has one of `rights` on the object."""
    if are_ignored():
        return False
    values = {"tenant": tenant_id, "resource": resource, "object": object_id, **_named(grantees)}
    return bool(_has_right(current, len(grantees), tuple(rights)).run(current, values))


@cache_sql
def _has_right(database: Database, grantees: int, rights: tuple[str, ...]) -> Prepared:
    return prepare(database, shared_ids(Bind("tenant"), Bind("resource"), _binds(grantees), rights).where(
        Share.object_id == Bind("object")).limit(1))


def rights(tenant_id: str, resource: str, object_id: str, grantees: Sequence[str]) -> list[str]:
    """Returns the rights that `grantees` have on the object, sorted."""
    if are_ignored():
        return []
    values = {"tenant": tenant_id, "resource": resource, "object": object_id, **_named(grantees)}
    return sorted({right for right, in _rights(current, len(grantees)).run(current, values)})


@cache_sql
def _rights(database: Database, grantees: int) -> Prepared:
    return prepare(database, Rows(Share, Bind("tenant")).select(Share.right).where(
        *_object(Bind("resource"), Bind("object")), Share.grantee.in_(_binds(grantees))))


def are_ignored(database: Database = current) -> bool:
    """True if shares have no effect in a database, because sharing is left out."""
    return Share._meta.table_name in database.ignored


def _named(grantees: Sequence[str]) -> dict[str, str]:
    return {f"grantee {number}": grantee for number, grantee in enumerate(grantees)}


def _binds(grantees: int) -> list[Bind]:
    """Returns a Bind for each value that `_named` names."""
    return [Bind(f"grantee {number}") for number in range(grantees)]


def _object(resource: str | Bind, object_id: str | Bind) -> tuple[pw.Expression, pw.Expression]:
    return Share.resource == resource, Share.object_id == object_id
