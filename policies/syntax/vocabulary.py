"""The words that a policy may use: resources with their permissions and columns, and roles.

The registry of collections makes the vocabulary; a policy that uses any other word is refused at load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a condition may name as `r.obj.<column>`.

    `format` narrows text, in the words of JSON Schema: "uuid", "date-time" or "date". Only numbers and the
    two times have an order, and a uuid is compared with a uuid only, because Postgres would refuse the rest.
    """

    type: type[str] | type[int] | type[bool]
    nullable: bool
    format: str | None = None


@dataclass(frozen=True)
class Resource:
    """One kind of object, such as `article`, with its permissions such as `article.view`.

    `indexes` tells the columns of each of the table's indexes, in order: by what it is cheap to list. It is a
    function, because only the lint asks, and the answer takes a temporary database.
    """

    name: str
    permissions: frozenset[str]
    columns: Mapping[str, Column] = field(default_factory=dict)
    indexes: Callable[[], tuple[tuple[str, ...], ...]] = field(default=tuple, compare=False)

    def row(self, **values: Any) -> dict[str, Any]:
        """A row with these values and every other column missing. Raises KeyError for an unknown column."""
        for name in values:
            self.columns[name]
        return {name: values.get(name) for name in self.columns}


@dataclass(frozen=True)
class Vocabulary:
    """All resources by name, and the roles that a user may have."""

    resources: Mapping[str, Resource]
    roles: frozenset[str]

    @cached_property
    def by_permission(self) -> Mapping[str, Resource]:
        """The resource that each permission belongs to."""
        return {
            permission: resource for resource in self.resources.values() for permission in sorted(resource.permissions)
        }
