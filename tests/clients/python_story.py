"""The story of README.md, with clients/python; `mypy --strict` checks it, too."""

from __future__ import annotations

from gatepost_client import Conflict, Gatepost, Invalid, NotFound, Stored, Unauthenticated, VersionConflict
from gatepost_client.types import Article


def a_guest_is_refused(guest: Gatepost) -> None:
    try:
        guest.articles.create({"title": "Hello", "slug": "hello", "body": "A first article."})
    except Unauthenticated as refused:
        assert (refused.code, refused.status, bool(refused.request_id)) == ("unauthenticated", 401, True)
    else:
        raise AssertionError("a guest has created an article")


def an_article_is_published(admin: Gatepost, guest: Gatepost, name: str) -> None:
    made = admin.articles.create({"title": "First light", "slug": f"{name}-first", "body": "Morning.\u2028Evening."})
    assert (made.row["status"], made.etag) == ("draft", '"1"')
    try:
        guest.articles.get(made.id)
    except NotFound as hidden:
        assert hidden.code == "not_found"
    changed = admin.articles.update(made, {"title": "Last light"})
    assert changed.row["title"] == "Last light"
    try:
        admin.articles.delete(made)
    except VersionConflict as stale:
        assert stale.etag == changed.etag
    else:
        raise AssertionError("a version that nobody has read was deleted")
    published = admin.articles.publish(admin.articles.approve(admin.articles.submit(changed)))
    assert published.row["status"] == "published"
    try:
        admin.articles.publish(made.id)
    except Conflict as again:
        assert again.code == "invalid_transition"
    read = guest.articles.get(made.id, expand=["category"])
    assert read.row["title"] == "Last light" and read.row.get("category") is None


def a_fault_is_told_with_its_place(admin: Gatepost) -> None:
    try:
        admin.articles.create({"title": "", "slug": "no slug", "body": "Words."})
    except Invalid as refused:
        assert [fault.get("pointer") for fault in refused.errors] == ["/title", "/slug"]


def every_page_is_read(admin: Gatepost, name: str) -> None:
    for number in range(5):
        admin.articles.create({"title": "Another", "slug": f"{name}-{number}", "body": "Words."})
    slugs = [f"{name}-{number}" for number in range(5)]
    found = admin.articles.list(slug__in=slugs, sort="-created_at", limit=2, fields=["slug"])
    assert [article["slug"] for article in found] == slugs[::-1]
    page = admin.articles.page(slug__in=slugs, page=2, limit=2)
    assert (len(page["items"]), page.get("total")) == (2, 5)


def rows_are_imported(admin: Gatepost, name: str) -> None:
    rows = [{"name": f"Tea {number}", "slug": f"{name}-tea-{number}"} for number in range(3)]
    assert admin.categories.import_(rows, key="slug")["imported"] == 3
    job = admin.categories.import_later([{"slug": f"{name}-tea-0", "name": "Green tea"}], key="slug")
    assert admin.jobs.wait(job)["result"] == {"imported": 0, "updated": 1, "failed": 0, "errors": []}


def a_file_is_made_and_fetched(admin: Gatepost, slug: str) -> None:
    assert [row["body"] for row in admin.articles.export(slug=slug)] == ["Morning.\u2028Evening."]
    job = admin.jobs.wait(admin.articles.export_later(slug=slug))
    assert [row["slug"] for row in admin.jobs.rows(job)] == [slug]


def an_object_is_shared(admin: Gatepost, draft: Stored[Article]) -> None:
    grantee = f"user:{admin.me()['id']}"
    admin.articles.share(draft, grantee, "read")
    assert [(share["grantee"], share["right"]) for share in admin.articles.shares(draft)] == [(grantee, "read")]
    admin.articles.unshare(draft, grantee)
    assert list(admin.articles.shares(draft)) == []


def a_program_has_a_token(admin: Gatepost, url: str, name: str) -> None:
    made = admin.tokens.create({"name": name, "scopes": ["read:articles"]})
    with Gatepost(url, token=made.row["token"]) as program:
        assert any(article["slug"] == f"{name}-first" for article in program.articles.list())
    admin.tokens.delete(made)


def tell(admin: Gatepost, url: str, name: str) -> None:
    """Runs the story as a logged-in administrator. The names of its rows begin with `name`."""
    with Gatepost(url) as guest:
        a_guest_is_refused(guest)
        an_article_is_published(admin, guest, name)
    a_fault_is_told_with_its_place(admin)
    every_page_is_read(admin, name)
    rows_are_imported(admin, name)
