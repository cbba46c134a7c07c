"""Pages: standing texts such as an imprint, in several languages."""

from __future__ import annotations

from collections.abc import Sequence

import peewee as pw

from models.base import Owned, Rows, TimeField


class Page(Owned):
    """One text in one language; `slug` and `language` together are unique per tenant."""

    slug = pw.TextField()
    language = pw.TextField()
    title = pw.TextField()
    body = pw.TextField()
    status = pw.TextField(default="draft")
    published_at = TimeField(null=True)

    class Meta:
        table_name = "pages"


def in_best_language(tenant_id: str, slug: str, languages: Sequence[str],
                     *where: pw.Expression) -> Page | None:
    """The page in the first of `languages` that it has, else in any, among those that satisfy `where`."""
    pages = list(Rows(Page, tenant_id).select().where(Page.slug == slug, *where).order_by(Page.language))
    ranks = {language: rank for rank, language in enumerate(languages)}
    return min(pages, key=lambda page: ranks.get(page.language, len(ranks)), default=None)
