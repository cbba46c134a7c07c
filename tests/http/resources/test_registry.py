"""The registry's vocabulary of the installed collections for a policy."""

from __future__ import annotations

import pytest

from gatepost import Int
from gatepost.collections.plugins.discovery import discover
from models import indexes
from models.migrate import SHIPPED as SHIPPED_MIGRATIONS
from policies import SHIPPED, load
from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from tests.http.resources.shelf.books import Books, BookSchema
from tests.policies.generated import BRANCHES, FILES


def test_a_start_does_not_look_for_indexes_and_the_lint_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def made_by(migrations: object) -> dict[str, tuple[tuple[str, ...], ...]]:
        asked.append(True)
        return {"articles": (("tenant_id", "created_at", "id"),)}

    monkeypatch.setattr(indexes, "made_by", made_by)
    policy = load(SHIPPED, discover().vocabulary)
    assert not asked
    assert any("no index of article serves lists by owner_id" in found.message for found in warnings(policy))


def test_the_lint_knows_of_a_plugin_what_its_declaration_says() -> None:
    schema = type("RatedSchema", (BookSchema,), {
        "stars": Int(dump_only=True, allow_none=True, minimum=1, maximum=5)})
    rated = type("Books", (Books,), {"schema": schema, "__module__": Books.__module__})
    conditions = {"best": "r.obj.stars > 5", "own_id": "r.obj.id == r.sub.id", "reads": "r.env.method == 'GET'"}
    model = FILES["model.conf"].decode().replace(BRANCHES, " || \\\n    ".join(
        [BRANCHES, *(f"p.when == '{word}' && {branch}" for word, branch in conditions.items())]))
    rules = ("p, user, book.view, own, allow", *(f"p, user, book.rate, {word}, allow" for word in conditions),
             "p, guest, book.export, anonymous, allow", "p2, write:books, book.manage", "# end\n")
    policy = from_files({**FILES, "model.conf": model.encode(), "books.csv": "\n".join(rules).encode()},
                        discover([rated]).vocabulary)
    found = [one.message for one in warnings(policy) if one.file in ("model.conf", "books.csv")]
    assert [one.partition(";")[0].partition(": a token")[0] for one in found] == [
        "no request for `book.rate` meets `reads`: its method is POST",
        "book.export is of no use here: nobody who gets this by the rule has book.view for the same object",
        "a scope to write gives book.manage",
        "`r.obj.stars > 5` never holds: book.stars is at most 5",
        "`r.obj.id == r.sub.id` never holds: r.obj.id is the object's own id, and r.sub.id is the id of a user"]


def test_the_indexes_are_those_that_the_migrations_make() -> None:
    assert ("tenant_id", "owner_id", "created_at", "id") in discover().vocabulary.resources["article"].indexes()


def test_the_indexes_of_a_plugin_are_those_that_its_migrations_make() -> None:
    found = discover([Books]).vocabulary.resources["book"].indexes()
    assert {("tenant_id", "stars", "id"), ("tenant_id", "owner_id", "created_at", "id")} <= {*found}


def test_where_a_migration_of_a_plugin_fails_the_shipped_indexes_are_known(tmp_path, caplog) -> None:
    (tmp_path / "0001_broken.py").write_text("def up(migrator, db):\n    raise KeyError('nowhere')\n")
    found = indexes.made_by({**SHIPPED_MIGRATIONS, "broken": tmp_path})
    assert found == indexes.made_by() != {}
    assert "a migration fails on an empty database" in caplog.text


def test_the_vocabulary_says_what_a_new_row_has_of_itself():
    resources = discover().vocabulary.resources
    assert resources["article"].defaults == {"version": 1, "language": "en", "status": "draft"}
    assert resources["user"].defaults.items() >= {"version": 1, "role": "user", "active": True}.items()
