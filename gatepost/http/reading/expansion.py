"""Expansion of references to objects beside their ids: `expand=category,items.product`.

Objects are authorized like any other; one that the caller may not view is null. Each expansion of a page is one query,
for any number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marshmallow import Schema, fields

from ..schemas.fields import Reference

if TYPE_CHECKING:
    from ..request.call import Call

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Expansion:
    """Expansion of `field`, an id of `collection`, to the object `name` beside it.

    within  list of the row whose entries have the field: `items`; None for the row itself
    """

    name: str
    field: str
    collection: str
    within: str | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """The fields that the expansion reads: a list before the field of its entries."""
        return (self.field,) if self.within is None else (self.within, f"{self.within}.{self.field}")

    def apply(self, call: Call, rows: Sequence[Mapping[str, Any]], answers: Sequence[Answer]) -> None:
        """Adds the objects to the answers. Each row (its columns) belongs to the answer at the same index."""
        if self.within is None:
            holders = list(zip(rows, answers, strict=True))
        else:
            for answer in answers:
                answer[self.within] = [dict(entry) for entry in answer[self.within]]
            holders = [(entry, entry) for answer in answers for entry in answer[self.within]]
        target = call.services.collections[self.collection]
        objects = target.visible_many(call, {values[self.field] for values, _ in holders} - {None})
        for values, answer in holders:
            answer[self.name] = objects.get(values[self.field])


def expansions(schema: Schema) -> dict[str, Expansion]:
    """Returns the expansions of a schema's references, by the name that a client writes."""
    result: dict[str, Expansion] = {}
    for name, field in schema.fields.items():
        match field:
            case Reference() if field.expand:
                result[field.expand] = Expansion(field.expand, name, field.collection)
            case fields.List() if isinstance(field.inner, fields.Nested):
                for inner in expansions(field.inner.schema).values():
                    if inner.within is None:
                        result[f"{name}.{inner.name}"] = Expansion(inner.name, inner.field, inner.collection, name)
    return result
