"""New rows that nobody makes: as the service would judge them, and what of them only a request can say."""

from __future__ import annotations

from typing import Any

from gatepost.collections.collection import Collection
from gatepost.http.protocol.problems import Problem, read_only
from gatepost.http.reading.readable import Values
from gatepost.http.request.call import Call
from gatepost.http.schemas.validation import load_body
from gatepost.http.writing.writable import Writable
from models.base import new_row


def stamped(collection: Collection, call: Call) -> Any:
    """A new row of the caller's, before anything is known of its body."""
    row = new_row(collection.model, call.tenant_id, call.access.environment.now)
    collection.stamp(call, row)
    return row


def said_by_body(collection: Collection, row: Any) -> frozenset[str]:
    """The columns of a stamped row that its body sets, or that follow from it; but for the owner."""
    found = type(collection)
    derives = found.derive is not Writable.derive or found.draft is not Writable.draft
    empty = (name for name, value in row.__data__.items() if value is None) if derives else ()
    return frozenset((*collection.body_schema.load_fields, *collection.judged, *empty)) - {"owner_id"}


def drafted(collection: Collection, call: Call, sent: Values) -> tuple[Any, frozenset[str]]:
    """A new row of the caller's with these fields, and the columns that are unknown because fields are missing.

    A field that the caller cannot set may have the value that it has anyway, or say what would follow from fields that
    are missing. Raises `Problem` for anything else that the service would refuse in a body.
    """
    schema, plain = collection.body_schema, type(collection).draft is Writable.draft and not collection.prepares
    # No rule reads a password, and to hash one takes long.
    secret = {name for name, field in schema.fields.items() if field.load_only}
    required = {name for name, field in schema.load_fields.items() if field.required} - secret
    call.body, given = load_body(schema, {name: value for name, value in sent.items() if name not in secret},
                                 kept=tuple(required | secret))
    row = stamped(collection, call)
    call.body = {name: value for name, value in call.body.items()
                 if name not in collection.managed or value != row.__data__.get(name)}
    open_columns, missing = said_by_body(collection, row) - schema.load_fields.keys(), required - call.body.keys()
    # A `draft` of the collection's own, or one of what `prepare` fetches, may do more than look.
    if plain and not missing:
        row, unknown = collection.draft(call), call.write.unknown
    else:
        unknown = open_columns | missing
        row = collection.drafted(call, lambda *_: unknown)
        told = {name: given[name] for name in open_columns & given.keys() if _fits(call, name, given[name])}
        row.__data__ |= told
        unknown = call.write.unknown = unknown - told.keys()
    if faults := [read_only(name) for name, value in given.items() if value != row.__data__.get(name)
                  and not (name in open_columns and row.__data__[name] is None)]:
        raise Problem.of(faults, "invalid_body")
    return row, unknown


def _fits(call: Call, name: str, value: Any) -> bool:
    """True if a rule may meet this value in a column."""
    columns = call.access.policy.vocabulary.by_permission[call.endpoint.permission or ""].columns
    return name in columns and type(value) is columns[name].type
