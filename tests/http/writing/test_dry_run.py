"""`dry_run=true` of an import: it reports what each line would do, and stores nothing."""

from __future__ import annotations

import json

import pytest

from gatepost.testing import log_in
from models.base import Rows
from models.tables.article import Article
from models.tables.audit import Audit
from tests.apps import close, make_app, new_instance

NDJSON, CSV = {"Content-Type": "application/x-ndjson"}, {"Content-Type": "text/csv"}
DRY = "?dry_run=true"


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def send(caller, rows, query=DRY, to="articles", headers=NDJSON):
    data = rows if isinstance(rows, bytes) else b"\n".join(json.dumps(row).encode() for row in rows)
    return caller.post(f"/api/{to}/import{query}", data=data, headers=headers)


def article(slug, **values):
    return {"title": f"About {slug}", "slug": slug, "body": "Words.", **values}


def number_of(table):
    return Rows(table, table.select().first().tenant_id).select().count() if table.select().exists() else 0


@pytest.mark.both_databases
def test_each_line_is_created_changed_unchanged_or_faulty_and_nothing_is_stored(app, editor):
    assert send(editor, [article("known"), article("same")], query="").status_code == 200
    database = app.extensions["gatepost"].database
    with database.connected():
        before = number_of(Article), Audit.select().count()
    answer = send(editor, [article("new"), article("known", title="Another"), article("same"), {"slug": "no title"},
                           article("new")], query=f"{DRY}&key=slug")
    assert answer.status_code == 200, answer.text
    found = answer.get_json()
    assert {name: found[name] for name in ("imported", "updated", "unchanged", "failed")} == {
        "imported": 1, "updated": 3, "unchanged": 2, "failed": 1}
    assert [(one["line"], one["outcome"]) for one in found["lines"]] == [
        (1, "created"), (2, "changed"), (3, "unchanged"), (5, "unchanged")]
    first, second = found["lines"][:2]
    assert first["id"] is None
    assert {"field": "title", "before": None, "after": "About new"} in first["changes"]
    assert second["changes"] == [{"field": "title", "before": "About known", "after": "Another"}]
    assert {fault["line"] for fault in found["errors"]} == {4}
    with database.connected():
        assert (number_of(Article), Audit.select().count()) == before
    assert editor.get(f"/api/articles/{second['id']}").get_json()["title"] == "About known"


@pytest.mark.both_databases
def test_it_finds_the_faults_that_only_the_database_finds(editor):
    assert send(editor, [article("taken")], query="").status_code == 200
    found = send(editor, [article("free"), article("taken"), article("twice"), article("twice")]).get_json()
    assert [(one["line"], one["code"], one["pointer"]) for one in found["errors"]] == [
        (2, "already_exists", "/slug"), (4, "already_exists", "/slug")]
    assert [one["line"] for one in found["lines"]] == [1, 3]


def test_the_same_file_is_imported_afterwards_as_it_was_reported(editor):
    rows = [article(f"row-{number}") for number in range(1200)]
    found = send(editor, rows).get_json()
    assert (found["imported"], len(found["lines"])) == (1200, 1000)
    assert editor.get("/api/articles?slug=row-0").get_json()["items"] == []
    assert send(editor, rows, query="").get_json() == {"imported": 1200, "updated": 0, "failed": 0, "errors": []}


def test_a_dry_run_with_a_key_of_idempotency_does_not_take_the_key(editor):
    key = {**NDJSON, "Idempotency-Key": "one"}
    assert send(editor, [article("kept")], headers=key).status_code == 200
    assert send(editor, [article("kept")], query="", headers=key).get_json()["imported"] == 1


def test_too_many_new_lines_are_refused(tmp_path, database_url):
    app = make_app(new_instance(tmp_path / "own", database_url, "default"), database_url, import_changes="3")
    try:
        caller = log_in(app, "editor")
        rows = [article(f"few-{number}") for number in range(4)]
        assert send(caller, rows).status_code == 400
        found = send(caller, rows, query="")
        assert found.get_json().get("imported") == 4, found.text
    finally:
        close(app)


def test_a_dry_run_is_no_job_and_its_switch_is_true_or_false(editor):
    later = send(editor, [article("later")], headers={**NDJSON, "Prefer": "respond-async"})
    assert (later.status_code, later.get_json()["code"]) == (400, "invalid_parameter")
    assert send(editor, [article("x")], query="?dry_run=yes").status_code == 400
    assert send(editor, [article("x")], query="?dry_run=false").get_json()["imported"] == 1


def test_long_values_are_cut_and_csv_lines_are_counted(editor):
    text = "x" * 5000
    found = send(editor, f"title,slug,body\nLong,long,{text}\n".encode(), headers=CSV).get_json()
    body = next(one for one in found["lines"][0]["changes"] if one["field"] == "body")
    assert (found["lines"][0]["line"], len(body["after"])) == (2, 201)


def test_who_may_not_import_may_not_rehearse_it(as_role):
    assert send(as_role("user"), [article("no")]).status_code == 403


def test_a_line_that_the_rules_refuse_is_faulty(as_role, editor):
    assert send(editor, [article("theirs")], query="").status_code == 200
    other = as_role("editor")
    found = send(other, [{"slug": "theirs", "title": "Mine"}], query=f"{DRY}&key=slug").get_json()
    assert found["failed"] + found["updated"] == 1
