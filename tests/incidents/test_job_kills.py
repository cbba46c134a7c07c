"""A sample of `make bench-jobs`: no job is lost and no effect done twice, whenever its process is killed."""

from __future__ import annotations

import pytest

from benchmarks.hostile.dying import POINTS
from benchmarks.job_kills import SERVERS, campaign
from models.engine.connect import open_database
from tests.databases import new_database
from tests.running import Instance

pytestmark = pytest.mark.slow

JOBS = 12


@pytest.mark.parametrize(("server", "dialect"), [("worker", "sqlite"), ("worker", "postgres")])
def test_each_job_has_each_of_its_effects_once_though_its_process_is_killed(server, dialect, request, tmp_path):
    url = (new_database("postgres", request, migrated=False) if dialect == "postgres"
           else f"sqlite:///{tmp_path / 'instance' / 'gatepost.db'}")
    instance = Instance(tmp_path / "instance", {"GATEPOST_DATABASE_URL": url}).made()
    database = open_database(url, pool_size=4)
    found = campaign(instance, database, SERVERS[server], jobs=JOBS, kills=len(POINTS), seed=1, each_point=True)
    database.close_all()
    assert found.kills == dict.fromkeys(POINTS, 1)
    assert found.good(JOBS), found
