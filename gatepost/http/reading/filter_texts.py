"""What a filter of a list means, as one English sentence for the documentation."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from models.records.columns import IdField

from ..schemas.fields import Bool, Id, Int, Time

_NUMBER = {"eq": "is exactly this", "ne": "is any other than this", "lt": "is less than this",
           "lte": "is at most this", "gt": "is more than this", "gte": "is at least this",
           "in": "is one of these, which are separated by commas"}
_TIME = {"eq": "at exactly this time", "ne": "at any other time than this", "lt": "before this time",
         "lte": "at this time or earlier", "gt": "after this time", "gte": "at this time or later",
         "in": "at one of these times, which are separated by commas"}
_REFERENCE = {"eq": "has this id", "ne": "has any other id than this",
              "in": "has one of these ids, which are separated by commas"}
_TEXT = {"eq": "is exactly this", "ne": "is any other than this", "lt": "sorts before this",
         "lte": "is this, or sorts before it", "gt": "sorts after this", "gte": "is this, or sorts after it",
         "in": "is one of these, which are separated by commas; one with a comma stands in double quotes",
         "contains": "contains this text", "startswith": "starts with this text"}
# A column called after what happened then: `published_at`.
_HAPPENED = "_at"


def words(name: str) -> str:
    """A column's name as it is read: `category_id` is `category`, `owner_name` is `owner name`."""
    return name.removesuffix("_id").replace("_", " ")


def meaning(name: str, operator: str, declared: Any) -> str:
    """The sentence about the filter of a column; `declared` is its field of a schema, or the column itself.

    Raises `LookupError` for an operator that there is not.
    """
    said, happened = words(name), words(name.removesuffix(_HAPPENED))
    if operator == "isnull":
        if isinstance(declared, Time) and name.endswith(_HAPPENED):
            return f"Only rows that were never {happened} (`true`), or only rows that were (`false`)."
        return f"Only rows without any {said} (`true`), or only rows that have one (`false`)."
    if operator == "has":
        return f"Only rows that have this among their {said}."
    match declared:
        case Time() if operator in _TIME and name.endswith(_HAPPENED):
            return f"Only rows {happened} {_TIME[operator]}."
        case Time() if operator in _TIME:
            return f"Only rows whose {said} is {_TIME[operator].removeprefix('at ')}."
        case Int() if operator in _NUMBER:
            return f"Only rows whose {said} {_NUMBER[operator]}."
        case Bool() | fields.Boolean() if operator == "eq":
            return f"Only rows that are {said} (`true`), or only rows that are not (`false`)."
        case Id() | IdField() if operator in _REFERENCE and name.endswith("_id"):
            return f"Only rows whose {said} {_REFERENCE[operator]}."
        case _:
            return f"Only rows whose {said} {_TEXT[operator]}."
