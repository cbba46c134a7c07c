"""Counts of the rows of a table, of their owners, and of the users in their tenants whom a condition concerns.

A condition may use columns of rows and users, so that one statement counts for all users of a role.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import orjson
import peewee as pw

from models.engine.database import Database
from models.engine.prepared import prepare
from models.records.table import Table
from models.tables.share import Share, are_ignored
from models.tables.user import User

Conditions = tuple[pw.Node, ...]
_GROUP = "group:"  # prefix of a share's grantee that is a group


@dataclass(frozen=True, slots=True)
class Way:
    """Conditions that must all hold: those on a row, those on a user, and those on both."""

    of_row: Conditions
    of_user: Conditions
    of_both: Conditions


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of rows, of their owners (None where rows have none) and of the users concerned (None: guests)."""

    rows: int
    owners: int | None
    users: int | None


class Users:
    """Conditions on users, in the SQL of a dialect; `table` is the table or an alias of it."""

    def __init__(self, dialect: str, table: Any = User) -> None:
        self.table, self._dialect = table, dialect

    @property
    def key(self) -> pw.Expression:
        """Expression for `user:<id>`."""
        return pw.Expression(pw.Value("user:", converter=False), pw.OP.CONCAT, self.table.id.cast("text"))

    def among(self, ids: Collection[str]) -> pw.Node:
        """Returns the condition that the user is one of these, in one placeholder for any number."""
        id = self.table.id
        if self._dialect == "postgres":
            return pw.NodeList((id, pw.SQL("= ANY(CAST("), pw.Value(sorted(ids), unpack=False), pw.SQL("AS uuid[]))")))
        chosen = pw.Value(orjson.dumps(sorted(ids)).decode(), converter=False)
        return pw.NodeList((id, pw.SQL("IN (SELECT value FROM"), pw.fn.json_each(chosen), pw.SQL(")")))

    def in_group(self, name: pw.Node) -> pw.Node:
        """Returns the condition that the user is in the group of that name. No user is in a group without a name."""
        groups = self.table.groups
        if self._dialect == "postgres":
            value = pw.NodeList((pw.SQL("to_jsonb(CAST("), name, pw.SQL("AS text))")))
            return pw.NodeList((groups.cast("jsonb"), pw.SQL("@>"), value))
        return pw.NodeList((pw.SQL("EXISTS (SELECT 1 FROM"), pw.fn.json_each(groups),
                            pw.SQL("WHERE json_each.value ="), name, pw.SQL(")")))

    def in_a_group(self, prefix: str = "") -> pw.Node:
        """Returns the condition that the user is in any group whose name begins with a prefix."""
        if prefix:
            begins = pw.NodeList((pw.Value(len(prefix), converter=False), pw.SQL(") ="),
                                  pw.Value(prefix, converter=False), pw.SQL(")")))
            groups = self.table.groups
            if self._dialect == "postgres":
                each = pw.fn.jsonb_array_elements_text(groups.cast("jsonb"))
                return pw.NodeList((pw.SQL("EXISTS (SELECT 1 FROM"), each,
                                    pw.SQL("AS each_group(name) WHERE left(each_group.name,"), begins))
            return pw.NodeList((pw.SQL("EXISTS (SELECT 1 FROM"), pw.fn.json_each(groups),
                                pw.SQL("WHERE substr(json_each.value, 1,"), begins))
        return cast(pw.Node, self.table.groups != pw.Value("[]", converter=False))


class Audience:
    """Rows of one table as `row`, and users of their tenants as `user`."""

    def __init__(self, database: Database, model: type[Table]) -> None:
        self._database = database
        self.row: Any = model.alias("r")
        self.users = Users(database.dialect, User.alias("u"))
        self.user: Any = self.users.table
        self._share: Any = Share.alias("s")
        self.columns = tuple(model._meta.fields)
        key: Any = model._meta.primary_key
        self._key: str = key.name
        self._owned = "owner_id" in model._meta.fields

    def names_a_group(self, name: pw.Node) -> pw.Node:
        """Returns the condition that some user is in the group of that name."""
        users = pw.SQL("FROM users")
        if self._database.dialect == "postgres":
            each = pw.NodeList((pw.fn.jsonb_array_elements_text(pw.SQL("CAST(users.groups AS jsonb)")), users))
        else:
            each = pw.NodeList((pw.SQL("json_each.value"), users, pw.SQL(", json_each(users.groups)")))
        return pw.NodeList((name, pw.SQL("IN (SELECT"), each, pw.SQL(")")))

    def shared(self, resource: str, rights: Collection[str], roles: Collection[str]) -> pw.Node:
        """Returns the condition that a share gives one of `rights` to the user, to one of the user's groups, or to one
        of `roles`."""
        if are_ignored(self._database):
            return pw.SQL("1 = 0")
        share = self._share
        group = pw.fn.substr(share.grantee, len(_GROUP) + 1)
        grantees = share.grantee.in_([f"role:{role}" for role in sorted(roles)]) | (share.grantee == self.users.key)
        grantees |= (pw.fn.substr(share.grantee, 1, len(_GROUP)) == _GROUP) & self.users.in_group(group)
        return self.row.id.in_(share.select(share.object_id).where(
            share.tenant_id == self.row.tenant_id, share.resource == resource, share.right.in_(sorted(rights)),
            grantees))

    def shared_at_all(self, resource: str) -> pw.Node:
        """Returns the condition that the row has any share."""
        if are_ignored(self._database):
            return pw.SQL("1 = 0")
        share = self._share
        return self.row.id.in_(share.select(share.object_id).where(share.resource == resource))

    def counts(self, which: Sequence[pw.Node], who: Sequence[pw.Node] | None,
               *several: Sequence[Way], values: Mapping[str, object]) -> list[Counts]:
        """Returns the counts of the rows that match at least one of the ways, for each of `several`, in one statement.

        which    conditions of the rows that count at all
        who      conditions of the users; None: no user is looked for, and `Counts.users` is None
        several  an entry without ways counts nothing
        values   values for the placeholders of all these conditions

        Raises `TimedOut`.
        """
        parts = [self._counted(place, which, who, ways) for place, ways in enumerate(several) if ways]
        counts = [Counts(0, 0 if self._owned else None, None if who is None else 0)] * len(several)
        if parts:
            query = reduce(lambda left, right: left.union_all(right), parts)
            for place, rows, owners, users in prepare(self._database, query).run(self._database, values):
                counts[place] = Counts(rows, owners, users)
        return counts

    def _counted(self, place: int, which: Sequence[pw.Node], who: Sequence[pw.Node] | None,
                 ways: Iterable[Way]) -> Any:
        ways = list(ways)
        rows = _merged(self._rows(which, who, ways)).alias("found")
        users = pw.SQL("NULL") if who is None else pw.Select(
            [_merged(self._users(which, who, ways)).alias("concerned")], [pw.fn.COUNT(pw.SQL("*"))])
        owners = pw.fn.COUNT(rows.c.owner_id.distinct()) if self._owned else pw.SQL("NULL")
        return pw.Select([rows], [pw.SQL(str(place)), pw.fn.COUNT(pw.SQL("*")), owners, users])

    def _rows(self, which: Sequence[pw.Node], who: Sequence[pw.Node] | None, ways: Iterable[Way]) -> Iterator[Any]:
        row, user = self.row, self.user
        columns = [getattr(row, self._key), *([row.owner_id] if self._owned else [])]
        for way in ways:
            query = _where(row.select(*columns), *which, *way.of_row)
            if who is None:
                yield query
            elif way.of_both:
                yield query.where(pw.fn.EXISTS(user.select(pw.SQL("1")).where(
                    user.tenant_id == row.tenant_id, *who, *way.of_user, *way.of_both)))
            else:
                yield query.where(row.tenant_id.in_(user.select(user.tenant_id).where(*who, *way.of_user)))

    def _users(self, which: Sequence[pw.Node], who: Sequence[pw.Node], ways: Iterable[Way]) -> Iterator[Any]:
        row, user = self.row, self.user
        for way in ways:
            query = user.select(user.id).where(*who, *way.of_user)
            if way.of_both:
                yield query.where(pw.fn.EXISTS(row.select(pw.SQL("1")).where(
                    row.tenant_id == user.tenant_id, *which, *way.of_row, *way.of_both)))
            else:
                yield query.where(user.tenant_id.in_(_where(row.select(row.tenant_id), *which, *way.of_row)))


def _where(query: Any, *conditions: pw.Node) -> Any:
    return query.where(*conditions) if conditions else query


def _merged(queries: Iterable[Any]) -> Any:
    """Returns the union of the queries."""
    return reduce(lambda left, right: left.union(right), queries)
