"""An approved comment is public only while its article is, in every answer, and after any change of the article."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from models.base import Rows, new_id
from models.records import bulk
from models.tables.article import Article
from models.tables.comment import Comment
from tests.apps import log_in
from tests.running import wait_until

STATES = ("draft", "in_review", "approved", "published", "archived")


def stamp_of(given, comment):
    return given.found(Comment, comment.id).article_status


def change(given, article, status):
    """Changes the state of the article without HTTP."""
    def save():
        row = Rows(Article, given.tenant_id).find(article.id, lock=True)
        row.status = status
        Rows(Article, given.tenant_id).save(row)

    given.database.transact(save)


@pytest.fixture(scope="module")
def scene(given):
    """A published article with a comment in each state, and a hidden article with a comment that has the word."""
    shown, hidden = given.article(), given.article("archived")
    return {"public": given.comment(article_id=shown.id, body="quokka"),
            "pending": given.comment("pending", article_id=shown.id, body="quokka"),
            "rejected": given.comment("rejected", article_id=shown.id, body="quokka"),
            "hidden": given.comment(article_id=hidden.id, body="quokka"),
            "article": shown, "hidden article": hidden}


@pytest.mark.parametrize("status", STATES)
def test_a_guest_gets_an_approved_comment_only_with_a_published_article(given, as_role, status):
    comment = given.comment(article_id=given.article(status).id)
    assert as_role("guest").get(f"/api/comments/{comment.id}").status_code == (200 if status == "published" else 404)
    assert as_role("user").get(f"/api/comments/{comment.id}").status_code == (200 if status == "published" else 404)
    assert as_role("moderator").get(f"/api/comments/{comment.id}").status_code == 200


@pytest.mark.both_databases
@pytest.mark.parametrize("query", [
    "", "?q=quokka", "?status=approved", "?sort=updated_at", "?sort=status,-created_at", "?expand=article", "?page=1",
    "?fields=id", "?article_id={article.id}", "?article_id={hidden.id}"])
def test_no_list_of_a_guest_holds_a_comment_of_a_hidden_article(scene, as_role, query):
    path = "/api/comments" + query.format(article=scene["article"], hidden=scene["hidden article"])
    listed = {item["id"] for item in as_role("guest").get(path).json["items"]}
    assert listed.isdisjoint({scene["hidden"].id, scene["pending"].id, scene["rejected"].id})
    assert (scene["public"].id in listed) is ("hidden" not in query)


@pytest.mark.both_databases
def test_totals_of_a_guest_leave_them_out(scene, as_role):
    def total(role, article):
        answer = as_role(role).call("GET", f"/api/comments?page=1&article_id={article.id}",
                                    headers={"Prefer": "count=exact"})
        return answer.json["total"]

    assert (total("guest", scene["article"]), total("guest", scene["hidden article"])) == (1, 0)
    assert (total("moderator", scene["article"]), total("moderator", scene["hidden article"])) == (3, 1)


@pytest.mark.both_databases
def test_an_export_leaves_them_out(scene, under):
    app = under(lines={"comments.csv": "p, guest, comment.export, always, allow"})
    answer = app.test_client().get("/api/comments/export?q=quokka", buffered=True)
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == [scene["public"].id]


def test_an_author_keeps_seeing_what_they_wrote(given, as_role):
    mine = given.comment(article_id=given.article("archived").id, owner_id=as_role("user").id)
    assert as_role("user").get(f"/api/comments/{mine.id}").status_code == 200


def test_each_step_of_the_article_takes_its_comments_along(given, as_role):
    article = given.article("draft")
    comment, editor, guest = given.comment(article_id=article.id), as_role("editor"), as_role("guest")
    untouched = given.comment(article_id=given.article("draft").id)
    before = given.found(Comment, comment.id)
    for step, state in (("submit", "in_review"), ("reject", "draft"), ("publish", "published"),
                        ("archive", "archived")):
        assert editor.post(f"/api/articles/{article.id}/{step}", {}).json["status"] == state
        assert stamp_of(given, comment) == state
        assert guest.get(f"/api/comments/{comment.id}").status_code == (200 if state == "published" else 404)
    after = given.found(Comment, comment.id)
    assert (after.version, after.updated_at) == (before.version, before.updated_at)
    assert stamp_of(given, untouched) == "draft"


def test_the_etag_of_a_comment_stays_when_its_article_moves(given, as_role):
    article, moderator = given.article("draft"), as_role("moderator")
    comment = given.comment("pending", article_id=article.id)
    tag = moderator.get(f"/api/comments/{comment.id}").headers["ETag"]
    assert as_role("editor").post(f"/api/articles/{article.id}/publish", {}).status_code == 200
    answer = moderator.call("POST", f"/api/comments/{comment.id}/approve", {}, {"If-Match": tag})
    assert answer.status_code == 200


@pytest.mark.both_databases
def test_a_step_that_is_undone_leaves_the_comments_as_they_were(given):
    article = given.article("published")
    comment = given.comment(article_id=article.id)

    def fail():
        row = Rows(Article, given.tenant_id).find(article.id, lock=True)
        row.status = "archived"
        Rows(Article, given.tenant_id).save(row)
        raise LookupError

    with pytest.raises(LookupError):
        given.database.transact(fail)
    assert stamp_of(given, comment) == "published"


@pytest.mark.both_databases
def test_an_import_that_moves_articles_takes_their_comments_along(given, as_role):
    article = given.article("published")
    comment = given.comment(article_id=article.id)
    answer = as_role("admin").call("POST", "/api/articles/import", content_type="application/x-ndjson",
                                   data=json.dumps({"id": article.id, "status": "archived"}))
    assert answer.json["updated"] == 1
    assert stamp_of(given, comment) == "archived"


@pytest.mark.parametrize("status", STATES)
def test_a_new_comment_begins_with_the_state_of_its_article(given, as_role, status):
    article = given.article(status)
    made = as_role("editor").post("/api/comments", {"article_id": article.id, "body": "B"})
    assert made.status_code == 201
    assert given.found(Comment, made.json["id"]).article_status == status


def test_an_imported_comment_begins_with_the_state_of_its_article(given, as_role):
    articles, admin = [given.article(status) for status in STATES], as_role("admin")
    lines = [{"article_id": article.id, "body": f"about {article.id}", "status": "approved"} for article in articles]
    answer = admin.call("POST", "/api/comments/import", content_type="application/x-ndjson",
                        data="\n".join(map(json.dumps, lines)))
    assert answer.json["imported"] == len(lines)
    for article, status in zip(articles, STATES, strict=True):
        [comment] = as_role("moderator").get(f"/api/comments?article_id={article.id}").json["items"]
        assert given.found(Comment, comment["id"]).article_status == status


@pytest.mark.both_databases
def test_rows_that_are_stored_together_begin_with_the_states_of_their_articles(given):
    articles = [given.article(status) for status in STATES]
    rows = [Comment(id=new_id(), article_id=article.id, body="B") for article in articles]
    given.database.transact(lambda: bulk.insert(given.database, given.tenant_id, rows))
    assert [stamp_of(given, row) for row in rows] == list(STATES)


def test_an_article_of_another_tenant_stamps_no_comment(given, elsewhere):
    there = elsewhere.comment(article_id=elsewhere.article("published").id)
    change(given, given.article("draft"), "archived")
    assert stamp_of(elsewhere, there) == "published"


@pytest.mark.parametrize("role", ["user", "admin"])
def test_nobody_is_answered_the_stamp_or_sets_it(given, as_role, role):
    caller, article = as_role(role), given.article()
    body = {"article_id": article.id, "body": "B"}
    assert caller.post("/api/comments", body | {"article_status": "published"}).status_code == 400
    made = caller.post("/api/comments", body).json
    assert "article_status" not in made
    path = f"/api/comments/{made['id']}"
    assert caller.patch(path, {"article_status": "draft"}).status_code == 400
    assert "article_status" not in caller.get(path).json
    assert caller.get("/api/comments?fields=id,article_status").status_code == 400
    assert caller.get("/api/comments?article_status=draft").status_code == 400
    assert caller.get("/api/comments?sort=article_status").status_code == 400


def test_a_rule_may_ask_for_the_state_of_the_article_when_a_comment_is_made(given, under):
    app = under("    p.when == 'on_archived' && r.obj.article_status == 'archived' || \\\n",
                {"comments.csv": "p, user, comment.create, on_archived, deny"})
    editor = log_in(app, given.user("editor"))
    for status, answered in (("archived", 403), ("published", 201), ("draft", 201)):
        body = {"article_id": given.article(status).id, "body": "B"}
        assert editor.post("/api/comments", body).status_code == answered


@pytest.mark.both_databases
@pytest.mark.parametrize("first", ["comment", "article"])
def test_a_comment_and_a_step_of_its_article_at_the_same_time_agree_in_the_end(given, first):
    """The first one has written but not committed when the second one starts, which has to wait."""
    article, written, go_on = given.article("draft"), Event(), Event()
    made = Comment(article_id=article.id, body="B")

    def comment():
        Rows(Comment, given.tenant_id).insert(made)

    def publish():
        row = Rows(Article, given.tenant_id).find(article.id, lock=True)
        row.status = "published"
        Rows(Article, given.tenant_id).save(row)

    def held(work):
        def effect():
            work()
            written.set()
            assert go_on.wait(60)

        given.database.transact(effect)

    works = [comment, publish] if first == "comment" else [publish, comment]
    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(held, works[0])
        assert written.wait(60)
        other = threads.submit(given.database.transact, works[1])
        if given.database.dialect == "postgres":
            with given.database.connected():
                wait_until(lambda: given.database.query(
                    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
        go_on.set()
        one.result(60)
        other.result(60)
    assert stamp_of(given, made) == "published"
