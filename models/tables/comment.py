"""Comments on articles."""

import peewee as pw

from models.records.columns import IdField
from models.records.table import Owned


class Comment(Owned):
    """A remark about an article, shown once approved."""

    searched = ("body",)

    article_id = IdField()
    body = pw.TextField()
    status = pw.TextField(default="pending")

    class Meta:
        table_name = "comments"
