"""Notes that people keep for themselves, from open to done."""

import peewee as pw
from marshmallow import fields

from gatepost import Bool, Collection, Conflict, Function, Line, Owned, OwnedSchema, action


class Note(Owned):
    """One note."""

    text = pw.TextField()
    pinned = pw.BooleanField(default=False)
    status = pw.TextField(default="open")

    class Meta:
        table_name = "notes"


class NoteSchema(OwnedSchema):
    """One note."""

    text = Line(required=True)
    pinned = Bool()
    status = fields.String(dump_only=True)


class Notes(Collection):
    """Notes that people keep for themselves."""

    name, resource = "notes", "note"
    model, schema = Note, NoteSchema
    sort = ("created_at", "updated_at")
    filters = {"status": ("eq", "in"), "pinned": ("eq",), "text": ("eq", "contains")}
    expand = ("owner",)

    @action("finish", transitions={"open": "done"})
    def finish(self, note: Note) -> None:
        """Tick it off."""
        if note.pinned:
            raise Conflict("A pinned note stays open.")


begins = Function(
    "begins", reads=(("obj", "text"),), literals=(str,),
    holds=lambda text, start: text is not None and text.startswith(start),
    where=lambda text, start: pw.fn.SUBSTR(text, 1, len(start)) == start,
    words={"for_all": ("For all",)},
)
