"""A table with every kind of column that can order a page, and the rules of a list in plain Python.

`Case` describes a list twice: as a `Shape` for the database, and as predicates over dicts for the reference, which must
be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import peewee as pw
from hypothesis import strategies as st

from models import ddl
from models.base import Table
from models.engine.database import Database
from models.engine.prepared import Bind
from models.paging import Key, Shape, sort_order
from models.records.columns import IdField, TimeField

TENANT = "01930000-0000-7000-8000-000000000000"
ANOTHER = "01930000-0000-7000-8000-00000000ffff"
ME = "01930000-0000-7000-8000-000000000001"
OTHER = "01930000-0000-7000-8000-000000000002"
TIMES = tuple(f"2026-11-21T08:39:30.{fraction:06}Z" for fraction in (0, 1, 123456))
VALUES = {"tenant": TENANT, "me": ME, "status": "draft", "time": TIMES[1], "rank": 2}

Row = dict[str, Any]
Condition = tuple[pw.Expression, Callable[[Row], bool]]


class Note(Table):
    id = IdField(primary_key=True)
    tenant_id = IdField()
    owner_id = IdField(null=True)
    status = pw.TextField()
    title = pw.TextField()
    rank = pw.IntegerField(null=True)
    created_at = TimeField()

    class Meta:
        table_name = "notes"


def create_table(database: Database) -> None:
    ddl.run(database, """
        CREATE TABLE notes (
            id {id} NOT NULL PRIMARY KEY, tenant_id {id} NOT NULL, owner_id {id}, status {key} NOT NULL,
            title {key} NOT NULL, rank INTEGER, created_at {time} NOT NULL
        ) {strict}
    """)


ORDERS = {
    "created_at": sort_order(Key(Note.created_at)),
    "-created_at": sort_order(Key(Note.created_at, descending=True)),
    "title": sort_order(Key(Note.title)),
    "-title,-status,-created_at": sort_order(
        Key(Note.title, True), Key(Note.status, True), Key(Note.created_at, True)),
    "status,-created_at": sort_order(Key(Note.status), Key(Note.created_at, True)),
    "-status,title,-created_at": sort_order(Key(Note.status, True), Key(Note.title), Key(Note.created_at, True)),
    "rank": sort_order(Key(Note.rank)),
    "-rank": sort_order(Key(Note.rank, True)),
    "rank,-created_at": sort_order(Key(Note.rank), Key(Note.created_at, True)),
    "-rank,status,title": sort_order(Key(Note.rank, True), Key(Note.status), Key(Note.title)),
    "-owner_id": sort_order(Key(Note.owner_id, True)),
    "id": sort_order(Key(Note.id)),
    "-status,id": sort_order(Key(Note.status, True), Key(Note.id)),
}

COLUMNS = {
    "id": (Note.id,),
    "title, id": (Note.title, Note.id),
    "all": (Note.rank, Note.created_at, Note.id, Note.status, Note.title, Note.owner_id),
}

MINE: Condition = (Note.tenant_id == Bind("tenant"), lambda row: row["tenant_id"] == TENANT)

FILTERS: dict[str, tuple[Condition, ...]] = {
    "none": (),
    "one status": ((Note.status == Bind("status"), lambda row: row["status"] == "draft"),),
    "snapshot": ((Note.created_at <= Bind("time"), lambda row: row["created_at"] <= TIMES[1]),),
    "two": ((Note.status.in_([Bind("status"), "published"]), lambda row: row["status"] != "archived"),
            (Note.rank.is_null(False), lambda row: row["rank"] is not None)),
}

PUBLISHED: Condition = (Note.status == "published", lambda row: row["status"] == "published")
OWN: Condition = (Note.owner_id == Bind("me"), lambda row: row["owner_id"] == ME)
HIGH: Condition = (Note.rank >= Bind("rank"), lambda row: row["rank"] is not None and row["rank"] >= 2)
ANY: Condition = (Note.id == Note.id, lambda row: True)

BRANCHES: dict[str, tuple[Condition, ...] | None] = {
    "everything": None,
    "nothing": (),
    "published": (PUBLISHED,),
    "published or own": (PUBLISHED, OWN),
    "published, own or high": (PUBLISHED, OWN, HIGH),
    "each row thrice": (ANY, ANY, ANY),
}

DENIES: dict[str, tuple[Condition, ...]] = {
    "none": (),
    "no drafts": ((pw.NodeList(((Note.status == Bind("status")), pw.SQL("IS NOT TRUE"))),
                   lambda row: row["status"] != "draft"),),
    "not where the rank is 1": ((pw.NodeList(((Note.rank == 1), pw.SQL("IS NOT TRUE"))),
                                 lambda row: row["rank"] != 1),),
}


@dataclass(frozen=True)
class Case:
    """One list: keys of the tables above."""

    order: str
    columns: str = "id"
    filters: str = "none"
    branches: str = "everything"
    denies: str = "none"

    @property
    def shape(self) -> Shape:
        return _shape(self)

    def reference(self, rows: Iterable[Row]) -> list[Row]:
        """Returns the rows of the list in its order, by the simplest code."""
        every = (MINE, *FILTERS[self.filters], *DENIES[self.denies])
        branches = BRANCHES[self.branches]
        found = [row for row in rows if all(holds(row) for _, holds in every)
                 and (branches is None or any(holds(row) for _, holds in branches))]
        for key in reversed(ORDERS[self.order].keys):
            name = key.column.name
            values = sorted((row for row in found if row[name] is not None), key=itemgetter(name),
                            reverse=key.descending)
            found = values + [row for row in found if row[name] is None]
        return found

    def answer(self, rows: Iterable[Row]) -> list[tuple[Any, ...]]:
        """Returns the reference as tuples of the shape's columns."""
        return [tuple(row[column.name] for column in self.shape.columns) for row in rows]


@cache
def _shape(case: Case) -> Shape:
    branches = BRANCHES[case.branches]
    return Shape(
        model=Note, columns=COLUMNS[case.columns], order=ORDERS[case.order],
        filters=tuple(expression for expression, _ in (MINE, *FILTERS[case.filters])),
        branches=None if branches is None else tuple(expression for expression, _ in branches),
        denies=tuple(expression for expression, _ in DENIES[case.denies]))


cases = st.builds(Case, *(
    st.sampled_from(sorted(names)) for names in (ORDERS, COLUMNS, FILTERS, BRANCHES, DENIES)))

# Few values each, so that ties in every key, and rows that differ only in the id, are common.
_contents = st.fixed_dictionaries({
    "tenant_id": st.sampled_from([TENANT, TENANT, TENANT, ANOTHER]),
    "owner_id": st.sampled_from([ME, OTHER, None]),
    "status": st.sampled_from(["draft", "published", "archived"]),
    "title": st.sampled_from(["a", "B", "é", ""]),
    "rank": st.sampled_from([None, None, 0, 1, 2]),
    "created_at": st.sampled_from(TIMES),
})


def _identified(contents: list[Row]) -> list[Row]:
    # Ids are not in the order of insertion: neighbours differ in their first digits.
    return [{"id": f"{number * 40503 % 65536:04x}0000-0000-7000-8000-{number:012x}", **one}
            for number, one in enumerate(contents)]


tables = st.integers(0, 24).flatmap(lambda size: st.lists(_contents, min_size=size, max_size=size)).map(_identified)


def fill(database: Database, rows: list[Row]) -> None:
    """Make `rows` the contents of the table."""
    def work() -> None:
        Note.delete().execute()
        for batch in pw.chunked(rows, 500):
            Note.insert_many(batch).execute()
    database.transact(work)
