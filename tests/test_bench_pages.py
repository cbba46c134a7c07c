"""The page benchmark still runs, reads what it says it reads, and draws a picture that a browser can read."""

from xml.etree import ElementTree

import pytest

from benchmarks import pages
from models import migrate
from models.database import open_database

ID = [column.name for column in pages.COLUMNS].index("id")


@pytest.fixture
def database(tmp_path):
    made = open_database(f"sqlite:///{tmp_path / 'pages.db'}", synchronous="normal")
    yield made
    made.close_all()


def test_a_small_run_measures_every_caller_in_both_directions(database):
    costs = pages.run(database, rows=60, seconds=0.01)
    assert set(costs) == {*((caller, way) for caller in pages.CALLERS for way in ("forward", "backward")),
                          ("all", "OFFSET")}
    assert all(set(line) == {1, 2, 40} for line in costs.values())
    drawn = ElementTree.fromstring(pages.picture({"sqlite": costs, "postgres": costs}))
    lines = [one for one in drawn.iter() if one.get("stroke-width") == "2"]
    assert len(lines) == (2 + 1) * len(costs)  # a line in each panel, and one in the legend


def test_a_page_begins_at_its_depth_counted_from_where_the_walk_begins(database):
    migrate.upgrade(database)
    with database.connected():
        world = pages.fill(database, 60)
        newest_first = [row for row, in database.query("SELECT id FROM articles ORDER BY created_at DESC, id DESC")]
        reads = dict(pages.pages(database, world, "all"))
        for depth in (1, 2, 40):
            behind = newest_first[depth - 1:depth + 19]
            assert [row[ID] for row in reads["forward", depth]().rows] == behind
            assert [row[ID] for row in reads["OFFSET", depth]()][:20] == behind
            oldest_first = newest_first[::-1][depth - 1:depth + 19]
            assert [row[ID] for row in reads["backward", depth]().rows] == oldest_first[::-1]
