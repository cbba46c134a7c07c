"""An import of many rows on SQLite: stored in batches, hidden until complete (docs/decisions/0029-loads.md).

A handful of rows is many here, and a batch has at most three, so that each test sees several.
"""

from __future__ import annotations

import json
import random
import threading

import pytest

from gatepost.http.security import passwords
from gatepost.http.writing import intake, lines
from models.base import Rows
from models.engine.errors import Unavailable
from models.tables import load
from models.tables.article import Article
from models.tables.category import Category
from models.tables.load import undo_left
from models.tables.user import User
from tests.apps import NO_ROW, PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.samples import sampled

pytestmark = pytest.mark.both_databases

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def database_url(request):
    return new_database("sqlite", request)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(intake, "FEW", 4)
    monkeypatch.setattr(lines, "FEWEST", 1)
    monkeypatch.setattr(lines, "MOST", 3)


@pytest.fixture
def editor(as_user):
    return as_user("editor")


@pytest.fixture
def between(monkeypatch):
    """Calls a function after each batch except the first, in another thread. Counts the calls."""
    class Between:
        calls, asked, failed = 0, None, ()

        def __call__(self, sizes, batch, seconds):
            sizes._size = lines.MOST
            if self.asked is not None and self.calls < 3:
                self.calls += 1
                thread = threading.Thread(target=self._ask)
                thread.start()
                thread.join()

        def _ask(self):
            try:
                self.asked()
            except BaseException as error:
                self.failed = (error,)

    found = Between()
    monkeypatch.setattr(lines.Sizes, "took", lambda sizes, batch, seconds: found(sizes, batch, seconds))
    yield found
    assert found.failed == ()


def send(caller, rows, *, to="articles", query="", headers=NDJSON):
    data = b"\n".join(json.dumps(row).encode() for row in rows)
    return caller.post(f"/api/{to}/import{query}", data=data, headers=headers)


def article(slug, **values):
    return {"title": f"About {slug}", "slug": slug, "body": "Words of zebras.", **values}


def state(app):
    """Returns the open rows of `loads`, and hidden rows, without the views."""
    database = app.extensions["gatepost"].database
    with database.connected():
        return database.query("SELECT count(*) FROM loads WHERE state = 'open'")[0][0]


def test_nobody_sees_a_part_of_an_import(app, as_role, given, between):
    editor, reader, parent = as_role("editor"), as_role("admin"), given.category()
    author = given.user()
    rows = [article(f"whole-{number}", category_id=parent.id, owner_id=author.id, status="published")
            for number in range(12)]
    hidden = []

    def looks():
        """Returns the answers to a caller, in each way to read the rows."""
        listed = reader.get("/api/articles?slug__in=whole-0,whole-5,whole-11&expand=category").get_json()["items"]
        export = reader.get("/api/articles/export?slug__in=whole-0,whole-5,whole-11").get_data()
        return [
            len(listed), len(export.splitlines()),
            reader.get(f"/api/articles?category_id={parent.id}&page=1").get_json()["total"],
            len(reader.get("/api/articles?q=zebras").get_json()["items"]),
            *{reader.get(f"/api/articles/{id}").status_code for id in hidden},
        ]

    def during():
        assert state(app) == 1
        with given.database.connected():
            hidden[:] = [id for id, in given.database.query('SELECT id FROM main.articles WHERE "load" IS NOT NULL')]
        assert hidden
        # A comment may not refer to an object that its writer cannot see.
        answer = reader.post("/api/comments", json={"article_id": hidden[0], "body": "Where?"})
        assert answer.status_code == 400
        assert looks() == [0, 0, 0, 0, 404]
        assert reader.post("/api/articles", json=article(f"beside-{between.calls}", body="b")).status_code == 201

    between.asked = during
    assert send(editor, rows).get_json()["imported"] == 12
    assert between.calls == 3
    assert looks() == [3, 3, 12, 12, 200]
    assert state(app) == 0


def test_nobody_logs_in_as_an_imported_user_before_all_are_there(app, as_role, between, monkeypatch):
    monkeypatch.setattr(passwords, "hash_password", lambda password, *_: passwords.UNUSABLE, raising=False)
    admin, client = as_role("admin"), app.test_client()
    people = [{"name": f"Person {number}", "email": f"person{number}@example.com", "password": PASSWORD,
               "role": "user"} for number in range(6)]
    answers = []

    def log_in():
        with app.extensions["gatepost"].database.connected():
            answers.append(User.by_email("person0@example.com"))

    between.asked = log_in
    assert send(admin, people, to="users").get_json()["imported"] == 6
    assert answers
    assert not any(answers)
    assert client.get("/api/health").status_code == 200
    log_in()
    assert answers[-1] is not None


@pytest.mark.parametrize(("name", "bad"), [
    ("unreadable", {"slug": "x"}), ("taken", article("taken-0")), ("refused", article("x", id=NO_ROW))])
def test_a_line_that_fails_undoes_every_batch(editor, app, given, name, bad):
    rows = [*(article(f"{name}-{number}") for number in range(9)), bad]
    assert send(editor, rows).status_code == 400
    assert editor.get(f"/api/articles?slug__in={name}-0,{name}-8").get_json()["items"] == []
    assert state(app) == 0
    with given.database.connected():
        assert given.database.query("SELECT 1 FROM main.articles WHERE slug GLOB ?", [f"{name}-*"]) == []
    assert send(editor, rows[:9]).get_json()["imported"] == 9


def test_a_caller_who_is_disabled_meanwhile_imports_nothing(app, as_user, given, between):
    caller = as_user("editor")
    between.asked = lambda: given.database.transact(
        lambda: Rows(User, given.tenant_id).change({User.active: False}, User.id == caller.user.id))
    answer = send(caller, [article(f"disabled-{number}") for number in range(9)])
    assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")
    assert state(app) == 0


def test_a_caller_who_may_no_longer_import_imports_nothing(app, as_user, as_role, given, between):
    caller = as_user("editor")
    between.asked = lambda: given.database.transact(
        lambda: Rows(User, given.tenant_id).change({User.role: "user"}, User.id == caller.user.id))
    answer = send(caller, [article(f"demoted-{number}") for number in range(9)])
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert as_role("admin").get("/api/articles?slug=demoted-0").get_json()["items"] == []


def test_a_twin_waits_and_is_answered_alike(editor, app, between):
    rows, headers = [article(f"twin-{number}") for number in range(9)], {**NDJSON, "Idempotency-Key": "the-key"}
    answers, threads = [], []

    def twin():
        if not threads:
            threads.append(threading.Thread(target=lambda: answers.append(send(editor, rows, headers=headers))))
            threads[0].start()

    between.asked = twin
    first = send(editor, rows, headers=headers)
    threads[0].join()
    assert (first.status_code, first.get_json()["imported"]) == (200, 9)
    assert answers[0].get_data() == first.get_data()
    assert answers[0].headers["Idempotency-Replayed"] == "true"
    assert state(app) == 0


def test_another_import_of_the_table_waits_and_is_refused(editor, as_role, between, monkeypatch):
    monkeypatch.setattr(load, "PATIENCE", 0.0)
    others = []

    def meanwhile():
        others.append(send(editor, [article(f"second-{number}") for number in range(9)]))
        others.append(send(as_role("admin"), [{"name": f"c {number}", "slug": f"second-{between.calls}-{number}"}
                                             for number in range(9)], to="categories"))

    between.asked = lambda: between.calls == 1 and meanwhile()
    assert send(editor, [article(f"first-{number}") for number in range(9)]).status_code == 200
    assert [(answer.status_code, answer.headers.get("Retry-After")) for answer in others] == [(503, "1"), (200, None)]


def test_a_database_that_fails_in_the_middle_leaves_nothing_behind(editor, app, given, between, monkeypatch):
    def fail(self):
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(load.Load, "close", fail)
    assert send(editor, [article(f"broken-{number}") for number in range(9)]).status_code == 503
    assert state(app) == 1  # it could not be closed
    monkeypatch.undo()
    assert editor.get("/api/articles?slug=broken-0").get_json()["items"] == []
    assert undo_left(given.database) == 1
    assert state(app) == 0


@pytest.mark.parametrize("few", [4, 10_000], ids=["in batches", "in one transaction"])
def test_more_changes_than_may_be_are_refused_before_anything_is_stored(tmp_path, database_url, few, monkeypatch):
    monkeypatch.setattr(intake, "FEW", few)
    app = make_app(new_instance(tmp_path / "own", database_url, "default"), database_url, import_changes="3")
    try:
        there = Given(app, "default")
        user = there.user("editor")
        with app.app_context():
            token = app.extensions["gatepost"].access_tokens.issue(user, there.session(user).id, [], "*")
        known = [there.article("draft") for _ in range(4)]
        lines = [*(article(f"limit-{few}-{number}") for number in range(9)), *({"id": row.id} for row in known)]
        data = b"\n".join(json.dumps(line).encode() for line in lines)
        headers = {**NDJSON, "Authorization": f"Bearer {token}"}
        answer = app.test_client().post("/api/articles/import", data=data, headers=headers)
        assert (answer.status_code, answer.get_json()["detail"]) == (
            400, "More than 3 lines change rows that are there already; nothing was imported. Send several files.")
        fewer = b"\n".join(data.splitlines()[:-1])
        assert app.test_client().post("/api/articles/import", data=fewer, headers=headers).get_json() == {
            "imported": 9, "updated": 3, "failed": 0, "errors": []}
    finally:
        close(app)


# The same file, stored in batches and in one transaction


def a_file(chance: random.Random, known: list[str]) -> list[dict]:
    """Lines about a few categories: new ones, known ones, either twice, by id or by slug, with faults among them."""
    slugs = [*known, *(f"new-{number}" for number in range(14))]
    lines = []
    for _ in range(chance.randint(8, 24)):
        line = {"slug": chance.choice(slugs), "name": f"Name {chance.randint(0, 9)}"}
        match chance.randint(0, 9):
            case 0:
                line["slug"] = "Not a slug"
            case 1:
                del line["name"]
            case 2:
                line["parent_id"] = chance.choice(["", "01930000-0000-7000-8000-000000000000"])
            case 3 | 4:
                line["id"] = chance.choice(known)  # replaced by its id
        lines.append(line)
    return lines


@pytest.mark.parametrize("seed", sampled(range(24), 2))
def test_a_file_has_the_same_outcome_in_batches_as_in_one_transaction(seed, as_role, elsewhere, monkeypatch):
    chance, admin, given = random.Random(seed), as_role("admin", tenant="other"), elsewhere
    query = chance.choice(["?key=slug", "?key=slug&on_error=skip", "", "?on_error=skip"])
    outcomes = []
    known = [f"known-{number}" for number in range(5)]
    lines = a_file(chance, known)
    for few in (2, 10_000):
        monkeypatch.setattr(intake, "FEW", few)
        given.database.transact(lambda: Rows(Category, given.tenant_id).remove())
        ids = {slug: given.category(slug=slug, name="As it was").id for slug in known}
        answer = send(admin, [{**line, **({"id": ids[line["id"]]} if "id" in line else {})} for line in lines],
                      to="categories", query=query)
        body = answer.get_json()
        body.pop("request_id", None)
        with given.database.connected():
            stored = sorted(Rows(Category, given.tenant_id).select(
                Category.slug, Category.name, Category.version).tuples())
        assert answer.status_code in (200, 400)
        outcomes.append((answer.status_code, body, stored))
    assert outcomes[0] == outcomes[1]


def test_an_article_of_a_load_may_be_changed_by_a_later_line(editor, given):
    shown = given.article("draft", slug="shown-before")
    lines = [*(article(f"later-{number}") for number in range(9)), {"slug": "later-0", "title": "Changed twice."},
             {"slug": "shown-before", "title": "Changed once."}, {"slug": "later-8", "title": "Changed, too."}]
    assert send(editor, lines, query="?key=slug").get_json() == {
        "imported": 9, "updated": 3, "failed": 0, "errors": []}
    with given.database.connected():
        titles = {row.slug: row.title for row in Rows(Article, given.tenant_id).select()}
    assert (titles["later-0"], titles["shown-before"], titles["later-8"]) == (
        "Changed twice.", "Changed once.", "Changed, too.")
    assert shown.title != titles["shown-before"]
