"""Comments on articles."""

from __future__ import annotations

import peewee as pw

from models.engine.database import Database, current
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.records.columns import IdField
from models.records.rows import Rows
from models.records.table import Owned
from models.tables.article import Article


class Comment(Owned):
    """A comment on an article, visible once approved.

    `article_status` follows the article's `status` within each transaction that changes it. A trigger updates existing
    comments (migration 0012), and `stamp` sets it in a new one.
    """

    searched = ("body",)

    article_id = IdField()
    body = pw.TextField()
    status = pw.TextField(default="pending")
    article_status = pw.TextField(default="")

    class Meta:
        table_name = "comments"

    def stamp(self, tenant_id: str, at: str) -> None:
        super().stamp(tenant_id, at)
        if not self.article_status:
            self.read_article(tenant_id)

    def read_article(self, tenant_id: str, *, lock: bool = True) -> None:
        """Copies the article's status, and keeps other transactions from changing it before this one ends (`lock`).

        Without such an article it stays empty, which is no article's status.
        """
        articles = _status(current, lock).run(current, {"tenant": tenant_id, "article": self.article_id})
        self.article_status = articles[0][0] if articles else ""


@cache_sql
def _status(database: Database, lock: bool) -> Prepared:
    query = Rows(Article, Bind("tenant")).select(Article.status).where(Article.id == Bind("article"))
    if lock and database.dialect == "postgres":
        query = query.for_update("FOR SHARE")  # type: ignore[arg-type] # the stubs know FOR UPDATE alone
    return prepare(database, query)
