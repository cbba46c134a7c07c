"""Fills an empty Postgres database with rows as they are, as a user who is no superuser.

Triggers would rewrite rows. Foreign keys would demand an order of tables, and there may be none. An index is faster to
build from all rows at once. So all three are dropped or disabled, and restored in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from models.engine.database import Database, driver_error
from models.engine.errors import InvalidReference

_COLUMNS = """
    SELECT relname::text, attname::text, attgenerated <> '' FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace AND attnum > 0 AND NOT attisdropped
    ORDER BY relname, attnum
"""
_FOREIGN_KEYS = """
    SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND conparentid = 0 AND connamespace = current_schema()::regnamespace ORDER BY conname, oid
"""
# Indexes of constraints stay: those of primary keys and unique constraints.
_INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND NOT indisprimary AND NOT indisreplident
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
    ORDER BY indexrelid
"""
_TRIGGERS = """
    SELECT tgrelid::regclass::text, quote_ident(tgname), tgenabled::text FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid
    WHERE NOT tgisinternal AND tgenabled <> 'D'
    AND relnamespace = current_schema()::regnamespace ORDER BY pg_trigger.oid
"""
_ENABLED = {"O": "ENABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA"}
_SEQUENCES = """
    SELECT pg_class.oid::regclass::text, quote_ident(attname),
           pg_get_serial_sequence(pg_class.oid::regclass::text, attname) FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace AND attnum > 0 AND NOT attisdropped
    AND pg_get_serial_sequence(pg_class.oid::regclass::text, attname) IS NOT NULL
"""


def columns(database: Database) -> dict[str, dict[str, bool]]:
    """Returns the columns of each table; True for a column that the server computes."""
    tables: dict[str, dict[str, bool]] = {}
    for table, column, generated in database.query(_COLUMNS):
        tables.setdefault(table, {})[column] = generated
    return tables


@contextmanager
def bare(database: Database) -> Iterator[None]:
    """Removes triggers, foreign keys and indexes, so that the block can fill tables in any order. Restores them at its
    end.

    Needs a transaction. Sequences then continue after the largest number. Raises `InvalidReference` with the table and
    the key of a row that refers to none, `RowError`.
    """
    triggers, keys, indexes = (database.query(each) for each in (_TRIGGERS, _FOREIGN_KEYS, _INDEXES))
    for table, name, _ in triggers:
        _run(database, f"ALTER TABLE {table} DISABLE TRIGGER {name}")
    for table, name, _ in keys:
        _run(database, f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for name, _ in indexes:
        _run(database, f"DROP INDEX {name}")
    yield
    for _, definition in indexes:
        _run(database, definition)
    for table, name, definition in keys:
        try:
            _run(database, f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        except InvalidReference as error:
            cause = driver_error(error.__cause__ or error)
            detail = cause.diag.message_detail if isinstance(cause, psycopg.Error) else None
            raise InvalidReference(f"{table}: {detail or name}") from error
    for table, name, enabled in triggers:
        _run(database, f"ALTER TABLE {table} {_ENABLED[enabled]} TRIGGER {name}")
    for table, column, sequence in database.query(_SEQUENCES):
        database.query(f"SELECT setval(%s, newest) FROM (SELECT max({column}) AS newest FROM {table}) AS found "
                       "WHERE newest > 0", [sequence])


def _run(database: Database, statement: str) -> None:
    # psycopg takes a lone % for a placeholder.
    database.execute_sql(statement.replace("%", "%%"))
