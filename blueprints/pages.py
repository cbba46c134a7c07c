"""Pages: standing texts such as an imprint, each in several languages; readers ask for them by slug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from marshmallow import ValidationError, fields

from gatepost import (
    Call,
    Collection,
    Endpoint,
    Language,
    OwnedSchema,
    Slug,
    Text,
    Time,
    Title,
    action,
    is_id,
    now,
    transition,
)
from gatepost.http.protocol.language import best, wishes
from models.tables.page import Page

_TEXT = ("slug", "title", "body", "language")  # what is answered of a page that is named by its slug


class PageSlug(Slug):
    """A slug that cannot be taken for an id or for another path below `/api/pages`."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        slug = super()._deserialize(value, attr, data, **kwargs)
        if is_id(slug) or slug in ("export", "import"):
            raise ValidationError("This slug means something else in a path.")
        return slug


class PageSchema(OwnedSchema):
    """A standing text in one language."""

    slug = PageSlug(required=True, metadata={"example": "opening-hours"})
    title = Title(required=True, metadata={"example": "Opening hours"})
    body = Text(required=True, minimum=1, maximum=200_000, metadata={"example": "From nine to five."})
    language = Language(required=True, metadata={"example": "en"})
    status = fields.String(dump_only=True)
    published_at = Time(dump_only=True, allow_none=True)


class Pages(Collection):
    """Standing texts."""

    name, resource = "pages", "page"
    model, schema = Page, PageSchema
    sort = ("created_at", "updated_at", "title", "slug", "published_at", "status,-created_at")
    default_sort = "slug"
    filters = {"status": ("eq", "in"), "slug": ("eq", "in"), "language": ("eq", "in"), "title": ("contains",)}
    search = ("title", "body")
    expand = ("owner",)

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name == "get":
                others = frozenset(self.representation.names) - frozenset(_TEXT)
                endpoint = replace(endpoint, by_slug=True, handler=self.read,
                                   answer=self.answer_without(others, "PageText"))
            yield endpoint

    def load_values(self, call: Call) -> dict[str, Any] | None:
        key = call.path["id"]
        if is_id(key):
            return self.visible(call, key)
        pages = [dict(page.__data__) for page in self.rows(call).select().where(Page.slug == key)]
        seen = {page["language"]: page for page in pages if call.access.allows(self.view, page)}
        return seen[best(wishes(call.request), seen, call.services.settings.language)] if seen else None

    def read(self, call: Call) -> dict[str, Any]:
        """A page by its slug, in the language that suits the reader best; by its id, all there is to it."""
        call.headers["Content-Language"] = call.row["language"]
        if is_id(call.path["id"]):
            return self.show(call)
        call.headers["Vary"] = "Accept-Language"
        return self.show(call, _TEXT)

    @action("publish", transitions={"draft": "published"})
    def publish(self, page: Page) -> None:
        """Show it to every reader."""
        page.published_at = now()

    archive = transition("archive", "Take it down, and keep it.", {"published": "archived"})
