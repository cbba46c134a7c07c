"""Filling tables of Postgres with unchanged rows, without triggers, foreign keys or sequences."""

from __future__ import annotations

import pytest

from models.engine.connect import open_database
from models.engine.errors import InvalidReference, NotTaken
from models.engine.postgres import filling
from tests.databases import new_database

TABLES = """
    CREATE TABLE eggs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hen bigint, text text NOT NULL,
                       length integer GENERATED ALWAYS AS (length(text)) STORED);
    CREATE TABLE hens (id serial PRIMARY KEY, egg bigint REFERENCES eggs (id), note text DEFAULT 'none');
    ALTER TABLE eggs ADD CONSTRAINT eggs_hen FOREIGN KEY (hen) REFERENCES hens (id) DEFERRABLE INITIALLY DEFERRED;
    CREATE UNIQUE INDEX eggs_text ON eggs (text) WHERE text LIKE 'a%%';
    CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.text = 'spoilt'; RETURN NEW; END $$;
    CREATE TRIGGER spoil BEFORE INSERT ON eggs FOR EACH ROW EXECUTE FUNCTION spoil();
    CREATE TRIGGER always BEFORE INSERT ON eggs FOR EACH ROW EXECUTE FUNCTION spoil();
    ALTER TABLE eggs ENABLE ALWAYS TRIGGER always;
    CREATE TRIGGER never BEFORE UPDATE ON eggs FOR EACH ROW EXECUTE FUNCTION spoil();
    ALTER TABLE eggs DISABLE TRIGGER never;
"""
SCHEMA = """
    SELECT tgname::text, tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
    UNION SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1
"""


@pytest.fixture
def database(request: pytest.FixtureRequest, postgres_server):
    found = open_database(new_database("postgres", request, migrated=False))
    with found.connected():
        for statement in TABLES.split(";\n"):
            found.execute_sql(statement)
        yield found
    found.close_all()


def test_rows_are_stored_as_they_are_and_numbers_go_on(database):
    before = database.query(SCHEMA)
    assert filling.columns(database)["eggs"] == {"id": False, "hen": False, "text": False, "length": True}
    with database.atomic(), filling.bare(database):
        assert database.fill("eggs", ("id", "hen", "text"), [(7, 3, "a"), (8, 4, "b\n\t\\N")]) == 2
        assert database.fill("hens", ("id", "egg"), iter([(3, 8), (4, None)])) == 2
    assert database.query(SCHEMA) == before
    assert database.query("SELECT * FROM eggs") == [(7, 3, "a", 1), (8, 4, "b\n\t\\N", 5)]
    assert database.query("SELECT * FROM hens") == [(3, 8, "none"), (4, None, "none")]
    assert database.query("INSERT INTO eggs (text) VALUES ('x') RETURNING id, text") == [(9, "spoilt")]
    assert database.query("INSERT INTO hens DEFAULT VALUES RETURNING id") == [(5,)]


def test_a_row_that_refers_to_none_is_named_by_its_key(database):
    with (pytest.raises(InvalidReference, match=r"^eggs: .*\(hen\)=\(3\)"), database.atomic(),
          filling.bare(database)):
        database.fill("eggs", ("id", "hen", "text"), [(7, 3, "a")])
    assert database.query("SELECT * FROM eggs") == []


@pytest.mark.parametrize(("row", "said"), [((8, 1 << 70, "b"), "bigint"), ((8, None, None), "null"),
                                           ((7, None, "b"), "unique"), ((8, None, "\0"), "NUL")])
def test_a_row_that_cannot_be_stored_is_named_by_its_place(row, said, database):
    with pytest.raises(NotTaken, match=said) as raised, database.atomic(), filling.bare(database):
        database.fill("eggs", ("id", "hen", "text"), [(7, None, "a"), row, (9, None, "c")])
    assert raised.value.number == 2
    assert database.query("SELECT * FROM eggs") == []
