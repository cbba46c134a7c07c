"""The page benchmark: it runs, reads the right pages, and draws a valid picture."""

import json
from xml.etree import ElementTree

import pytest

from benchmarks import pages

pytestmark = pytest.mark.slow

WAYS = {(caller, way) for caller in pages.CALLERS for way in ("forward", "backward")}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = pages.make_app(folder / "instance", f"sqlite:///{folder / 'pages.db'}")
    yield made
    made.extensions["gatepost"].stop()


@pytest.fixture(scope="module")
def world(app):
    return pages.filled(app, rows=60)


def test_every_caller_is_measured_in_both_directions(app, world):
    costs = pages.measure(app, world, seconds=0.01)
    assert set(costs) == {*WAYS, ("all", "OFFSET")}
    assert all(set(line) == ({40} if way == "backward" else {1, 40}) for (_, way), line in costs.items())
    drawn = ElementTree.fromstring(pages.picture({"sqlite": costs, "postgres": costs}))
    lines = [one for one in drawn.iter() if one.get("stroke-width") == "2"]
    assert len(lines) == (2 + 1) * len(costs)  # a line in each panel, and one in the legend


def test_a_page_begins_at_its_depth_and_shows_what_its_caller_may_see(app, world):
    database, mine = app.extensions["gatepost"].database, world.users
    with database.connected():
        newest_first = database.query("SELECT id, status, owner_id FROM articles ORDER BY created_at DESC, id DESC")
    sees = {"all": lambda status, owner: True,
            "published or own": lambda status, owner: status == "published" or owner == mine["published or own"],
            "five rows": lambda status, owner: owner == mine["five rows"]}
    for caller, may in sees.items():
        for (way, depth), read in pages.pages(app, world, caller):
            rows = newest_first[depth - 1:] if way == "forward" else newest_first[::-1][depth - 1:]
            wanted = [id for id, status, owner in rows if may(status, owner)][:20]
            shown = [item["id"] for item in json.loads(read()[1])["items"]]
            assert shown == (wanted if way == "forward" else wanted[::-1])
