"""The optional parts of a declaration (an owner, a default, a place in the schema), and answers without them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import peewee as pw
import pytest
from marshmallow import post_load

from app import create_app
from gatepost import Int, Line, Many, Reference, Routes, StrictSchema, action
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.testing import log_in, served
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import make_app, new_instance
from tests.databases import new_database
from tests.http.resources.letters.letters import Letters
from tests.http.resources.shelf.books import Book, Books, BookSchema
from tests.samples import sampled_rows

app = served(create_app, Letters)


@pytest.fixture(scope="module")
def admin(app):
    return log_in(app, "admin")


@pytest.fixture(scope="module")
def user(app):
    return log_in(app, "user")


def made(caller, **body):
    answer = caller.post("/api/letters", {"text": "Dear reader", **body})
    assert answer.status_code == 201, answer.text
    return answer.get_json()


def put(caller, row, **body):
    return caller.put(f"/api/letters/{row['id']}", {"text": "Dear writer", **body})


def test_a_put_gives_a_column_that_is_left_out_its_default(admin):
    assert put(admin, made(admin, stars=5)).get_json()["stars"] == 3


def test_a_put_makes_a_nullable_column_that_is_left_out_null(admin):
    assert put(admin, made(admin, remark="Kept for now")).get_json()["remark"] is None


def test_a_put_keeps_a_column_that_can_be_neither_null_nor_a_default(admin):
    answer = put(admin, made(admin, code="A1"))
    assert (answer.status_code, answer.get_json()["code"]) == (200, "A1")
    assert put(admin, made(admin, code="A1"), code="B2").get_json()["code"] == "B2"


def test_a_put_leaves_a_column_that_the_schema_does_not_have(admin, app):
    row = made(admin)
    assert put(admin, row).status_code == 200
    database = app.extensions["gatepost"].database
    with database.connected():
        assert Letters.model.get_by_id(row["id"]).place == "shelf"


def test_a_guarded_field_of_rows_without_an_owner_is_seen_by_managers_alone(admin, user):
    row = made(admin, code="A1")
    path = f"/api/letters/{row['id']}"
    assert admin.get(path).get_json()["code"] == "A1"
    assert "code" not in user.get(path).get_json()
    assert "code" not in user.get(f"{path}?fields=text,code").get_json()
    assert all("code" not in one for one in user.get("/api/letters").get_json()["items"])


def test_a_filter_by_a_guarded_field_of_rows_without_an_owner_finds_nothing_for_others(admin, user):
    made(admin, code="C3", text="Found")
    found = admin.get("/api/letters?code=C3&text=Found").get_json()["items"]
    assert [row["code"] for row in found] == ["C3"]
    answer = user.get("/api/letters?code=C3")
    assert (answer.status_code, answer.get_json()["items"]) == (200, [])
    assert user.get("/api/letters?text=Found").get_json()["items"] != []


def test_a_sort_by_a_guarded_field_of_rows_without_an_owner_is_refused_to_others(admin, user):
    assert admin.get("/api/letters?sort=code").status_code == 200
    assert user.get("/api/letters?sort=code").status_code == 400


@pytest.mark.parametrize(("declared", "sentence"), [
    ({"import_keys": ("code",)}, "is an import key: what a line finds would tell what is in it"),
    ({"guarded": {"code": "note.view_code"}}, "is not one of letter.*"),
    ({"guarded": {"place": "letter.view_place"}}, "which it does not answer"),
    ({"view_guarded": {"text": True}}, "must say for each field which permission shows it"),
    ({"view_guarded": {"place": "view_place"}}, "which it does not answer"),
    ({"view_guarded": {"text": "read"}}, "has the verb 'read' for 'text', which does not begin with view_"),
    ({"view_guarded": {"code": "view_code"}}, "which `guarded` names, too"),
    ({"view_guarded": {"version": "view_version"}}, "which only `guarded` can hide"),
    ({"view_guarded": {"text.first": "view_text"}}, "and 'text' is no list of objects"),
    ({"view_guarded": {"text": "view_text"}, "import_keys": ("text",)}, "is an import key"),
])
def test_a_guard_that_would_not_hold_stops_the_start(declared, sentence):
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover([type("Letters", (Letters,), {**declared, "__module__": Letters.__module__})])


@pytest.mark.parametrize(("declared", "sentence"), [
    ({"on_erase": "forget"}, "on_erase must be delete, anonymise or hand_over, not 'forget'"),
    ({"on_erase": None}, "on_erase must be delete, anonymise or hand_over, not None"),
    ({"on_erase": "anonymise"}, "neither is of use without the other"),
    ({"anonymised": {"remark": None}}, "neither is of use without the other"),
    ({"on_erase": "anonymise", "anonymised": ("remark",)}, "must say for each column which value it gets"),
    ({"on_erase": "anonymise", "anonymised": {"remarks": None}}, "'remarks', which is no column that can be"),
    ({"on_erase": "anonymise", "anonymised": {"tenant_id": "x"}}, "'tenant_id', which is no column that can be"),
    ({"on_erase": "anonymise", "anonymised": {"text": None}}, "'text' to None, which the column does not take"),
])
def test_what_an_erasure_could_not_do_stops_the_start(declared, sentence):
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover([type("Letters", (Letters,), {**declared, "__module__": Letters.__module__})])


def test_what_an_erasure_can_do_is_taken():
    declared = {"on_erase": "anonymise", "anonymised": {"remark": None}, "__module__": Letters.__module__}
    assert "letters" in discover([type("Letters", (Letters,), declared)]).collections


def test_an_operation_that_is_called_like_another_one_stops_the_start(monkeypatch):
    routes = Routes("gadgets", "Gadgets.")
    routes.get("/api/gadgets", permission="gadget.view", answer=StrictSchema(), operation="session_log_in")(print)
    plugin = ModuleType("gadgets")
    plugin.routes, plugin.__file__ = routes, __file__
    monkeypatch.setitem(sys.modules, "gadgets", plugin)
    with pytest.raises(PluginError, match="'session_log_in' is declared 2 times"):
        discover([plugin])


HERE = r"tests/http/resources/shelf/books\.py"


def changed(**declared):
    return type("Books", (Books,), {**declared, "__module__": Books.__module__})


@pytest.mark.parametrize(("declared", "sentence"), sampled_rows([
    ({"filters": {"tags": ("eq",)}}, "filters has the operator 'eq' for 'tags', which is a list"),
    ({"filters": {"stars": ("has",)}}, "filters has the operator 'has' for 'stars', which is no list"),
    ({"filters": {"stars": ("gtt",)}}, "filters has the operator 'gtt' for 'stars'; did you mean gt?"),
    ({"filters": {"stars": "eq"}}, r"filters\['stars'\] must be several operators, such as \('eq', 'in'\)"),
    ({"model": type("Bare", (Book,), {"shelf": pw.TextField()})},
     "a body never has 'shelf', and the column of Bare has neither default nor null"),
    ({"schema": type("Loose", (BookSchema,), {"title": Line()})},
     "a body may leave out 'title', and the column of Book has neither default nor null"),
    ({"filters": {"starz": ("gte",)}}, r"Books\.filters names 'starz', which is no column of Book and no reference; "
     r"did you mean stars\?"),
    ({"filters": ("stars",)}, "Books.filters must say for each field by which operators"),
    ({"filters": {"stars": ("contains",)}}, "filters has the operator 'contains' for 'stars', which is no text"),
    ({"filters": {"created_at": ("startswith",)}}, "the operator 'startswith' for 'created_at', which is no text"),
    ({"sort": ("created_at", "star")}, r"Books\.sort names 'star', which is no column of Book; did you mean stars\?"),
    ({"sort": ("status,-create_at",)}, "Books.sort names 'create_at', which is no column of Book; did you mean cre"),
    ({"sort": "created_at"}, r"Books\.sort must be several names, such as \('created_at',\)"),
    ({"default_sort": "-creatd_at"}, "Books.default_sort names 'creatd_at', which is no column of Book"),
    ({"until": "over"}, "Books.until names 'over', which is no column of Book; known are"),
    ({"search": ("titel",)}, r"Books\.search names 'titel', which is no column of Book; did you mean title\?"),
    ({"search": "title"}, r"Books\.search must be several names, such as \('title',\)"),
    ({"judged": ("titel",)}, "Books.judged names 'titel', which is no column of Book"),
    ({"judged": "title"}, r"Books\.judged must be several names, such as \('title',\)"),
    ({"managed": ("titel",)}, r"Books\.managed names 'titel', which is no field of BookSchema; did you mean title\?"),
    ({"managed": "title"}, r"Books\.managed must be several names, such as \('title',\)"),
    ({"create_only": ("titel",)}, "Books.create_only names 'titel', which is no field of BookSchema"),
    ({"create_only": "title"}, r"Books\.create_only must be several names, such as \('title',\)"),
    ({"null_at_create": ("titel",)}, "Books.null_at_create names 'titel', which is no column of Book"),
    ({"null_at_create": "stars"}, r"Books\.null_at_create must be several names, such as \('stars',\)"),
    ({"null_at_create": ("title",)}, "Books.null_at_create names 'title', which a new row has: the service or the"),
    ({"null_at_create": ("version",)}, "Books.null_at_create names 'version', which a new row has"),
    ({"import_keys": ("titel",)}, "Books.import_keys names 'titel', which is no column of Book"),
    ({"import_keys": "title"}, r"Books\.import_keys must be several names, such as \('title',\)"),
    ({"computed": "allowed_actions"}, r"Books\.computed must be several names, such as \('allowed_actions',\)"),
    ({"guarded": {"titel": "book.secret"}}, "Books.guarded names 'titel', which it does not answer"),
    ({"schema": type("Noted", (BookSchema,), {"notes": Line()})},
     "Noted.notes has no column in Book, so that what is sent in it would be lost; give Book the column, or override"),
    ({"schema": type("Noted", (BookSchema,), {"notes": Line(load_only=True)})}, "what is sent in it would be lost"),
    ({"schema": type("Counted", (BookSchema,), {"readers": Int(dump_only=True)})},
     "Counted.readers has no column in Book, so that no answer would have it; give Book the column, or override `att"),
    ({"schema": type("NeverSchema", (BookSchema,), {"stars": Int(dump_only=True)})},
     "'stars' may be null in an answer, because the column of Book has null=True; give the field of NeverSchema "
     "allow_none=True"),
    ({"schema": type("NeverSchema", (BookSchema,), {"secrets": Many(Line(), maximum=2)})},
     "'secrets' may be null in an answer, because the column of Book has null=True; give the field of NeverSchema"),
], 3))
def test_a_declaration_that_would_fail_later_is_named_by_file(declared, sentence):
    with pytest.raises(PluginError, match=f"{HERE}[:0-9]*: .*{sentence}"):
        discover([changed(**declared)])


def attach(self, tenant_id, rows):
    """Add to each row how many read it."""


def create(self, call, row):
    """Keep the notes elsewhere."""


SHELVED = {"model": type("Shelved", (Book,), {"shelf": pw.TextField()}), "judged": ("shelf",), "create": create}


@pytest.mark.parametrize(("declared", "expected"), [
    ({}, set()), ({"null_at_create": ("stars",)}, {"stars"}), (SHELVED, {"shelf"}),
    (SHELVED | {"null_at_create": ("stars",)}, {"shelf", "stars"}),
    # Each of these may set it before the decision.
    (SHELVED | {"derive": lambda self, call, row: None}, set()),
    (SHELVED | {"stamp": lambda self, call, row: None}, set()),
    (SHELVED | {"draft": lambda self, call: None}, set()),
    (SHELVED | {"stamp": lambda self, call, row: None, "null_at_create": ("shelf",)}, {"shelf"}),
], ids=["plain", "declared", "by create", "both", "derived", "stamped", "drafted", "stamped, and declared"])
def test_what_a_new_row_lacks_is_declared_or_follows_from_what_is_overridden(declared, expected):
    columns = discover([changed(**declared)]).vocabulary.resources["book"].columns
    assert {name for name, column in columns.items() if column.null_at_create} == expected


def test_a_field_that_nothing_keeps_is_found_whatever_was_loaded_before():
    StrictSchema().load({})
    StrictSchema().dump({})
    with pytest.raises(PluginError, match=r"Noted\.notes has no column in Book"):
        discover([changed(schema=type("Noted", (BookSchema,), {"notes": Line()}))])


@pytest.mark.parametrize("declared", [
    {"schema": type("Noted", (BookSchema,), {"notes": Line()}), "create": create},
    {"schema": type("Noted", (BookSchema,), {"notes": Line()}), "prepare": lambda self, call: None},
    {"schema": type("Counted", (BookSchema,), {"readers": Int(dump_only=True)}), "attach": attach},
    {"schema": type("Renamed", (BookSchema,), {"rating": Int(attribute="stars", load_only=True)})},
    {"schema": type("Folded", (BookSchema,), {
        "note": Line(load_only=True), "fold": post_load(lambda self, data, **_: data)})},
], ids=["kept elsewhere", "prepared", "attached", "of another name", "folded"])
def test_a_field_that_something_else_keeps_or_answers_needs_no_column(declared):
    assert "books" in discover([changed(**declared)]).collections


@pytest.mark.parametrize("secrets", [Many(Line(), maximum=2, required=True), Many(Line(), maximum=2, load_default=[])])
def test_a_column_that_every_body_gives_a_value_may_be_null_in_the_table(secrets):
    found = discover([changed(schema=type("AlwaysSchema", (BookSchema,), {"secrets": secrets}))])
    assert "books" in found.collections


@pytest.mark.parametrize(("name", "more", "sentence"), [
    ("update", {}, "the action 'update' has a name that means something else already"),
    ("share", {}, "the action 'share' has a name that means something else already"),
    ("created", {}, "the action 'created' has a name that means something else already"),
    ("rate", {}, "the action 'rate' has a name that means something else already"),
    ("Rate it", {}, "the action 'Rate it' must be called by small letters, digits and _"),
    ("go", {"transitions": {"a": "b"}, "state": "place"}, "moves the column 'place', which Book lacks"),
])
def test_an_action_that_cannot_be_is_named_by_file_and_line(name, more, sentence):
    @action(name, **more)
    def another(self, book):
        """Nothing."""

    with pytest.raises(PluginError, match=rf"test_declarations\.py:\d+: .*{sentence}"):
        discover([changed(another=another)])


@pytest.mark.parametrize("method", [lambda self: None, lambda self, call, row, more: None, lambda *them: None,
                                    lambda self, call, *, row: None])
def test_a_method_that_is_no_action_is_refused_where_it_is_declared(method):
    with pytest.raises(TypeError, match="the method of the action 'go' takes"):
        action("go")(method)


@pytest.mark.parametrize(("more", "sentence"), [
    ({"transitions": ["a", "b"]}, "the transitions of the action 'go' say which state follows which"),
    ({"body": {"stars": 3}}, "the body of the action 'go' is a schema, not dict"),
    ({"body": dict}, "the body of the action 'go' is a schema, not dict"),
])
def test_an_action_of_another_form_is_refused_where_it_is_declared(more, sentence):
    with pytest.raises(TypeError, match=sentence):
        action("go", **more)(lambda self, row: None)


class LentSchema(BookSchema):
    """One book, which refers to others."""

    category_id = Reference("categories")
    tools = Many(Reference("tool"), maximum=3)


class MeantSchema(BookSchema):
    """One book, which is expanded by another name."""

    category_id = Reference("categories", expand="category")


@pytest.mark.parametrize(("declared", "sentence"), [
    ({"expand": ("categories",)}, "`expand` names 'categories', and no Reference of BookSchema is expanded as that"),
    ({"expand": ("category",), "schema": LentSchema},
     "`expand` names 'category', and no Reference of LentSchema is expanded as that; "
     'write category_id = Reference("categories", expand="category", …)'),
    ({"expand": ("categorys",), "schema": MeantSchema},
     "`expand` names 'categorys', and no Reference of MeantSchema is expanded as that; did you mean category?"),
    ({"expand": "owner"}, "`expand` must be several names, such as ('owner',)"),
    ({"schema": LentSchema, "create": create},
     "LentSchema.tools refers to 'tool', and there is no such collection; known are articles"),
])
def test_a_reference_that_leads_nowhere_is_named_by_file_and_line(declared, sentence):
    with pytest.raises(PluginError, match=rf"{HERE}:\d+: {re.escape(sentence)}"):
        discover([changed(**declared)])


def test_a_body_of_an_action_that_refers_to_no_collection_is_named_too():
    @action("give", body=StrictSchema.from_dict({"to": Reference("user")}, name="GiveSchema"))
    def give(self, book):
        """Nothing."""

    with pytest.raises(PluginError, match=r"GiveSchema\.to refers to 'user', .*; did you mean users\?"):
        discover([changed(give=give)])


@pytest.mark.parametrize(("given", "more", "sentence"), [
    (Books, {}, "a Reference names a collection as in Reference\\(\"articles\"\\), and not by <class"),
    ("tools", {"expand": True}, "is expanded by a name, .*, and not by True"),
])
def test_a_reference_of_another_form_is_refused_where_it_is_declared(given, more, sentence):
    with pytest.raises(TypeError, match=sentence):
        Reference(given, **more)


NO_INDEX = "DROP INDEX books_stars"
STARTS = [
    (NO_INDEX, "Books can be sorted by 'stars', and no index serves that; "
               'a migration makes one with ddl.index(db, "books", "stars")'),
    ("DROP INDEX books_status_created_at", "Books can be sorted by 'status,-created_at', and no index serves that; "
     'a migration makes one with ddl.index(db, "books", "status,-created_at")'),
    ("DROP INDEX books_created_at", "Books can be sorted by 'created_at', and no index serves that; "
     'a migration makes one with ddl.index(db, "books", "created_at")'),
    ("DROP TABLE books", "there is no table 'books' of Book; a migration makes it with ddl.table"),
    ("ALTER TABLE books RENAME COLUMN secrets TO secret",
     "the table 'books' has no column 'secrets', which Book names; a migration adds it"),
    ({"sqlite": "DROP TABLE books_search", "postgres": "ALTER TABLE books DROP COLUMN search"},
     "the words of books have no index, or one of other columns or of all tenants; "
     'a migration makes it with ddl.searchable(db, "books", ("title",))'),
    ({"sqlite": ("DROP INDEX books_stars", "ALTER TABLE books DROP COLUMN stars",
                 "ALTER TABLE books ADD COLUMN stars INTEGER NOT NULL DEFAULT 1",
                 "CREATE INDEX books_stars ON books (tenant_id, stars, id)"),
      "postgres": "ALTER TABLE books ALTER COLUMN stars SET NOT NULL"},
     "a body may leave out 'stars', and the column 'stars' of the table 'books' takes no null, as Book says it does"),
    ({"sqlite": ("PRAGMA writable_schema = 1",
                 "UPDATE sqlite_schema SET sql = replace(sql, 'stars ', 'shelf TEXT NOT NULL, stars ') "
                 "WHERE name = 'books'", "PRAGMA writable_schema = RESET"),
      "postgres": "ALTER TABLE books ADD COLUMN shelf text NOT NULL"},
     "the table 'books' has the column 'shelf', which takes no null and has no default, and Book lacks it: no row "
     "could be stored; give Book the column"),
]


LOOSE = ("CREATE TABLE readers (id TEXT PRIMARY KEY, tenant_id TEXT, book TEXT, {} ON DELETE RESTRICT)")


@pytest.mark.parametrize(("key", "leads", "cure"), [
    ("FOREIGN KEY (tenant_id, book) REFERENCES books (tenant_id, id)", "books (tenant_id, id)",
     'ddl.index(db, "books", "id", unique=True)'),
    ("FOREIGN KEY (book) REFERENCES books (status)", "books (status)",
     'ddl.run(db, "CREATE UNIQUE INDEX … ON books (status)")'),
])
def test_a_foreign_key_to_what_is_not_unique_stops_the_start(tmp_path, request, key, leads, cure):
    sentence = (f"a foreign key of the table 'readers' leads to {leads}, of which no index is unique, so that every "
                f"write would fail; a migration makes one with {cure}")
    test_a_table_that_does_not_serve_its_collection_stops_the_start(
        tmp_path, request, "sqlite", LOOSE.format(key), sentence)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize(("broken", "sentence"), sampled_rows(STARTS, 2))
def test_a_table_that_does_not_serve_its_collection_stops_the_start(tmp_path, request, dialect, broken, sentence):
    url = new_database(dialect, request, migrated=False)
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover([Books]).migrations)
    statements = broken[dialect] if isinstance(broken, dict) else broken
    with database.connected():
        for statement in [statements] if isinstance(statements, str) else statements:
            database.execute_sql(statement)
    database.close_all()
    new_instance(tmp_path / "instance", url, "default")
    with pytest.raises(PluginError, match=rf"{HERE}:\d+: {re.escape(sentence)}$") as raised:
        make_app(tmp_path / "instance", url, [Books])
    file, number = re.match(r"(.*?):(\d+): ", str(raised.value)).groups()
    line = Path(file).read_text().splitlines()[int(number) - 1]
    assert line.startswith("    secrets = " if "no column" in sentence else
                           "class Book(" if "no table" in sentence or "Book lacks" in sentence else "class Books(")
