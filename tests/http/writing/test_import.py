"""`POST /api/{collection}/import` (docs/api/files.md, Import): each line is checked as if it came alone."""

from __future__ import annotations

import json

import pytest

from gatepost.http.writing.lines import LineWriter
from models.base import Rows
from models.tables.category import Category
from tests.apps import NO_ROW, Caller, Given, close, make_app, new_instance

NDJSON, CSV = {"Content-Type": "application/x-ndjson"}, {"Content-Type": "text/csv"}
MANY = 5_000


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def send(caller, rows, *, to="articles", query="", headers=NDJSON):
    data = rows if isinstance(rows, bytes) else b"\n".join(json.dumps(row).encode() for row in rows)
    return caller.post(f"/api/{to}/import{query}", data=data, headers=headers)


def article(slug, **values):
    return {"title": f"About {slug}", "slug": slug, "body": "Words.", **values}


def faults(answer):
    """Returns (line, code, pointer) of every error, from a refusal or from a report."""
    body = answer.get_json()
    if answer.status_code == 200:
        return [(fault["line"], fault["code"], fault["pointer"]) for fault in body["errors"]]
    return [(fault["meta"]["line"], fault["code"], fault.get("pointer")) for fault in body["errors"]]


def stored(caller, slug):
    items = caller.get(f"/api/articles?slug={slug}").get_json()["items"]
    return items[0] if items else None


@pytest.fixture(scope="module")
def flawed():
    """Many lines, three of them bad: not JSON, no title, a slug that another line has."""
    rows = [json.dumps(article(f"many-{number}")).encode() for number in range(MANY)]
    rows[99], rows[MANY // 2], rows[-1] = b'{"title": ', json.dumps({"slug": "x", "body": "b"}).encode(), rows[-2]
    return b"\n".join(rows)


EXPECTED = [(100, "malformed_json", None), (MANY // 2 + 1, "missing_field", "/title"),
            (MANY, "already_exists", "/slug")]


@pytest.mark.both_databases
def test_three_bad_lines_of_many_are_named_and_nothing_is_imported(editor, flawed):
    answer = send(editor, flawed)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_body")
    assert faults(answer) == EXPECTED
    assert stored(editor, "many-0") is None


@pytest.mark.both_databases
def test_three_bad_lines_of_many_can_be_left_out(editor, flawed):
    answer = send(editor, flawed, query="?on_error=skip")
    assert answer.status_code == 200
    assert {name: answer.get_json()[name] for name in ("imported", "updated", "failed")} == {
        "imported": MANY - 3, "updated": 0, "failed": 3}
    assert faults(answer) == EXPECTED
    assert stored(editor, f"many-{MANY - 2}")["owner_id"] == editor.id


def test_a_single_bad_line_refuses_the_file_under_the_same_code(editor):
    answer = send(editor, [article("single"), {}])
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_body")
    assert {line for line, _, _ in faults(answer)} == {2}
    assert stored(editor, "single") is None


HOSTILE = [
    ("text", b'"just text"', "invalid_body", None),
    ("list", b"[1, 2]", "invalid_body", None),
    ("deep", b"[" * 100_000, "malformed_json", None),
    ("NUL", json.dumps(article("nul", title="a\0b")).encode(), "invalid_field", "/title"),
    ("surrogate", b'{"title": "\\ud800", "slug": "s", "body": "b"}', "invalid_field", "/title"),
    ("digits", b'{"version": ' + b"9" * 5000 + b"}", "malformed_json", None),
    ("not UTF-8", b'{"title": "\xff"}', "malformed_json", None),
    ("type", json.dumps(article("type", title=7)).encode(), "invalid_field", "/title"),
    ("unknown", json.dumps(article("unknown", nope=1)).encode(), "unknown_field", "/nope"),
    ("reference", json.dumps(article("reference", category_id=NO_ROW)).encode(), "invalid_reference", "/category_id"),
    ("owner", json.dumps(article("owner", owner_id=NO_ROW)).encode(), "invalid_reference", "/owner_id"),
    ("state", json.dumps(article("state", status="burnt")).encode(), "invalid_field", "/status"),
    ("id", json.dumps(article("id", id="1")).encode(), "invalid_field", "/id"),
    ("tenant", json.dumps(article("tenant", tenant_id=NO_ROW)).encode(), "invalid_field", "/tenant_id"),
    ("version", json.dumps(article("version", version=0)).encode(), "invalid_field", "/version"),
    ("last version", json.dumps(article("last-version", version=2**63 - 1)).encode(), "invalid_field", "/version"),
    ("department", json.dumps(article("department", department="x" * 10**5)).encode(), "invalid_field", "/department"),
    ("time", json.dumps(article("time", created_at="yesterday")).encode(), "invalid_field", "/created_at"),
]


@pytest.mark.parametrize(("line", "code", "pointer"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_hostile_line_is_a_fault_of_that_line(editor, line, code, pointer):
    answer = send(editor, b"\n".join([json.dumps(article("before-hostile")).encode(), line]))
    assert answer.status_code == 400
    assert faults(answer) == [(2, code, pointer)]


@pytest.fixture
def looked_at(monkeypatch):
    """The lines that were validated against the schema."""
    lines, load = [], LineWriter.load
    monkeypatch.setattr(LineWriter, "load", lambda self, line, **known: lines.append(line) or load(self, line, **known))
    return lines


@pytest.mark.parametrize("query", ["", "?on_error=skip"])
def test_a_thousand_faults_end_an_import_wherever_they_are_found(editor, looked_at, query):
    good, bad = article("before-many-faults"), {"title": "No slug and no body."}
    answer = send(editor, [good, *[bad] * 9_999], query=query)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_body")
    assert len(answer.get_json()["errors"]) == 1000
    assert len(looked_at) == 501
    assert stored(editor, "before-many-faults") is None


@pytest.mark.both_databases
@pytest.mark.parametrize("query", ["", pytest.param("?on_error=skip", marks=pytest.mark.slow)])
def test_a_thousand_faults_that_only_the_database_finds_end_an_import(editor, monkeypatch, query):
    drafted, draft = [], LineWriter.draft
    monkeypatch.setattr(LineWriter, "draft", lambda self, *line: drafted.append(line) or draft(self, *line))
    answer = send(editor, [article("often-taken")] * 9_999, query=query)
    assert (answer.status_code, len(answer.get_json()["errors"])) == (400, 1000)
    assert len(drafted) < 2000
    assert stored(editor, "often-taken") is None


def test_lines_may_be_skipped_as_long_as_they_have_fewer_than_a_thousand_faults(editor):
    rows = [article("beside-many-faults"), *[{"title": "No slug.", "body": "Words."}] * 999]
    answer = send(editor, rows, query="?on_error=skip")
    assert (answer.status_code, answer.get_json()["failed"], len(answer.get_json()["errors"])) == (200, 999, 999)
    assert stored(editor, "beside-many-faults") is not None


@pytest.mark.both_databases
def test_a_line_whose_id_exists_changes_that_row(editor, given):
    id = given.article("draft").id
    answer = send(editor, [{"id": id, "title": "Changed"}, {"id": id, "body": "Too."}])
    assert answer.get_json() == {"imported": 0, "updated": 2, "failed": 0, "errors": []}
    found = editor.get(f"/api/articles/{id}").get_json()
    assert (found["title"], found["body"], found["version"]) == ("Changed", "Too.", 3)


@pytest.mark.both_databases
def test_a_key_finds_the_row_that_a_line_means(editor, given):
    old = given.article("draft", slug="known-key")
    rows = [{"slug": "known-key", "title": "Changed"}, article("new-key"), {"slug": "new-key", "title": "Again"},
            {"slug": "known-key", "body": "Too."}]
    answer = send(editor, rows, query="?key=slug")
    assert answer.get_json() == {"imported": 1, "updated": 3, "failed": 0, "errors": []}
    assert editor.get(f"/api/articles/{old.id}").get_json()["version"] == 3
    assert stored(editor, "new-key")["title"] == "Again"


@pytest.mark.both_databases
def test_a_line_finds_rows_as_the_lines_before_it_left_them(editor, given):
    id = given.article("draft", slug="old-slug").id
    rows = [{"id": id, "slug": "moved-slug"}, article("old-slug"), {"slug": "moved-slug", "title": "Moved"}]
    answer = send(editor, rows, query="?key=slug")
    assert (answer.get_json()["imported"], answer.get_json()["updated"]) == (1, 2)
    assert editor.get(f"/api/articles/{id}").get_json()["title"] == "Moved"
    assert stored(editor, "old-slug")["id"] != id


@pytest.mark.both_databases
def test_a_line_that_failed_leaves_its_row_as_it_was_for_the_next(editor, given):
    given.article(slug="in-the-way")
    id = given.article("draft").id
    rows = [{"id": id, "title": "Lost", "slug": "in-the-way"}, {"id": id, "body": "Kept."}]
    answer = send(editor, rows, query="?on_error=skip")
    assert faults(answer) == [(1, "already_exists", "/slug")]
    found = editor.get(f"/api/articles/{id}").get_json()
    assert (found["title"] != "Lost", found["body"], found["version"]) == (True, "Kept.", 2)


@pytest.mark.both_databases
def test_a_key_does_not_move_a_row_to_another_id(editor, given):
    given.article("draft", slug="stays")
    answer = send(editor, [{"id": NO_ROW, "slug": "stays", "title": "t"}], query="?key=slug")
    assert faults(answer) == [(1, "invalid_reference", "/id")]


def test_a_line_cannot_move_a_category_below_its_own(as_role, given):
    top = given.category()
    below = given.category(parent_id=top.id)
    manager = as_role("manager")
    rows = [{"id": top.id, "name": "Top"}, {"id": top.id, "parent_id": below.id}]
    assert faults(send(manager, rows, to="categories")) == [(2, "conflict", None)]
    assert given.found(Category, top.id).name != "Top"


def test_a_manager_brings_read_only_columns_along(editor, given):
    row = article("restored", status="published", version=7,
                  created_at="2020-01-01T02:00:00+02:00", updated_at="2020-01-02T00:00:00.000000Z",
                  published_at="2020-01-03T00:00:00.000000Z", department="archive", owner_id=given.user().id)
    assert send(editor, [row]).get_json()["imported"] == 1
    found = editor.get(f"/api/articles/{stored(editor, 'restored')['id']}").get_json()
    assert found == {**found, **row, "created_at": "2020-01-01T00:00:00.000000Z"}


@pytest.mark.both_databases
def test_a_manager_sets_read_only_columns_of_rows_that_are_there_and_versions_still_count(editor, given):
    id = given.article("draft").id
    assert send(editor, [{"id": id, "status": "archived", "version": 40}]).get_json()["updated"] == 1
    found = editor.get(f"/api/articles/{id}").get_json()
    assert (found["status"], found["version"]) == ("archived", 2)


def test_an_import_does_not_reach_another_tenant(editor, elsewhere):
    row = elsewhere.article("draft", slug="of-others")
    answer = send(editor, [{"id": row.id, "title": "Mine"}], query="?on_error=skip")
    assert answer.get_json()["updated"] == 0
    assert answer.get_json()["failed"] == 1
    assert elsewhere.found(type(row), row.id).version == 1
    assert send(editor, [article("of-others")]).get_json()["imported"] == 1


@pytest.mark.parametrize("query", ["", "?on_error=skip", "?key=slug", "?key=slug&on_error=skip"])
@pytest.mark.parametrize("role", ["editor", "admin"])
def test_an_id_that_finds_nothing_is_refused_alike_whether_absent_or_of_another_tenant(
        as_role, given, elsewhere, role, query):
    caller, there = as_role(role), elsewhere.article("draft", slug=f"of-others-{role}-{len(query)}")
    known = given.article("draft", slug=f"known-{role}-{len(query)}")
    answers = []
    for id in (NO_ROW, there.id):
        rows = [{"id": known.id, "title": "Found."}, article(known.slug, id=id, status="published"),
                {"id": id}, {"id": id, "title": "", "nope": 1}]
        answers.append(send(caller, rows, query=query, headers={**NDJSON, "X-Request-ID": "the-same"}))
        assert faults(answers[-1]) == [(line, "invalid_reference", "/id") for line in (2, 3, 4)]
        assert "meta" not in answers[-1].get_json() and id not in answers[-1].text
    absent, foreign = answers
    assert (absent.status_code, absent.get_data()) == (foreign.status_code, foreign.get_data())
    assert absent.status_code == (200 if "skip" in query else 400)
    assert elsewhere.found(type(there), there.id).version == 1
    assert given.found(type(there), NO_ROW) is None


def test_an_id_of_a_hidden_row_is_refused_like_an_absent_one(tmp_path, database_url):
    with served(tmp_path, database_url, "p, user, article.import, always, allow") as (caller, there):
        user, hidden = caller("user"), there.article("draft", slug="hidden-from-users")
        answers = [send(user, [article("renewed", id=id), {"id": id}], headers={**NDJSON, "X-Request-ID": "the-same"})
                   for id in (NO_ROW, hidden.id)]
        assert faults(answers[0]) == [(1, "invalid_reference", "/id"), (2, "invalid_reference", "/id")]
        assert answers[0].get_data() == answers[1].get_data()
        assert there.found(type(hidden), hidden.id).version == 1


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "text/csv"])
def test_what_was_exported_is_imported_again_without_a_change(editor, given, media_type):
    row = given.article("draft", slug=f"round-trip-{media_type[:4]}")
    path = f"/api/articles/export?slug={row.slug}"
    exported = editor.get(path, headers={"Accept": media_type}).get_data()
    answer = send(editor, exported, headers={"Content-Type": media_type})
    assert answer.get_json() == {"imported": 0, "updated": 1, "failed": 0, "errors": []}
    assert editor.get(path, headers={"Accept": media_type}).get_data() == exported


@pytest.mark.parametrize(("headers", "query", "status", "code"), [
    ({"Content-Type": "application/json"}, "", 415, "unsupported_media_type"),
    ({}, "", 415, "unsupported_media_type"),
    (NDJSON, "?on_error=ignore", 400, "invalid_parameter"),
    (NDJSON, "?key=title", 400, "invalid_parameter"),
    (NDJSON, "?nope=1", 400, "unknown_parameter"),
])
def test_what_cannot_be_asked_of_an_import_is_refused(editor, headers, query, status, code):
    answer = send(editor, b"", headers=headers, query=query)
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)


@pytest.mark.parametrize("role", ["guest", "user", "developer", "moderator"])
def test_an_import_takes_the_permission_to_import(as_role, role):
    assert send(as_role(role), [article("never")]).status_code == (401 if role == "guest" else 403)


def test_orders_cannot_be_imported(as_role):
    assert send(as_role("admin"), [{}], to="orders").status_code in (404, 405)


def test_a_body_over_the_limit_is_too_large(tmp_path, database_url):
    with served(tmp_path, database_url, import_limit="2000") as (caller, _):
        editor = caller("editor")
        assert send(editor, [article("fits")]).status_code == 200
        answer = send(editor, [article("too-large", body="x" * 2000)])
        assert (answer.status_code, answer.get_json()["code"]) == (413, "body_too_large")


class served:
    """Makes a separate app, with lines added to the shipped rules of articles."""

    def __init__(self, tmp_path, database_url, *lines, **settings):
        folder = new_instance(tmp_path / "own", database_url, "default")
        rules = folder / "policies" / "articles.csv"
        text = rules.read_text(encoding="utf-8")
        rules.write_text(text.replace("# end", "".join(f"{line}\n" for line in lines) + "# end"), encoding="utf-8")
        self.app = make_app(folder, database_url, **settings)

    def __enter__(self):
        there = Given(self.app, "default")

        def caller(role):
            user = there.user(role)
            with self.app.app_context():
                token = self.app.extensions["gatepost"].access_tokens.issue(user, there.session(user).id, [], "*")
            return Caller(self.app.test_client(), user, token)

        return caller, there

    def __exit__(self, *error):
        close(self.app)


def test_an_importer_who_does_not_manage_changes_only_what_single_requests_could(tmp_path, database_url):
    with served(tmp_path, database_url, "p, user, article.import, always, allow") as (caller, there):
        user = caller("user")
        mine, shown = there.article("draft", owner_id=user.id), there.article("published", owner_id=user.id)
        hidden = there.article("draft", slug="hidden-draft")
        same = {"id": mine.id, "status": "draft", "owner_id": user.id, "version": 1}
        for rows, code, pointer in (
            ([article("a", status="published")], "read_only_field", "/status"),
            ([article("a", id=NO_ROW)], "invalid_reference", "/id"),
            ([article("a", owner_id=there.user().id)], "read_only_field", "/owner_id"),
            ([{**same, "status": "published"}], "read_only_field", "/status"),
            ([{**same, "version": 2}], "read_only_field", "/version"),
            ([{"id": shown.id, "title": "t"}], "forbidden", None),
            ([article("b", id=hidden.id)], "invalid_reference", "/id"),
        ):
            refused = send(user, rows, query="?on_error=skip")
            assert {fault[1:] for fault in faults(refused)} >= {(code, pointer)}
            assert refused.get_json()["failed"] == 1
        done = send(user, [{**same, "title": "Mine"}, article("user-made")])
        assert done.get_json() == {"imported": 1, "updated": 1, "failed": 0, "errors": []}
        with there.database.connected():
            assert Rows(type(mine), there.tenant_id).find(mine.id).title == "Mine"


def test_a_row_is_judged_once_more_as_it_has_become(tmp_path, database_url):
    with served(tmp_path, database_url, "p, user, article.manage, own_draft, allow",
                "p, user, article.import, always, allow") as (caller, there):
        user = caller("user")
        mine = there.article("draft", owner_id=user.id)
        answer = send(user, [{"id": mine.id, "status": "published"}])
        assert faults(answer) == [(1, "forbidden", None)]
        assert there.found(type(mine), mine.id).status == "draft"
