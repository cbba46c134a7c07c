"""Endpoints for guests: the contact form, pages in their language, and a deprecated endpoint."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatepost.http.operations import deprecation
from models.engine.errors import Unavailable
from models.tables import deprecated_use
from models.tables.contact import ContactMessage

MESSAGE = {"name": "Ruth", "email": "Ruth@Example.org", "subject": "A question", "body": "Do you ship\nabroad?"}


# Contact


def test_a_visitor_leaves_a_message_and_support_reads_and_clears_it(as_role):
    visitor, support = as_role("guest"), as_role("support")
    sent = visitor.post("/api/contact", MESSAGE)
    assert sent.status_code == 202
    assert set(sent.json) == {"id"}
    assert "Location" not in sent.headers, "a visitor could not follow it"

    path = f"/api/contact/{sent.json['id']}"
    message = support.get(path).json
    assert message | MESSAGE | {"email": "ruth@example.org"} == message
    assert [row["id"] for row in support.get("/api/contact?limit=1").json["items"]] == [sent.json["id"]]
    assert support.delete(path).status_code == 204
    assert support.get(path).status_code == 404


def test_a_message_has_no_owner_also_when_its_sender_is_logged_in(as_role, given):
    sender = as_role("user")
    id = sender.post("/api/contact", MESSAGE).json["id"]
    assert sender.get(f"/api/contact/{id}").status_code == 403
    assert not hasattr(given.found(ContactMessage, id), "owner_id")


@pytest.mark.parametrize("wrong", [
    {"email": "nobody"}, {"name": "a\r\nBcc: all@example.org"}, {"subject": "a\nb"}, {"body": ""}, {"owner_id": "x"},
    {"id": "01930000-0000-7000-8000-000000000000"},
], ids=str)
def test_a_message_that_is_not_one_is_refused(as_role, wrong):
    answer = as_role("guest").post("/api/contact", MESSAGE | wrong)
    assert answer.status_code == 400
    assert answer.json["errors"][0]["pointer"] == f"/{next(iter(wrong))}"


def test_a_message_cannot_be_changed_exported_or_shared(as_role):
    admin = as_role("admin")
    path = f"/api/contact/{admin.post('/api/contact', MESSAGE).json['id']}"
    assert [admin.put(path, MESSAGE).status_code, admin.patch(path, {}).status_code] == [405, 405]
    assert admin.get(f"{path}/shares").status_code == 404


# Pages


@pytest.fixture(scope="module")
def imprint(given):
    """A page in two languages, and a third that is only a draft."""
    return {language: given.page(slug="imprint", language=language, status=status, title=f"in {language}")
            for language, status in (("en", "published"), ("de", "published"), ("fr", "draft"))}


@pytest.mark.both_databases
@pytest.mark.parametrize(("wishes", "language"), [
    (None, "en"),
    ("de", "de"),
    ("de-AT, en;q=0.5", "de"),
    ("en-GB;q=0.4, de;q=0.9", "de"),
    ("fr, de;q=0.5", "de"),  # only editors may see the French draft
    ("ja", "en"),
    ("de;q=0, en", "en"),
    (";;;,=", "en"),
])
def test_a_page_is_shown_in_the_best_of_its_languages(as_role, imprint, wishes, language):
    headers = {} if wishes is None else {"Accept-Language": wishes}
    answer = as_role("guest").get("/api/pages/imprint", headers=headers)
    assert answer.json == {"slug": "imprint", "title": f"in {language}", "body": "Words.", "language": language}
    assert answer.headers["Content-Language"] == language
    assert {"Accept-Language", "Authorization"} <= set(answer.headers["Vary"].split(", "))


def test_an_editor_is_shown_the_draft_in_the_language_of_choice(as_role, imprint):
    answer = as_role("editor").get("/api/pages/imprint", headers={"Accept-Language": "fr"})
    assert answer.json["title"] == "in fr"


def test_two_languages_of_a_page_never_share_an_etag(as_role, imprint):
    tags = {as_role("guest").get("/api/pages/imprint", headers={"Accept-Language": language}).headers["ETag"]
            for language in ("en", "de")}
    assert len(tags) == 2


def test_by_its_id_a_page_is_shown_whole(as_role, imprint):
    page = as_role("guest").get(f"/api/pages/{imprint['de'].id}").json
    assert page["id"] == imprint["de"].id
    assert {"version", "status", "published_at", "owner_id"} <= set(page)


@pytest.mark.parametrize("slug", ["export", "import", "01930000-0000-7000-8000-000000000000", "Imprint", "a b"])
def test_a_slug_that_means_something_else_in_a_path_is_refused(as_role, slug):
    page = {"slug": slug, "title": "T", "body": "B", "language": "en"}
    answer = as_role("editor").post("/api/pages", page)
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (400, "/slug")


@pytest.mark.both_databases
def test_a_slug_is_unique_within_a_language_only(as_role, imprint):
    editor = as_role("editor")
    page = {"slug": "imprint", "title": "T", "body": "B"}
    assert editor.post("/api/pages", page | {"language": "en"}).json["code"] == "already_exists"
    assert editor.post("/api/pages", page | {"language": "pt-BR"}).status_code == 201
    assert editor.post("/api/pages", page | {"language": "pt-br"}).json["code"] == "already_exists", "case is no matter"


@pytest.mark.parametrize(("sent", "kept"), [("zh-Hant-TW", "zh-Hant-TW"), ("zh-hans-cn", "zh-Hans-CN"),
                                            ("ES-419", "es-419"), ("sl-rozaj-biske-1994", "sl-rozaj-biske-1994")])
def test_a_page_is_in_any_language_of_rfc_5646(as_role, sent, kept):
    editor = as_role("editor")
    made = editor.post("/api/pages", {"slug": f"in-{sent.lower()}", "title": "T", "body": "B", "language": sent})
    assert (made.status_code, made.json["language"]) == (201, kept), made.text
    assert editor.post(f"/api/pages/{made.json['id']}/publish").status_code == 200
    for query in (f"language={kept}", f"language={sent}", f"language__in=de,{sent}"):
        found = editor.get(f"/api/pages?{query}&slug=in-{sent.lower()}").json["items"]
        assert [page["language"] for page in found] == [kept], query
    read = as_role("guest").get(f"/api/pages/in-{sent.lower()}", headers={"Accept-Language": f"{sent}, en;q=0.5"})
    assert (read.json["language"], read.headers["Content-Language"]) == (kept, kept)


@pytest.mark.parametrize("language", ["", "e", "e n", "English", "en_US", "zh-Hant-TW-", "de-419-DE", "en-u", "dé",
                                      "en\n", "en-" + "abcde-" * 6 + "abcde"])
def test_what_is_no_language_tag_is_refused(as_role, language):
    page = {"slug": "tagged", "title": "T", "body": "B", "language": language}
    answer = as_role("editor").post("/api/pages", page)
    assert (answer.status_code, {fault["pointer"] for fault in answer.json["errors"]}) == (400, {"/language"})


# The deprecated endpoint


def test_ping_says_when_it_ends_and_what_to_use_instead(as_role):
    answer = as_role("guest").get("/api/ping")
    assert answer.json == {"status": "ok"}
    assert answer.headers["Deprecation"] == f"@{int(datetime(2026, 11, 1, tzinfo=UTC).timestamp())}"
    assert answer.headers["Sunset"] == "Mon, 01 Nov 2027 00:00:00 GMT"
    assert answer.headers["Link"] == '</api/health>; rel="successor-version"'
    document = as_role("guest").get("/api/openapi.json").json
    assert document["paths"]["/api/ping"]["get"]["deprecated"] is True


@pytest.mark.both_databases
def test_uses_of_ping_are_counted_for_each_client(as_role):
    developer = as_role("developer")

    def counted():
        uses = developer.get("/api/admin/stats").json["deprecated_use"]
        return {use["client"]: use["count"] for use in uses if use["endpoint"] == "GET /api/ping"}

    before = counted()
    for _ in range(3):
        as_role("guest").get("/api/ping")
    developer.get("/api/ping")
    after = counted()
    assert after["guest"] == before.get("guest", 0) + 3
    assert after[f"user:{developer.id}"] == 1


def test_after_its_last_day_ping_is_gone(as_role, after_sunset):
    answer = as_role("guest").get("/api/ping")
    assert (answer.status_code, answer.json["code"]) == (410, "gone")
    assert answer.headers["Link"] == '</api/health>; rel="successor-version"'


@pytest.mark.both_databases
def test_two_processes_add_up_what_they_counted(given):
    for uses in (deprecation.DeprecatedUses(given.database), deprecation.DeprecatedUses(given.database)):
        uses.add(given.tenant_id, "GET /api/old", "guest")
        uses.store()
        uses.store()
    with given.database.connected():
        counts = [use.count for use in deprecated_use.uses(given.tenant_id) if use.endpoint == "GET /api/old"]
    assert counts == [2]


@pytest.mark.both_databases
def test_what_a_busy_database_cannot_take_is_stored_the_next_time(given, monkeypatch):
    uses = deprecation.DeprecatedUses(given.database)
    uses.add(given.tenant_id, "GET /api/older", "guest")
    with monkeypatch.context() as busy:
        busy.setattr(given.database, "transact", lambda work: (_ for _ in ()).throw(Unavailable("busy")))
        with pytest.raises(Unavailable):
            uses.store()
    uses.store()
    with given.database.connected():
        found = [use.count for use in deprecated_use.uses(given.tenant_id) if use.endpoint == "GET /api/older"]
    assert found == [1]
