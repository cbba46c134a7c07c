"""Pages: standing texts such as an imprint, in several languages."""

import peewee as pw

from models.records.columns import TimeField
from models.records.table import Owned


class Page(Owned):
    """One text in one language; `slug` and `language` together are unique per tenant."""

    searched = ("title", "body")

    slug = pw.TextField()
    language = pw.TextField()
    title = pw.TextField()
    body = pw.TextField()
    status = pw.TextField(default="draft")
    published_at = TimeField(null=True)

    class Meta:
        table_name = "pages"
