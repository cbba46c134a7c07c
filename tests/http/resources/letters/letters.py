"""Letters: a collection whose rows have no owner, and whose columns can be left out in every possible way."""

from __future__ import annotations

from typing import Any

import peewee as pw

from gatepost import Call, Collection, Int, Line, RecordSchema
from models.base import Record


class Letter(Record):
    """One letter. `code` has no default and is never null: the collection gives it."""

    text = pw.TextField()
    code = pw.TextField()
    stars = pw.IntegerField(default=lambda: 3)
    remark = pw.TextField(null=True)
    place = pw.TextField()

    class Meta:
        table_name = "letters"


class LetterSchema(RecordSchema):
    """One letter. `place` is a column that no client sees."""

    text = Line(required=True)
    code = Line()
    stars = Int()
    remark = Line(allow_none=True)


class Letters(Collection):
    """Letters, which have no owner."""

    name, resource = "letters", "letter"
    model, schema = Letter, LetterSchema
    sort = ("created_at", "code")
    filters = {"code": ("eq",), "text": ("eq",)}
    guarded = {"code": "letter.view_code"}

    def stamp(self, call: Call, row: Any) -> None:
        row.code, row.place = "given", "shelf"
