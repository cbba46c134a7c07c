"""The kinds of column: ids, times, money, lists, JSON and addresses, alike in Python on both databases."""

from __future__ import annotations

import unicodedata
from typing import Any

import orjson
import peewee as pw

from models.engine.errors import Damaged


class IdField(pw.Field):
    """A UUID, text in Python; native `uuid` in Postgres."""

    field_type = "UUID"


class TimeField(pw.Field):
    """A canonical time (`now()`), text in Python; `timestamptz` in Postgres."""

    field_type = "TIMESTAMPTZ"


class MoneyField(pw.BigIntegerField):
    """An amount in minor units of the row's `currency` (ISO 4217)."""


class RoleField(pw.TextField):
    """The name of a role, which the policy has, or has had."""


class ListField(pw.TextField):
    """A list of strings, stored as a JSON array."""

    def db_value(self, value: Any) -> Any:
        return orjson.dumps(list(value)).decode() if isinstance(value, list | tuple) else value

    def python_value(self, value: Any) -> Any:
        try:
            return orjson.loads(value) if isinstance(value, str) else value
        except orjson.JSONDecodeError as error:
            raise Damaged(f"{self.column_name}: {error}") from None


class JsonField(pw.TextField):
    """A JSON document, assigned as its text and read as what it says."""

    def python_value(self, value: Any) -> Any:
        try:
            return orjson.loads(value) if isinstance(value, str) else value
        except orjson.JSONDecodeError as error:
            raise Damaged(f"{self.column_name}: {error}") from None


def mailbox(address: str) -> str:
    """An e-mail address in its one spelling: lower case, and accents as RFC 6532 section 3.1 has them (NFC)."""
    return unicodedata.normalize("NFC", address.strip()).lower()


class EmailField(pw.TextField):
    """An e-mail address as a `mailbox`, however it is assigned or compared: unique whatever its spelling."""

    class accessor_class(pw.FieldAccessor):
        def __set__(self, instance: Any, value: Any) -> None:
            super().__set__(instance, self.field.db_value(value))

    def db_value(self, value: Any) -> Any:
        return mailbox(value) if isinstance(value, str) else value
