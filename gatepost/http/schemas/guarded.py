"""Guarded fields of a collection: the permissions that show them, and answers without them.

The name of a field in the entries of a list has a point: `items.unit_price`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple


class Group(NamedTuple):
    """The fields that one permission shows.

    outer  the fields of the row that have one of `fields`, or are one
    """

    permission: str
    fields: frozenset[str]
    outer: frozenset[str]


class Guards:
    """Guarded fields of a row, by name (`by_field`) and by permission (`groups`)."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        self.by_field = by_field
        self.groups = tuple(_group(permission, by_field) for permission in dict.fromkeys(by_field.values()))

    def without(self, permissions: Collection[str]) -> Guards:
        """Returns the guards of other permissions."""
        return Guards({name: needed for name, needed in self.by_field.items() if needed not in permissions})


def _group(permission: str, by_field: Mapping[str, str]) -> Group:
    fields = frozenset(name for name, needed in by_field.items() if needed == permission)
    return Group(permission, fields, frozenset(outer_of(name) for name in fields))


def outer_of(name: str) -> str:
    """Returns the field of the row that has the field: `items` for `items.unit_price`."""
    return name.partition(".")[0]


def present(answer: Mapping[str, Any], name: str) -> bool:
    """True if a row, or an entry of its list, has the field."""
    within, _, field = name.rpartition(".")
    return name in answer if not within else any(field in entry for entry in answer.get(within) or ())


def remove(answer: dict[str, Any], names: Iterable[str]) -> None:
    """Removes fields from a row. Lists are replaced, because other rows may share them."""
    for name in names:
        within, _, field = name.rpartition(".")
        if not within:
            answer.pop(name, None)
        elif answer.get(within):
            answer[within] = [{key: value for key, value in entry.items() if key != field} for entry in answer[within]]
