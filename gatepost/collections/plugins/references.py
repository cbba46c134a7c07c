"""References between collections: finds them in schemas, and describes those without a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from marshmallow import Schema, fields

from policies.wording.suggestions import did_you_mean, hint

from ...http.reading.expansion import expansions
from ...http.schemas.fields import Reference
from ..collection import Collection


def references(schema: Schema) -> Iterator[tuple[str, Reference]]:
    """Yields (name, field) of the fields that refer to a collection, nested ones included."""
    for name, field in schema.fields.items():
        inner = field.inner if isinstance(field, fields.List) else field
        if isinstance(inner, Reference):
            yield name, inner
        elif isinstance(inner, fields.Nested):
            yield from ((f"{name}.{deep}", target) for deep, target in references(inner.schema))


def bad_expansion(declared: type[Collection]) -> str | None:
    """Describes the first error in `expand`; None if there is none. Runs before the collection is created."""
    named: object = declared.expand
    if isinstance(named, str) or not isinstance(named, Iterable):
        return f"`expand` must be several names, such as ({named!r},)"
    schema = declared.schema()
    known = expansions(schema)
    for name in named:
        if name in known:
            continue
        meant = next(((field, to) for field, to in references(schema) if field in (name, f"{name}_id")), None)
        cure = (did_you_mean(name, known) if meant is None else
                f'; write {meant[0]} = Reference("{meant[1].collection}", expand="{name}", …)')
        return f"`expand` names {name!r}, and no Reference of {declared.schema.__name__} is expanded as that{cure}"
    return None


def leads_nowhere(collection: Collection, collections: Iterable[str]) -> str | None:
    """Describes the first reference of a collection or of an action's body to a collection that is not served.

    Returns None if there is none.
    """
    known = frozenset(collections)
    for schema in (collection.body_schema, *(action.body for action in collection.actions)):
        for name, field in references(schema):
            if field.collection not in known:
                return (f"{type(schema).__name__}.{name} refers to {field.collection!r}, and there is no such "
                        f"collection{hint(field.collection, known)}")
    return None
