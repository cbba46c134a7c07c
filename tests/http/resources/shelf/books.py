"""Books: a collection with tags, and with actions of every kind that there is."""

import peewee as pw
from marshmallow import fields

from gatepost import (
    Call,
    Collection,
    Conflict,
    Int,
    Line,
    ListField,
    Many,
    Owned,
    OwnedSchema,
    Reference,
    StrictSchema,
    action,
    transition,
)


class Book(Owned):
    """One book."""

    title = pw.TextField()
    tags = ListField(default=list)
    secrets = ListField(null=True)
    stars = pw.IntegerField(null=True)
    status = pw.TextField(default="here")
    searched = ("title",)

    class Meta:
        table_name = "books"


class BookSchema(OwnedSchema):
    """One book."""

    title = Line(required=True)
    tags = Many(Line(), maximum=20)
    secrets = Many(Line(), maximum=20, allow_none=True)
    stars = Int(dump_only=True, allow_none=True)
    status = fields.String(dump_only=True)


class RateSchema(StrictSchema):
    """A rating of a book."""

    stars = Int(minimum=1, maximum=5, required=True)
    about = Reference("categories")
    given = fields.String(dump_only=True)


class LendSchema(StrictSchema):
    """The borrower of a book."""

    to = Line()


class Books(Collection):
    """Books, which are rated, lent and kept."""

    name, resource = "books", "book"
    model, schema = Book, BookSchema
    sort = ("created_at", "stars", "status,-created_at")
    filters = {"tags": ("has",), "secrets": ("has", "isnull"), "stars": ("gte",)}
    search = ("title",)
    guarded = {"secrets": "book.secret"}

    @action("rate", body=RateSchema())
    def rate(self, call: Call, book: Book) -> None:
        """Say what one thinks of it."""
        if book.owner_id == call.principal.id and call.body["stars"] == 5:
            raise Conflict("Nobody gives five stars to what is theirs.")
        book.stars = call.body["stars"]

    @action("lend", transitions={"here": "lent"}, body=LendSchema)
    def lend(self, call: Call, book: Book) -> None:
        """Lend the book."""
        book.tags = [*book.tags, f"at {call.body.get('to', 'somebody')}"]

    @action("keep")
    def keep(self, book: Book) -> None:
        """Look after it; nothing of the row changes."""

    come_back = transition("come_back", "Put it back.", {"lent": "here"})
