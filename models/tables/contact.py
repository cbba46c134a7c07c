"""Messages that visitors leave."""

from __future__ import annotations

import peewee as pw

from models.records.columns import EmailField
from models.records.rows import expire
from models.records.table import Record


class ContactMessage(Record):
    """A message of a visitor, who need not have an account."""

    name = pw.TextField()
    email = EmailField()
    subject = pw.TextField()
    body = pw.TextField()

    class Meta:
        table_name = "contact_messages"

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: the operator's setting says how long messages are kept.
        return expire(cls.created_at, before, most)
