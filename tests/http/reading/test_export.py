"""`GET /api/{collection}/export` (docs/api/files.md, Export): what a list shows, as a file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from models.base import new_id, now
from models.records import bulk
from models.tables.category import Category

MANY, ALLOWED = 60_000, 30 * 2**20
TYPES = ("application/x-ndjson", "text/csv")


@pytest.fixture(scope="module")
def rows(given, as_role):
    """Rows of every collection, with values that a simple writer would corrupt."""
    owner = as_role("user").id
    top = given.category(name="=1+1", slug="spoiled-top")
    given.category(parent_id=top.id, name="'quoted'")
    bodies = ["=HYPERLINK(1)", "a\r\nb\nc\rd", '"x","y"', "@sum", "  ", "ü — 語 🎉", "-", ";\t,", "\u2028"]
    for number, body in enumerate(bodies):
        given.article("draft", body=body, owner_id=owner, slug=f"spoiled-{number}", category_id=top.id)
    commented = given.article(department="news")
    given.comment("pending", article_id=commented.id, owner_id=owner, body="+1")
    given.product("draft", description="", category_id=top.id)
    given.product(description=None, name="-10% off", stock=0)
    given.order(note="=note")
    given.page(body="@home", language="pt-BR")
    given.user(groups=["a,b", "=c"], department="-")


def export(caller, collection, query="", accept=None):
    return caller.get(f"/api/{collection}/export{query}", headers={"Accept": accept} if accept else {})


IMPORTED = ("articles", "products", "comments", "categories", "pages", "users")


@pytest.mark.both_databases
@pytest.mark.parametrize("collection", IMPORTED)
@pytest.mark.parametrize("type", TYPES)
def test_an_export_can_be_imported_again_and_changes_nothing(rows, as_role, collection, type):
    owner = as_role("owner")
    before = export(owner, collection, accept=type)
    assert (before.status_code, before.mimetype) == (200, type)
    count = len(export(owner, collection).get_data().splitlines())
    answer = owner.post(f"/api/{collection}/import", data=before.get_data(), headers={"Content-Type": type})
    assert (answer.status_code, answer.get_json()) == (200, {
        "imported": 0, "updated": count, "failed": 0, "errors": []})
    assert count > 0
    assert export(owner, collection, accept=type).get_data() == before.get_data()


@pytest.mark.parametrize("type", TYPES)
def test_what_was_changed_comes_back_as_it_was(given, as_role, type):
    editor = as_role("editor")
    page = given.page(body="=back\r\nagain", title="'Back")
    query = f"?slug={page.slug}&fields=id,title,body"
    before = export(editor, "pages", query, type).get_data()
    assert editor.patch(f"/api/pages/{page.id}", json={"title": "Gone", "body": "=other"}).status_code == 200
    assert export(editor, "pages", query, type).get_data() != before
    assert editor.post("/api/pages/import", data=before, headers={"Content-Type": type}).get_json()["updated"] == 1
    assert export(editor, "pages", query, type).get_data() == before


@pytest.mark.both_databases
@pytest.mark.parametrize("collection", [*IMPORTED, "orders"])
def test_an_export_holds_what_the_list_shows(rows, as_role, collection):
    owner = as_role("owner")
    lines = [json.loads(line) for line in export(owner, collection, "?sort=created_at").get_data().splitlines()]
    listed, cursor = [], ""
    while cursor is not None:
        page = owner.get(f"/api/{collection}?sort=created_at&limit=100" + (f"&after={cursor}" if cursor else ""))
        listed += page.get_json()["items"]
        cursor = page.get_json()["next_cursor"]
    assert lines == listed


def test_csv_has_the_fields_as_columns_and_hides_formulas(rows, as_role):
    answer = export(as_role("editor"), "articles", "?fields=slug,body,category_id&slug=spoiled-0", "text/csv")
    table = list(csv.reader(io.StringIO(answer.get_data(as_text=True), newline="")))
    assert table[0] == ["slug", "body", "category_id"]
    assert table[1][:2] == ["spoiled-0", "'=HYPERLINK(1)"]
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="articles.csv"'
    assert "Accept" in answer.headers["Vary"]


@pytest.mark.parametrize(("accept", "type"), [
    (None, TYPES[0]), ("*/*", TYPES[0]), ("text/csv", TYPES[1]), ("text/csv; charset=utf-8", TYPES[1]),
    ("text/*", TYPES[1]), ("text/csv;q=0.5, application/x-ndjson;q=0.4", TYPES[1]), ("text/csv;q=0, */*", TYPES[0]),
])
def test_the_client_chooses_the_type(rows, as_role, accept, type):
    assert export(as_role("editor"), "articles", accept=accept).mimetype == type


@pytest.mark.parametrize(("query", "accept", "status", "code"), [
    ("", "image/png", 406, "not_acceptable"),
    ("?limit=5", None, 400, "unknown_parameter"),
    ("?cursor=x", None, 400, "unknown_parameter"),
    ("?fields=nope", None, 400, "invalid_parameter"),
    ("?fields=", None, 400, "invalid_parameter"),
    ("?sort=body", None, 400, "invalid_parameter"),
])
def test_what_cannot_be_asked_of_an_export_is_refused_before_it_begins(as_role, query, accept, status, code):
    answer = export(as_role("editor"), "articles", query, accept)
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)


@pytest.mark.parametrize(("role", "status"), [("guest", 401), ("user", 403), ("developer", 403), ("admin", 200)])
def test_an_export_takes_the_permission_to_export(as_role, role, status):
    assert export(as_role(role), "articles").status_code == status


def test_an_export_stays_in_its_tenant(as_role, elsewhere):
    row = elsewhere.article("draft")
    assert row.id.encode() not in export(as_role("admin"), "articles").get_data()


def memory(name):
    """`VmRSS` (now) or `VmHWM` (at most) of this process, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure the peak of memory")
def test_memory_stays_flat_however_many_rows_are_exported(elsewhere, as_role):
    """Uses the other tenant, so that no other test has to read past so many rows."""
    at, columns = now(), ("id", "tenant_id", "version", "created_at", "updated_at", "name", "slug")
    with elsewhere.database.connected():
        for start in range(0, MANY, 20_000):
            some = [(new_id(), elsewhere.tenant_id, 1, at, at, f"Category {number} " + "x" * 150, f"many-{number}")
                    for number in range(start, start + 20_000)]
            elsewhere.database.transact(lambda some=some: bulk.load(elsewhere.database, Category, columns, some))
    for type in TYPES:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before, lines = memory("VmRSS"), 0
        caller = as_role("manager", tenant="other")
        answer = caller.client.get("/api/categories/export", headers={**caller.headers, "Accept": type})
        for chunk in answer.iter_encoded():
            lines += chunk.count(b"\n")
        assert lines >= MANY
        assert memory("VmHWM") - before < ALLOWED
