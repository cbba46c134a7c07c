"""Comments: what readers say about an article, public once a moderator approves it, as long as the article is."""

from __future__ import annotations

from marshmallow import fields

from gatepost import Call, Collection, OwnedSchema, Reference, Text, transition
from models.tables.comment import Comment


class CommentSchema(OwnedSchema):
    """A comment of a reader on an article."""

    article_id = Reference("articles", expand="article", required=True)
    body = Text(required=True, minimum=1, maximum=10_000, metadata={"example": "I was there last week."})
    status = fields.String(dump_only=True)


class Comments(Collection):
    """Comments of readers on articles."""

    name, resource = "comments", "comment"
    model, schema = Comment, CommentSchema
    sort = ("created_at", "updated_at", "status,-created_at")
    filters = {
        "status": ("eq", "ne", "in"),
        "article_id": ("eq", "in"),
        "owner_id": ("eq", "in"),
        "body": ("contains",),
        "created_at": ("gte", "lt"),
    }
    search = ("body",)
    expand = ("article", "owner")
    view_guarded = {"owner_id": "view_owner"}
    create_only = ("article_id",)
    judged = ("article_status",)
    on_erase, anonymised = "anonymise", {"body": "[deleted]"}

    def derive(self, call: Call, row: Comment) -> None:
        row.read_article(call.tenant_id, lock=not call.access.is_supposed)

    approve = transition("approve", "Show it to every reader.",
                         {"pending": "approved", "rejected": "approved"})
    reject = transition("reject", "Hide it from all but its author and the moderators.",
                        {"pending": "rejected", "approved": "rejected"})
