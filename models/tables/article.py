"""Articles: written posts."""

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.table import Owned


class Article(Owned):
    """An article. Readers find it by `slug`, unique per tenant."""

    searched = ("title", "body")

    title = pw.TextField()
    slug = pw.TextField()
    body = pw.TextField()
    language = pw.TextField(default="en")
    category_id = IdField(null=True)
    status = pw.TextField(default="draft")
    published_at = TimeField(null=True)

    class Meta:
        table_name = "articles"
