"""Articles: written posts, from draft to archive."""

from __future__ import annotations

from marshmallow import fields

from gatepost import Collection, Language, OwnedSchema, Reference, Slug, Text, Time, Title, action, now, transition
from models.tables.article import Article


class ArticleSchema(OwnedSchema):
    """A written post."""

    title = Title(required=True, metadata={"example": "A walk along the river"})
    slug = Slug(required=True, metadata={"example": "a-walk-along-the-river"})
    body = Text(required=True, minimum=1, maximum=200_000, metadata={"example": "It begins at the old mill."})
    language = Language(metadata={"example": "en"})
    category_id = Reference("categories", expand="category", allow_none=True)
    status = fields.String(dump_only=True)
    published_at = Time(dump_only=True, allow_none=True)


class Articles(Collection):
    """Written posts."""

    name, resource = "articles", "article"
    model, schema = Article, ArticleSchema
    sort = ("created_at", "updated_at", "title", "published_at", "status,-created_at")
    default_sort = "-created_at"
    filters = {
        "status": ("eq", "ne", "in"),
        "title": ("eq", "contains", "startswith"),
        "slug": ("eq", "in"),
        "language": ("eq", "in"),
        "category": ("eq",),
        "category_id": ("eq", "in", "isnull"),
        "owner_id": ("eq", "in"),
        "created_at": ("gte", "lt"),
        "published_at": ("gte", "lt", "isnull"),
    }
    search = ("title", "body")
    expand = ("category", "owner")
    import_keys = ("slug",)

    submit = transition("submit", "Hand it to the editors.", {"draft": "in_review"})
    approve = transition("approve", "Accept it for publication.", {"in_review": "approved"})
    reject = transition("reject", "Give it back to its author as a draft.", {"in_review": "draft"})

    @action("publish", transitions={"draft": "published", "approved": "published"})
    def publish(self, article: Article) -> None:
        """Show it to every reader."""
        article.published_at = now()

    archive = transition("archive", "Take it off the public pages, and keep it.", {"published": "archived"})
