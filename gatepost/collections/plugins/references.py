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
    names: object = declared.expand
    if isinstance(names, str) or not isinstance(names, Iterable):
        return f"`expand` must be several names, such as ({names!r},)"
    schema = declared.schema()
    possible = expansions(schema)
    for name in names:
        if name in possible:
            continue
        reference = next(((field, to) for field, to in references(schema) if field in (name, f"{name}_id")), None)
        cure = (did_you_mean(name, possible) if reference is None else
                f'; write {reference[0]} = Reference("{reference[1].collection}", expand="{name}", …)')
        return f"`expand` names {name!r}, and no Reference of {declared.schema.__name__} is expanded as that{cure}"
    return None


def leads_nowhere(collection: Collection, collections: Iterable[str]) -> str | None:
    """Describes the first reference of a collection or of an action's body to a collection that is not served.

    Returns None if there is none.
    """
    names = frozenset(collections)
    for schema in (collection.body_schema, *(action.body for action in collection.actions)):
        for name, field in references(schema):
            if field.collection not in names:
                return (f"{type(schema).__name__}.{name} refers to {field.collection!r}, and there is no such "
                        f"collection{hint(field.collection, names)}")
    return None
