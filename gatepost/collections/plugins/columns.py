"""Checks of a collection's declaration against its table: names without a column, and fields without a column."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping

from marshmallow import Schema

from models.base import Owned
from policies.wording.suggestions import hint

from ...http.reading.expansion import expansions
from ...http.schemas.fields import StrictSchema
from ..collection import Collection

_SEVERAL = ("sort", "search", "judged", "computed", "managed", "create_only", "null_at_create", "import_keys",
            "overview")
_ONE = ("default_sort", "born", "until", "gone")
# A collection overrides these methods to store values of a body, or to answer values, that have no column.
_TAKING = ("create", "draft", "stamp", "derive", "update", "prepare", "endpoints")
_HOOKS = ("pre_load", "post_load", "pre_dump", "post_dump")
_ANSWERING = ("attach", "represent", "show", "endpoints", "_shown")


def bad_names(declared: type[Collection]) -> str | None:
    """Describes the first declared name that has no column or field; None if there is none.

    Runs on the class, before the collection is created.
    """
    for attribute in _SEVERAL:
        names: object = getattr(declared, attribute)
        if isinstance(names, str) or not isinstance(names, Iterable) or not all(
                isinstance(name, str) for name in names):
            return f"{attribute} must be several names, such as ({_example(names)!r},); the comma makes them several"
    filters: object = declared.filters
    if not isinstance(filters, Mapping):
        return "filters must say for each field by which operators, such as {'status': ('eq', 'in')}"
    schema, model = declared.schema(), declared.model.__name__
    columns = declared.model._meta.fields
    for attribute, name in _columns_named(declared):
        if name not in columns:
            return f"{attribute} names {name!r}, which is no column of {model}{hint(name, columns)}"
    filterable = {*columns, *expansions(schema)}
    for name in filters:
        if name not in filterable:
            return f"filters names {name!r}, which is no column of {model} and no reference{hint(name, filterable)}"
    for attribute in ("managed", "create_only"):
        # Every `owner_id` is managed without a declaration.
        for name in {*getattr(declared, attribute)} - {"owner_id"}:
            if name not in schema.fields:
                return f"{attribute} names {name!r}, which is no field of {_called(schema)}{hint(name, schema.fields)}"
    for name in declared.overview:
        if name not in schema.dump_fields:
            return f"overview names {name!r}, which no answer has{hint(name, schema.dump_fields)}"
    for name in declared.null_at_create:
        if name in Owned._meta.fields or name in schema.load_fields:
            return f"null_at_create names {name!r}, which a new row has: the service or the body gives it"
    return None


def _columns_named(declared: type[Collection]) -> Iterator[tuple[str, str]]:
    for attribute in _ONE:
        for key in (getattr(declared, attribute) or "").split(","):
            if key:
                yield attribute, key.removeprefix("-") if attribute == "default_sort" else key
    yield from (("sort", key.removeprefix("-")) for text in declared.sort for key in text.split(","))
    yield from ((attribute, name) for attribute in ("search", "judged", "null_at_create", "import_keys")
                for name in getattr(declared, attribute))


def lost(collection: Collection) -> str | None:
    """Describes the first field of the schema whose value would be lost; None if there is none.

    A field may lack a column if the collection overrides a method that stores or answers rows, or if the schema has a
    hook that changes values.
    """
    schema, columns = collection.body_schema, collection.model._meta.fields
    # A schema without hooks of a kind has no entry for it, or an empty list after its first use.
    if any((schema._hooks.get(name) or []) != (StrictSchema._hooks.get(name) or []) for name in _HOOKS):
        return None
    model = collection.model.__name__
    for name, field in schema.fields.items():
        if name in columns or (field.attribute or name) in columns or name in collection.computed:
            continue
        if name in schema.load_fields and not _overrides(collection, _TAKING):
            return (f"{_called(schema)}.{name} has no column in {model}, so that what is sent in it would be lost; "
                    f"give {model} the column, or override `create` to keep it elsewhere")
        if name in schema.dump_fields and not _overrides(collection, (*_TAKING, *_ANSWERING)):
            return (f"{_called(schema)}.{name} has no column in {model}, so that no answer would have it; give {model} "
                    "the column, or override `attach` to add it to rows")
    return None


def _overrides(collection: Collection, methods: Names[str]) -> bool:
    return any(getattr(type(collection), name) is not getattr(Collection, name) for name in methods)


def _called(schema: Schema) -> str:
    return type(schema).__name__


def _example(names: object) -> str:
    return names if isinstance(names, str) else "created_at"
