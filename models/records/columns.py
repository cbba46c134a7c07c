"""Kinds of columns: ids, times, money, lists, JSON and addresses, alike in Python on both databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import peewee as pw

from models.engine.errors import Damaged
from models.records.mailboxes import mailbox


class IdField(pw.Field):
    """A UUID, text in Python; native `uuid` in Postgres."""

    field_type = "UUID"


class TimeField(pw.Field):
    """A canonical time (`now()`), text in Python; `timestamptz` in Postgres."""

    field_type = "TIMESTAMPTZ"


class MoneyField(pw.BigIntegerField):
    """An amount in minor units of the row's `currency` (ISO 4217)."""


class RoleField(pw.TextField):
    """Name of a role that the policy has, or once had."""


class ListField(pw.TextField):
    """A list of strings, stored as a JSON array: `ListField(default=list)`, and in SQL `{key} NOT NULL`."""

    def db_value(self, value: Any) -> Any:
        return orjson.dumps(list(value)).decode() if isinstance(value, list | tuple) else value

    def python_value(self, value: Any) -> Any:
        try:
            return orjson.loads(value) if isinstance(value, str) else value
        except orjson.JSONDecodeError as error:
            raise Damaged(f"{self.column_name}: {error}") from None


def holds(column: pw.Field, dialect: str, entry: pw.Node) -> pw.ColumnBase:
    """Returns the condition that a `ListField` contains this entry, a Bind for a text. No index serves it."""
    if dialect == "postgres":
        return pw.NodeList((pw.SQL("("), column, pw.SQL("::jsonb @> to_jsonb(CAST("), entry, pw.SQL("AS text)))")))
    return pw.NodeList((pw.SQL("EXISTS (SELECT 1 FROM json_each("), column, pw.SQL(") WHERE json_each.value ="), entry,
                        pw.SQL(")")))


class JsonField(pw.TextField):
    """A JSON document: assigned as text, read as the value."""

    def python_value(self, value: Any) -> Any:
        try:
            return orjson.loads(value) if isinstance(value, str) else value
        except orjson.JSONDecodeError as error:
            raise Damaged(f"{self.column_name}: {error}") from None


class EmailField(pw.TextField):
    """An e-mail address, stored and compared in the normalized spelling of its mailbox.

    An address that is stored in another spelling is read unchanged.
    """

    def db_value(self, value: Any) -> Any:
        return mailbox(value) if isinstance(value, str) else value


def reader(columns: Sequence[pw.Field]) -> Callable[[tuple[Any, ...]], dict[str, Any]]:
    """Returns a function that turns a tuple of these columns from the driver into a dict by column name."""
    names = tuple(column.name for column in columns)
    converters: tuple[tuple[str, Callable[[Any], Any]], ...] = tuple(
        (column.name, column.python_value) for column in columns if _needs_conversion(column))
    if not converters:
        return lambda row: dict(zip(names, row, strict=True))

    def read(row: tuple[Any, ...]) -> dict[str, Any]:
        values = dict(zip(names, row, strict=True))
        for name, convert in converters:
            values[name] = convert(values[name])
        return values

    return read


# peewee's conversion leaves values of these kinds unchanged: the driver returns text and numbers already.
_VERBATIM = {pw.Field.adapt, pw.TextField.adapt, pw.IntegerField.adapt}


def _needs_conversion(column: pw.Field) -> bool:
    """True if Python code sees another value than the driver returns (booleans, lists)."""
    kind = type(column)
    return kind.python_value is not pw.Field.python_value or kind.adapt not in _VERBATIM
