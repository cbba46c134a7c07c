"""Permissions of removed plugins: the policy history still knows them as permissions."""

from __future__ import annotations

import json

import pytest

from gatepost.collections.plugins.discovery import discover
from gatepost.rules.left_over import left_over
from models.base import later, new_id, now
from models.engine.connect import open_database
from models.tables.policy_version import PolicyVersion
from tests.databases import new_database

NOTES = "p, user, note.view, own, allow\np2, read:notes, note.export\n# p, user, note.comment, own, allow\n# end\n"
OURS = "p, user, article.view, always, allow\np, user, article.gone, always, allow\np, admin, *, always, allow\n# end\n"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    opened = open_database(new_database(request.param, request), pool_size=1, synchronous="normal",
                           statement_timeout=10)
    yield opened
    opened.close_all()


def note(database, seconds: int, packaged=(), **files: str) -> None:
    """Records a policy that came into force `seconds` from now."""
    texts = {f"{name}.csv": text for name, text in files.items()}
    database.transact(lambda: PolicyVersion(
        id=new_id(), version=f"{seconds:016}", applied_at=later(seconds, now()), cause="start", author="system",
        late=False, files=json.dumps(texts), packaged=json.dumps(list(packaged))).save(force_insert=True))


def found(database) -> dict[str, str]:
    with database.connected():
        return dict(left_over(database, discover()))


def test_an_empty_history_knows_nothing(database):
    assert found(database) == {}


def test_what_is_installed_is_not_left_over(database):
    note(database, 1, articles=OURS)
    assert found(database) == {}, "a slip in a permission of ours stays one"


def test_the_newest_policy_names_what_was_adopted(database):
    note(database, 1, articles=OURS, notes=NOTES)
    assert found(database) == dict.fromkeys(("note.export", "note.view"),
                                            "the plugin that had it is not installed")


def test_older_ones_name_what_came_with_a_package(database):
    note(database, 1, ["notes.csv"], articles=OURS, notes=NOTES)
    note(database, 2, articles=OURS, lost="p, user, lost.view, own, allow\n# end\n")
    note(database, 3, articles=OURS)
    assert sorted(found(database)) == ["note.export", "note.view"]


@pytest.mark.parametrize(("histories", "said"), [
    (["sample_notes"], "the plugin that had it, sample_notes, is not installed"),
    (["b", "a"], "the plugin that had it, one of a, b, is not installed"),
])
def test_the_histories_of_migrations_name_the_plugin(database, histories, said):
    note(database, 1, articles=OURS, notes=NOTES)
    with database.connected():
        for name in histories:
            database.execute_sql(f"CREATE TABLE migrations_{name} (id INTEGER PRIMARY KEY)")
    assert set(found(database).values()) == {said}
