"""Hypothetical new rows: their values for a decision, and the columns that only a request would set."""

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
    """Returns a new row of the caller, without values of a body."""
    row = new_row(collection.model, call.tenant_id, call.access.environment.now)
    collection.stamp(call, row)
    return row


def said_by_body(collection: Collection, row: Any) -> frozenset[str]:
    """Returns the columns that a body sets, or that are derived from it, except for the owner."""
    kind = type(collection)
    derives = kind.derive is not Writable.derive or kind.draft is not Writable.draft
    empty = (name for name, value in row.__data__.items() if value is None) if derives else ()
    return frozenset((*collection.body_schema.load_fields, *collection.judged, *empty)) - {"owner_id"}


def drafted(collection: Collection, call: Call, sent: Values) -> tuple[Any, frozenset[str]]:
    """Returns a new row of the caller with these fields, and the columns that missing fields leave unknown.

    A field that the caller cannot set may have its default value, or the value that would be derived from missing
    fields. Raises `Problem` for anything else that the service would refuse in a body.
    """
    schema, plain = collection.body_schema, type(collection).draft is Writable.draft and not collection.prepares
    # Passwords are skipped, because no rule reads them and hashing is slow.
    secret = {name for name, field in schema.fields.items() if field.load_only}
    required = {name for name, field in schema.load_fields.items() if field.required} - secret
    call.body, given = load_body(schema, {name: value for name, value in sent.items() if name not in secret},
                                 kept=tuple(required | secret))
    row = stamped(collection, call)
    call.body = {name: value for name, value in call.body.items()
                 if name not in collection.managed or value != row.__data__.get(name)}
    open_columns, missing = said_by_body(collection, row) - schema.load_fields.keys(), required - call.body.keys()
    # An overridden `draft`, or one that uses data of `prepare`, may have side effects.
    if plain and not missing:
        row, unknown = collection.draft(call), call.write.unknown
    else:
        unknown = open_columns | missing
        row = collection.drafted(call, lambda *_: unknown)
        derived = {name: given[name] for name in open_columns & given.keys() if _fits(call, name, given[name])}
        row.__data__ |= derived
        unknown = call.write.unknown = unknown - derived.keys()
    if faults := [read_only(name) for name, value in given.items() if value != row.__data__.get(name)
                  and not (name in open_columns and row.__data__[name] is None)]:
        raise Problem.of(faults, "invalid_body")
    return row, unknown


def _fits(call: Call, name: str, value: Any) -> bool:
    """True if rules can read the column, and the value has its type."""
    columns = call.access.policy.vocabulary.by_permission[call.endpoint.permission or ""].columns
    return name in columns and type(value) is columns[name].type
