"""Contact: messages that visitors leave, for support to read and clear away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import peewee as pw

from gatepost import Call, Collection, Email, Endpoint, Id, Name, RecordSchema, StrictSchema, Text, Title
from gatepost.http.pipeline.limiting import count_for_the_day
from models.tables.contact import ContactMessage
from models.tables.user import User


class ContactSchema(RecordSchema):
    """A message from a visitor, with or without an account."""

    name = Name(required=True, metadata={"example": "Noor Visser"})
    email = Email(required=True, metadata={"example": "noor@example.org"})
    subject = Title(required=True, metadata={"example": "Opening hours"})
    body = Text(required=True, minimum=1, maximum=20_000, metadata={"example": "Are you open on Sundays?"})


class ReceiptSchema(StrictSchema):
    """Receipt of a message, which its sender cannot read again."""

    id = Id(required=True)


# The endpoints of a collection that there are besides leaving a message.
_SUMMARIES = {"list": "List messages.", "get": "Get a message.", "delete": "Delete a message."}


class Contact(Collection):
    """Messages from visitors."""

    name, resource = "contact", "contact"
    model, schema = ContactMessage, ContactSchema
    sort = ("created_at", "updated_at")
    shares = False
    overview = ("email", "subject", "created_at")
    on_erase = "delete"
    filters = {
        "name": ("contains",),
        "email": ("eq",),
        "subject": ("contains",),
        "body": ("contains",),
        "created_at": ("gte", "lt"),
    }

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name == "create":
                yield replace(endpoint, status=202, answer=ReceiptSchema(), handler=self.receive, tight=True,
                              prepare=self.count, summary="Leave a message.")
            elif endpoint.name in _SUMMARIES:
                yield replace(endpoint, summary=_SUMMARIES[endpoint.name])

    def of_person(self, person: User) -> pw.Expression | None:
        """A message has no owner: those of their e-mail address, in whichever tenant it was left."""
        return ContactMessage.email == person.email

    def stamp(self, call: Call, row: ContactMessage) -> None:
        """A message has no owner, also when its sender is logged in."""

    def count(self, call: Call) -> None:
        """Refuse messages beyond what one address may leave in a day."""
        count_for_the_day(call, "contact")

    def receive(self, call: Call) -> dict[str, Any]:
        """Leave a message."""
        self.create(call, call.row)
        return {"id": call.row.id}
