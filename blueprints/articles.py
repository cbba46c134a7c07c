"""Articles: written posts, from draft to archive."""

from marshmallow import fields

from blueprints import Collection, Language, Line, OwnedSchema, Reference, Slug, Text, Time, action
from models.article import Article
from models.base import now


class ArticleSchema(OwnedSchema):
    """A written post."""

    title = Line(required=True)
    slug = Slug(required=True)
    body = Text(required=True, minimum=1, maximum=200_000)
    language = Language()
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

    @action("submit", transitions={"draft": "in_review"})
    def submit(self, article: Article) -> None:
        """Hand a draft to the editors."""

    @action("approve", transitions={"in_review": "approved"})
    def approve(self, article: Article) -> None:
        """Accept what was handed in."""

    @action("reject", transitions={"in_review": "draft"})
    def reject(self, article: Article) -> None:
        """Give it back to its author."""

    @action("publish", transitions={"draft": "published", "approved": "published"})
    def publish(self, article: Article) -> None:
        """Show it to everybody."""
        article.published_at = now()

    @action("archive", transitions={"published": "archived"})
    def archive(self, article: Article) -> None:
        """Take it off the public pages, and keep it."""
