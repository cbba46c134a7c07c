"""A sample of `python -m tests.incidents.backup_kills`: the whole campaign kills hundreds of times."""

from __future__ import annotations

import pytest

from tests.incidents.backup_kills import kill_backup, kill_restore, run, staged

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_restore_that_is_killed_leaves_the_old_instance_or_the_new_one(dialect, request, tmp_path):
    server = request.getfixturevalue("postgres_server") if dialect == "postgres" else None
    with staged(tmp_path, server) as stage:
        steps, _ = run(stage.instance, stage.restore())
        # The first steps prepare the restore, the last ones put it in place.
        found = [kill_restore(stage, step=steps * part // 100) for part in (30, 90, 95, 98)]
    assert set(found) <= {"old", "new"}


def test_a_backup_that_is_killed_leaves_nothing_under_its_name_or_a_whole_archive(tmp_path):
    with staged(tmp_path, None) as stage:
        steps, _ = run(stage.instance, ["backup", str(tmp_path / "whole.tar.gz")])
        found = [kill_backup(stage, tmp_path / "b.tar.gz", step=steps * part // 100) for part in (50, 99)]
    assert set(found) <= {"none", "whole"}
