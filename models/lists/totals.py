"""How many rows a list holds: counted as far as that is cheap, estimated beyond."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_

import orjson
import peewee as pw

from models.engine.database import Database
from models.engine.prepared import Bind, Prepared, prepare
from models.lists.shape import Shape

SAMPLE = 1_000  # rows looked at for an estimate on SQLite: about a millisecond
# Multiples of a prime, modulo the number of rows, spread evenly and fall in step with no pattern in them.
STRIDE = 618_033_989

Values = Mapping[str, object]


def count(database: Database, shape: Shape, values: Values, *, limit: int | None) -> int:
    """The number of rows, but at most `limit`; each once, however many branches find it.

    Branch by branch, each by an index of its own, without what earlier branches have counted, until the limit is
    reached: so no statement looks at more than twice the limit. (One condition with OR takes 1.2 s to find five rows
    among a million where SQLite has no statistics; a UNION of ids takes 50 ms to find the first 10 000.)
    """
    bounded = limit is not None
    found = 0
    for text in shape.texts((database.dialect, "count", bounded), lambda: _counting(database, shape, bounded)):
        rest = None if limit is None else limit - found
        found += int(text.run(database, {**values, "page.limit": rest})[0][0])
        if found == limit:
            break
    return found


def estimate(database: Database, shape: Shape, values: Values) -> int:
    """About how many rows, at a small fixed cost: the planner's guess on Postgres, a sample on SQLite.

    It may be below what `count` has found already; the caller knows that and takes the larger.
    """
    if shape.width == 0:
        return 0
    text, = shape.texts((database.dialect, "estimate"), lambda: [_estimating(database, shape)])
    if database.dialect == "postgres":
        plan = text.run(database, values)[0][0]
        return int(plan[0]["Plan"]["Plan Rows"])
    name = shape.model._meta.table_name
    rows = database.query(f'SELECT max(rowid) FROM main."{name}"')[0][0] or 0
    sample = min(rows, SAMPLE)
    chosen = range(1, rows + 1) if rows <= SAMPLE else [1 + n * STRIDE % rows for n in range(SAMPLE)]
    found = int(text.run(database, {**values, "page.sample": orjson.dumps(list(chosen)).decode()})[0][0])
    return round(found * rows / sample) if sample else 0


def _counting(database: Database, shape: Shape, bounded: bool) -> Iterator[Prepared]:
    counted: list[pw.Node] = []
    for reason in shape.reasons():
        rows = shape.rows([shape.order.columns[-1]], *reason, *counted)
        if bounded:
            rows = rows.limit(Bind("page.limit"))
        yield prepare(database, pw.Select([rows.alias("found")], [pw.fn.COUNT(pw.SQL("*"))]))
        counted += [pw.NodeList((one, pw.SQL("IS NOT TRUE"))) for one in reason]


def _estimating(database: Database, shape: Shape) -> Prepared:
    anyhow = [reduce(or_, shape.branches)] if shape.branches else []
    if database.dialect == "postgres":
        planned = prepare(database, shape.rows([shape.order.columns[-1]], *anyhow))
        return planned.prefixed("EXPLAIN (FORMAT JSON) ")
    chosen = pw.NodeList([pw.SQL("(SELECT value FROM"), pw.fn.json_each(Bind("page.sample")), pw.SQL(")")])
    sampled = pw.Column(shape.model._meta.table, "rowid").in_(chosen)
    return prepare(database, shape.rows([pw.fn.COUNT(pw.SQL("*"))], sampled, *anyhow))
