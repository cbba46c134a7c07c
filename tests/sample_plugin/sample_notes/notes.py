"""Notes, from open to done."""

import peewee as pw
from marshmallow import fields

from gatepost import Bool, Collection, Conflict, Line, Owned, OwnedSchema, action


class Note(Owned):
    """The table of notes."""

    text = pw.TextField()
    pinned = pw.BooleanField(default=False)
    status = pw.TextField(default="open")

    class Meta:
        table_name = "notes"


class NoteSchema(OwnedSchema):
    """The fields of a note, in bodies and answers."""

    text = Line(required=True)
    pinned = Bool()
    status = fields.String(dump_only=True)


class Notes(Collection):
    """Notes of users."""

    name, resource = "notes", "note"
    model, schema = Note, NoteSchema
    sort = ("created_at", "updated_at")
    filters = {"status": ("eq", "in"), "pinned": ("eq",), "text": ("eq", "contains")}
    expand = ("owner",)

    @action("finish", transitions={"open": "done"})
    def finish(self, note: Note) -> None:
        """Finish the note."""
        if note.pinned:
            raise Conflict("A pinned note stays open.")
