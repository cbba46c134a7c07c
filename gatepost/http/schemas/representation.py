"""JSON of the rows of a collection, derived once from its marshmallow schema.

`encode` must equal `schema.dump` byte for byte; a test checks every collection. It is faster because our rows hold
JSON-ready values: ids and times are text on both databases. Marshmallow itself serialises fields of unknown kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import peewee as pw
from marshmallow import Schema, fields

Values = Mapping[str, Any]

# Fields whose dump is the value itself, if the row has the type of the schema.
_AS_STORED = (fields.String, fields.Integer, fields.Boolean, fields.List, fields.Nested, fields.Raw)


class Representation:
    """Converts the rows of one collection to JSON.

    names    fields of an answer, in the order of the schema
    columns  those names that are columns of the table
    """

    def __init__(self, schema: Schema, model: type[pw.Model]) -> None:
        columns = model._meta.fields
        self.names: tuple[str, ...] = tuple(schema.dump_fields)
        self.columns: tuple[str, ...] = tuple(name for name in self.names if name in columns)
        self._model = model
        self._schema = schema
        self._special = {name: field for name, field in schema.dump_fields.items()
                         if not isinstance(field, _AS_STORED) or type(field)._serialize not in _PLAIN}

    def encode(self, values: Values, names: Collection[str]) -> dict[str, Any]:
        """Returns the fields `names` of one row, as JSON-ready data in the order of the schema."""
        if not self._special:
            return {name: values[name] for name in self.names if name in names and name in values}
        return {name: (field._serialize(values[name], name, values)
                       if (field := self._special.get(name)) is not None else values[name])
                for name in self.names if name in names and name in values}

    def direct(self, names: Sequence[str]) -> bool:
        """True if the values of the columns `names`, as a `reader` returns them, equal the result of `encode`."""
        return names == tuple(name for name in self.columns if name in names and name not in self._special)


_PLAIN = {fields.String._serialize, fields.Integer._serialize, fields.Boolean._serialize,
          fields.List._serialize, fields.Nested._serialize, fields.Raw._serialize}
