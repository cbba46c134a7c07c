"""Functions for migrations of plugins that create tables and indexes: for both databases, and safe to repeat."""

from __future__ import annotations

import pytest
from playhouse.migrations import MigrationError

from models import ddl
from models.base import Owned, Record, new_id, now
from models.catalog import look
from models.engine.connect import open_database
from models.engine.errors import AlreadyExists, InvalidReference
from models.tables.tenant import Tenant
from tests.databases import new_database

pytestmark = pytest.mark.both_databases


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    found = open_database(new_database(request.param, request), pool_size=1, synchronous="normal",
                          statement_timeout=10)
    with found.connected():
        yield found
    found.close_all()


def make(database, **more):
    ddl.table(database, "shelves", "name {key} NOT NULL", "wide {bool} NOT NULL", "UNIQUE (tenant_id, name)", **more)


def test_a_table_has_the_columns_of_every_row_by_itself(database):
    make(database)
    ddl.table(database, "boards", "name {key}", owned=False)
    found = look(database, ["shelves", "boards"])
    assert set(found.columns["shelves"]) == {*Owned._meta.fields, "name", "wide"}
    assert set(found.columns["boards"]) == {*Record._meta.fields, "name"}
    assert [name for name, one in found.columns["shelves"].items() if not one.strict] == ["owner_id", "department"]
    assert not any(one.demanded for name, one in found.columns["shelves"].items() if name in ("owner_id", "department"))
    assert found.columns["shelves"]["name"].demanded


def test_a_table_has_the_indexes_that_every_list_wants(database):
    make(database)
    found = look(database, ["shelves"])
    assert found.serves("shelves", ("created_at", "id"))
    assert found.serves("shelves", ("-created_at", "-id"))
    assert found.serves("shelves", ("owner_id", "created_at"))
    assert not found.serves("shelves", ("updated_at", "id"))
    assert not found.serves("shelves", ("created_at", "-id"))


@pytest.mark.parametrize(("order", "served", "not_served"), [
    ("updated_at", ("-updated_at", "-id"), ("updated_at", "-id")),
    ("name,-created_at", ("name", "-created_at", "-id"), ("name", "created_at", "id")),
    ("-wide, name", ("wide", "-name", "-id"), ("wide", "name", "id")),
])
def test_an_index_serves_the_order_that_it_is_written_as(database, order, served, not_served):
    make(database)
    ddl.index(database, "shelves", order)
    found = look(database, ["shelves"])
    assert found.serves("shelves", served)
    assert not found.serves("shelves", not_served)


def test_an_index_of_some_rows_or_of_an_expression_serves_no_order(database):
    make(database)
    ddl.run(database, "CREATE INDEX partly ON shelves (tenant_id, name, id) WHERE name <> ''",
            "CREATE INDEX lowered ON shelves (tenant_id, lower(department), id)")
    found = look(database, ["shelves"])
    assert not found.serves("shelves", ("name", "id"))
    assert not found.serves("shelves", ("department", "id"))


def test_all_of_it_can_be_run_again(database):
    for _ in range(2):
        make(database)
        ddl.index(database, "shelves", "updated_at")
        ddl.index(database, "shelves", "name", unique=True)
        ddl.searchable(database, "shelves", ("name",))
        ddl.loadable(database, "shelves")


def test_a_unique_index_is_of_one_tenant(database):
    ddl.table(database, "labels", "word {key} NOT NULL", owned=False)
    ddl.index(database, "labels", "word", unique=True)
    here, there = Tenant.add("here"), Tenant.add("there")

    def add(tenant):
        values = f"'{new_id()}', '{tenant.id}', 1, '{now()}', '{now()}', 'red'"
        database.execute_sql(f"INSERT INTO labels (id, tenant_id, version, created_at, updated_at, word) "
                             f"VALUES ({values})")

    add(here)
    add(there)
    with pytest.raises(AlreadyExists), database.atomic():
        add(here)


def test_no_row_belongs_to_a_user_of_another_tenant(database):
    make(database)
    tenant = Tenant.add("here")
    values = f"'{new_id()}', '{tenant.id}', 1, '{now()}', '{now()}', '{new_id()}', 'x', {ddl_true(database)}"
    with pytest.raises(InvalidReference), database.atomic():
        database.execute_sql(f"INSERT INTO shelves (id, tenant_id, version, created_at, updated_at, owner_id, name, "
                             f"wide) VALUES ({values})")


REFERS = "FOREIGN KEY (tenant_id, shelf_id) REFERENCES {} (tenant_id, id) ON DELETE RESTRICT"


def of_ids(database, table):
    """Returns the unique indexes of a table's ids with their tenant."""
    return [index for index in database.get_indexes(table) if index.unique and index.columns == ["tenant_id", "id"]]


def test_what_a_table_refers_to_becomes_unique_with_its_tenant(database):
    make(database)
    assert of_ids(database, "shelves") == []
    for _ in range(2):
        ddl.table(database, "boards", "shelf_id {id} NOT NULL", REFERS.format("shelves"))
    ddl.table(database, "boxes", "shelf_id {id} NOT NULL", REFERS.format("shelves").lower())
    assert len(of_ids(database, "shelves")) == 1
    assert of_ids(database, "boards") == []
    assert look(database, ["shelves", "boards"]).loose == ()


def test_what_is_unique_already_gets_no_second_index(database):
    before = len(database.get_indexes("categories"))
    ddl.table(database, "boards", "shelf_id {id} NOT NULL", REFERS.format("categories"))
    assert len(database.get_indexes("categories")) == before


@pytest.mark.parametrize("said", [(), ("UNIQUE (tenant_id, id)",)])
def test_a_table_may_refer_to_itself(database, said):
    ddl.table(database, "shelves", "shelf_id {id}", REFERS.format("shelves"), *said)
    assert len(of_ids(database, "shelves")) == 1
    assert look(database, ["shelves"]).loose == ()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)  # Postgres makes no such key
def test_a_foreign_key_to_what_is_not_unique_is_seen_from_both_of_its_tables(database):
    make(database)
    ddl.run(database, "CREATE TABLE boards (id {id} PRIMARY KEY, tenant_id {id}, shelf_id {id}, other {id}, "
                      f"{REFERS.format('shelves')}, FOREIGN KEY (other) REFERENCES Shelves)")
    for table in ("shelves", "boards"):
        loose, = look(database, [table]).loose
        assert (loose.table, loose.parent, loose.columns) == ("boards", "shelves", ("tenant_id", "id"))
    assert look(database, ["users"]).loose == ()


def ddl_true(database):
    return (ddl.SQLITE if database.dialect == "sqlite" else ddl.POSTGRES)["true"]


@pytest.mark.parametrize(("work", "sentence"), [
    (lambda db: ddl.table(db, "users", "colour {key}"), "a table users already, which lacks the column colour"),
    (lambda db: ddl.table(db, "tenants", owned=False), "a table tenants already, which lacks the column tenant"),
    (lambda db: ddl.table(db, "no table", "name {key}"), "'no table' is no name"),
    (lambda db: ddl.index(db, "shelves", "name; DROP TABLE users"), "is no name for a table, a column or an index"),
    (lambda db: ddl.index(db, "shelves", "created_at", name="x" * 64), "is longer than 63 characters"),
    (lambda db: ddl.run(db, "ALTER TABLE shelves ADD made {tiem}"), r"a word in braces that is none \('tiem'\); known "
     r"are \{id\}, \{time\}, .*, and \{\{ and \}\} are written for braces of SQL"),
    (lambda db: ddl.table(db, "racks", "made {tiem}"), "a word in braces that is none"),
    (lambda db: ddl.run(db, "SELECT '{}'"), "a word in braces that is none"),
    (lambda db: ddl.run(db, "SELECT '{'"), "a word in braces that is none"),
    (lambda db: ddl.table(db, "boards", "shelf_id {id}", REFERS.format("shelfs")),
     "there is no table shelfs, which boards refers to; make it before"),
])
def test_what_cannot_be_made_is_a_sentence(database, work, sentence):
    with pytest.raises(MigrationError, match=sentence):
        work(database)
