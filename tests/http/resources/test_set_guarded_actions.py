"""An action whose body sets a guarded field needs the permission to set it, too."""

from __future__ import annotations

import pytest

from gatepost.collections.plugins.declarations import bad_set_guard
from gatepost.collections.plugins.discovery import discover
from gatepost.testing import log_in
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import close, fresh_registry, make_app, new_instance
from tests.databases import new_database
from tests.http.resources.shelf.books import Books
from tests.http.resources.test_actions import book, rate


@pytest.fixture(scope="module")
def app(request, tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(Books, "set_guarded", {"stars": "set_stars"})
    url = new_database("sqlite", request, migrated=False)
    with fresh_registry():
        database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
        upgrade(database, discover([Books]).migrations)
        database.close_all()
        folder = new_instance(tmp_path_factory.mktemp("shelf") / "instance", url, "default")
        (folder / "policies" / "stars.csv").write_text("p, editor, book.set_stars, always, allow\n# end\n")
        made = make_app(folder, url, [Books])
        yield made
        close(made)
    patch.undo()


def test_an_action_sets_no_field_without_the_permission(app):
    user, editor = log_in(app, "user"), log_in(app, "editor")
    row = book(user)
    refused = rate(user, row, {"stars": 3})
    assert (refused.status_code, refused.get_json()["errors"][0]["pointer"]) == (403, "/stars")
    assert user.get(f"/api/books/{row['id']}").get_json()["stars"] == row["stars"]
    assert rate(editor, row, {"stars": 3}).status_code == 200
    assert user.get(f"/api/books/{row['id']}").get_json()["stars"] == 3


@pytest.mark.parametrize(("declared", "said"), [
    ("stars", "must say for each field"), ({"stairs": "set_stars"}, "'stairs', which is no field"),
    ({"stars": "user.set_stars"}, "user.set_stars"), ({"stars": "rate"}, "not one of book.set_*"),
    ({"stars": "set_stars"}, None)])
def test_a_wrong_declaration_is_described(declared, said, monkeypatch):
    monkeypatch.setattr(Books, "set_guarded", {})
    books = Books()
    monkeypatch.setattr(Books, "set_guarded", declared)
    found = bad_set_guard(books)
    assert found is None if said is None else found is not None and said in found
