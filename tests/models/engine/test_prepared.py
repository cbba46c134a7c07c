"""A prepared statement is built once. Values reach the driver unchanged, and never become part of the text."""

import peewee as pw
import pytest

from models.base import now
from models.engine import prepared
from models.engine.prepared import Bind, cache_sql, prepare
from tests.models.paging.notes import ME, OTHER, TENANT, TIMES, Note, create_table, fill

pytestmark = pytest.mark.both_databases

HOSTILE = "'; DROP TABLE notes; --"


@pytest.fixture(scope="module", autouse=True)
def notes(opened):
    with opened.connected():
        create_table(opened)
        fill(opened, [
            {"id": id_, "tenant_id": TENANT, "owner_id": ME, "status": status, "title": title, "rank": rank,
             "created_at": time}
            for id_, status, title, rank, time in [
                (ME, "draft", "a", 1, TIMES[0]), (OTHER, "published", HOSTILE, None, TIMES[1])]])


@pytest.mark.parametrize(("condition", "values", "expected"), [
    (Note.title == Bind("x"), {"x": HOSTILE}, [OTHER]),
    (Note.title != Bind("x"), {"x": HOSTILE}, [ME]),
    (Note.rank >= Bind("x"), {"x": 1}, [ME]),
    (Note.created_at > Bind("x"), {"x": TIMES[0]}, [OTHER]),
    (Note.id == Bind("x"), {"x": ME}, [ME]),
    (Note.status.in_([Bind("x"), Bind("y")]), {"x": "draft", "y": "published"}, [ME, OTHER]),
    ((Note.status == "draft") & (Note.rank == Bind("x")), {"x": 1}, [ME]),
    ((Note.title == Bind("x")) | (Note.title == Bind("y")), {"x": "a", "y": "b"}, [ME]),
])
def test_a_bind_stands_wherever_a_value_may(database, condition, values, expected):
    statement = prepare(database, Note.select(Note.id).where(condition).order_by(Note.id))
    assert statement.run(database, values) == [(one,) for one in expected]


def test_a_bind_stands_in_a_row_value_a_limit_and_an_offset(database):
    query = Note.select(Note.id).order_by(Note.id).limit(Bind("limit")).offset(Bind("offset"))
    statement = prepare(database, query.where(
        pw.Tuple(Note.created_at, Note.id) >= pw.Tuple(Bind("time"), Bind("id"))))
    values = {"time": TIMES[0], "id": ME}
    assert statement.run(database, {**values, "limit": 1, "offset": 0}) == [(ME,)]
    assert statement.run(database, {**values, "limit": 5, "offset": 1}) == [(OTHER,)]


def test_no_value_is_part_of_the_text(database):
    statement = prepare(database, Note.select().where(Note.title == HOSTILE, Note.status == Bind("status")))
    assert "DROP" not in statement.text
    assert statement.bound({"status": "draft"}) == (HOSTILE, "draft")


def test_values_reach_the_driver_without_a_fields_conversion(database):
    marker = object()
    statement = prepare(database, Note.select().where(Note.title == Bind("title"), Note.rank == Bind("rank")))
    assert statement.bound({"title": marker, "rank": marker}) == (marker, marker)


def test_rows_are_plain_tuples_of_the_one_representation(database):
    query = Note.select(Note.id, Note.created_at, Note.rank).where(Note.id == Bind("id"))
    statement = prepare(database, query)
    assert statement.run(database, {"id": OTHER}) == [(OTHER, TIMES[1], None)]


def test_a_bind_without_a_value_is_an_error_and_a_value_without_a_bind_is_not(database):
    statement = prepare(database, Note.select(Note.id).where(Note.created_at < Bind("time")))
    with pytest.raises(KeyError, match="time"):
        statement.run(database, {})
    assert len(statement.run(database, {"time": now(), "another": 1})) == 2


def test_sql_is_built_once_for_each_dialect_and_argument(database):
    calls = []

    @cache_sql
    def by_column(database, column):
        calls.append((database.dialect, column))
        return prepare(database, Note.select(Note.id).where(Note._meta.fields[column] == Bind("value")))

    for column, value, id_ in [("id", ME, ME), ("id", OTHER, OTHER), ("title", "a", ME), ("title", HOSTILE, OTHER)]:
        assert by_column(database, column).run(database, {"value": value}) == [(id_,)]
    assert calls == [(database.dialect, "id"), (database.dialect, "title")]


def test_two_functions_with_the_same_arguments_have_sql_of_their_own(database):
    first, second = cache_sql(lambda database, number: "first"), cache_sql(lambda database, number: "second")
    assert (first(database, 1), second(database, 1), first(database, 1)) == ("first", "second", "first")


def test_an_exception_is_not_cached(database):
    calls = []

    @cache_sql
    def failing_once(database):
        calls.append(database)
        if len(calls) == 1:
            raise ValueError
        return "sql"

    with pytest.raises(ValueError):
        failing_once(database)
    assert failing_once(database) == failing_once(database) == "sql"
    assert len(calls) == 2


def test_the_cache_is_bounded(database, monkeypatch):
    monkeypatch.setattr(prepared, "_cached", kept := {})
    monkeypatch.setattr(prepared, "MOST_CACHED", 3)
    numbered = cache_sql(lambda database, number: number)
    for number in range(1, 9):
        assert numbered(database, number) == number
        assert len(kept) <= 3
