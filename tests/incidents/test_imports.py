"""A sample of `make bench-imports`: an import makes no other writer fail, and readers see all of it or nothing."""

from __future__ import annotations

import pytest

from benchmarks.imports import SETTINGS, measure
from tests.databases import new_database
from tests.incidents.load import SERVERS
from tests.running import Instance

pytestmark = pytest.mark.slow

ROWS = 2_000


@pytest.mark.parametrize(("dialect", "server"), [
    ("sqlite", "waitress"), ("sqlite", "granian"), ("postgres", "granian")])
def test_no_writer_is_refused_and_no_reader_sees_a_part_of_an_import(dialect, server, request, tmp_path):
    url = {} if dialect == "sqlite" else {
        "GATEPOST_DATABASE_URL": new_database("postgres", request, migrated=False)}
    instance = Instance(tmp_path / "instance", {**SETTINGS, **url}).made()
    with instance.served(*SERVERS[server]) as served:
        seen = measure(served, ROWS, clients=12)
    assert seen.good(ROWS), seen
