"""Checks of tables against the declarations of collections, after the migrations are applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from models.base import Record
from models.catalog import Catalog, Loose, look
from models.engine.database import Database
from models.records import search

from ..collection import Collection
from .contents import PluginError
from .declarations import takes_bodies
from .places import place, place_in


def check(database: Database, collections: Iterable[Collection]) -> None:
    """Raises `PluginError` for the first collection whose table cannot serve it. The database is connected."""
    checked = list(collections)
    catalog = look(database, (collection.model._meta.table_name for collection in checked))
    for collection in checked:
        for reason in _column_faults(catalog, collection.model):
            raise PluginError(reason)
        for reason in _index_faults(database, catalog, collection):
            raise PluginError(f"{place(type(collection))}: {reason}")


def _column_faults(catalog: Catalog, model: type[Record]) -> Iterator[str]:
    """Describes each column in which a model and its table differ, with the place in the model."""
    table, fields = model._meta.table_name, model._meta.fields
    columns = catalog.columns.get(table)
    if columns is None:
        yield f"{place(model)}: there is no table {table!r} of {model.__name__}; a migration makes it with ddl.table"
        return
    for name, field in fields.items():
        if field.column_name not in columns:
            yield (f"{place_in(model, name)}: the table {table!r} has no column {field.column_name!r}, which "
                   f"{model.__name__} names; a migration adds it")
    for column in columns.keys() - {field.column_name for field in fields.values()}:
        if columns[column].demanded:
            yield (f"{place(model)}: the table {table!r} has the column {column!r}, which takes no null and has no "
                   f"default, and {model.__name__} lacks it: no row could be stored; give {model.__name__} the column")


def _index_faults(database: Database, catalog: Catalog, collection: Collection) -> Iterator[str]:
    """Describes each index and constraint that a table lacks for its collection's declaration."""
    model, class_name = collection.model, type(collection).__name__
    table, fields = model._meta.table_name, model._meta.fields
    columns_of_table = catalog.columns[table]
    if collection.search and not search.is_current(database, model):
        columns = "".join(f'"{name}", ' for name in collection.search).rstrip(" ")
        yield (f"the words of {collection.name} have no index, or one of other columns or of all tenants; "
               f'a migration makes it with ddl.searchable(db, "{table}", ({columns}))')
    for text in dict.fromkeys((*collection.sort, collection.default_sort)):
        keys = tuple(f"{'-' if key.descending else ''}{key.column.column_name}"
                     for key in collection.listing.query.orders[text].keys)
        if not catalog.serves(table, keys):
            keys_of_index = text if "," in text else text.removeprefix("-")  # one key is read forward and backward
            yield (f"{class_name} can be sorted by {text!r}, and no index serves that; "
                   f'a migration makes one with ddl.index(db, "{table}", "{keys_of_index}")')
    for foreign_key in catalog.loose:
        if table in (foreign_key.table, foreign_key.parent):
            yield _unsupported(foreign_key)
    if not takes_bodies(collection):
        return
    required = {name for name, field in collection.body_schema.load_fields.items() if field.required}
    for name, field in fields.items():
        if (columns_of_table[field.column_name].strict and field.null and field.default is None and name not in required
                and name not in Record._meta.fields and name != "owner_id"):
            yield (f"a body may leave out {name!r}, and the column {field.column_name!r} of the table {table!r} takes "
                   f"no null, as {model.__name__} says it does")


def _unsupported(foreign_key: Loose) -> str:
    columns = ", ".join(foreign_key.columns)
    cure = (f'ddl.index(db, "{foreign_key.parent}", "{", ".join(foreign_key.columns[1:])}", unique=True)'
            if foreign_key.columns[0] == "tenant_id" and len(foreign_key.columns) > 1 else
            f'ddl.run(db, "CREATE UNIQUE INDEX … ON {foreign_key.parent} ({columns})")')
    return (f"a foreign key of the table {foreign_key.table!r} leads to {foreign_key.parent} ({columns}), of which no "
            f"index is unique, so that every write would fail; a migration makes one with {cure}")
