"""The quota of job files, and an export that one process makes and another one sends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.testing import Caller
from models.tables.job import Job
from models.tables.job_chunk import SIZE
from tests.apps import close, make_app, new_instance
from tests.jobs.exports import ASYNC, NDJSON, chunks, done, emptied, export, file, quota, state

pytestmark = pytest.mark.both_databases


@pytest.fixture
def services(app, given):
    return emptied(app, given)


@pytest.fixture
def editor(as_user, services):
    return as_user("editor")


def test_an_export_beyond_the_quota_is_refused_before_there_is_a_job(services, editor, as_user, given):
    _, size = done(services, editor)
    with quota(services, size):
        used_up = export(editor, "?status=published")
        assert (used_up.status_code, used_up.json["code"]) == (409, "conflict")
        assert "deleted a day after" in used_up.json["detail"]
        german = editor.get("/api/articles/export", headers={**ASYNC, "Accept-Language": "de"})
        assert "Tag" in german.json["detail"]
        assert export(as_user("editor")).status_code == 202, "it is each user's own"
    with quota(services, 2 * size - 1):
        assert export(editor).status_code == 409, "the same one was so long just now"
        assert export(editor, "?fields=id").status_code == 202, "another one may be shorter"
    with given.database.connected():
        assert Job.select().where(Job.owner_id == editor.id).count() == 2


def test_two_requests_at_once_for_the_last_room_do_not_both_pass(services, editor, given):
    _, size = done(services, editor)
    with quota(services, 3 * size), ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: export(editor).status_code, range(6)))
        assert set(answers) <= {202, 409, 503} and answers.count(202) <= 2
        answers += [export(editor).status_code for _ in range(2)]
        assert answers.count(202) == 2
        services.jobs.run_due()
    with given.database.connected():
        assert {job.state for job in Job.select()} == {"done"}, "what was accepted is made"


def test_an_export_that_turns_out_too_long_fails_once_and_leaves_no_file(services, editor, given):
    with quota(services, SIZE + 1000):
        asked = export(editor)
        services.jobs.run_due()
        assert state(given, asked.json["id"]) == ("failed", 409)
        assert [chunks(place) for place in given.database.with_files()] == [0] * len(given.database.with_files())
        assert export(editor).status_code == 409
    assert done(services, editor)[1] > SIZE, "with more room it is accepted again"


def test_a_job_that_is_deleted_makes_room_at_once(services, editor):
    id, size = done(services, editor)
    with quota(services, size + 10):
        assert export(editor, "?fields=id").status_code == 202
        assert export(editor, "?fields=slug").status_code == 202
        assert export(editor).status_code == 409
        assert editor.delete(f"/api/jobs/{id}").status_code == 204
        assert export(editor).status_code == 202


def test_bodies_of_imports_and_files_of_exports_share_one_quota(services, editor):
    _, size = done(services, editor)
    with quota(services, size + 10):
        sent = editor.post("/api/articles/import", data=b'{"title": "long enough"}', headers={**NDJSON, **ASYNC})
        assert (sent.status_code, sent.json["code"]) == (409, "conflict")


def test_what_one_node_has_made_another_one_sends(services, editor, instance_folder, database_url, tmp_path):
    other = make_app(new_instance(tmp_path / "instance", database_url, keys=instance_folder / "secret.key"),
                     database_url)
    try:
        id, size = done(services, editor)
        there = Caller(other.test_client(), editor.user, editor.token)
        assert len(file(there, id).data) == size and file(there, id).data == file(editor, id).data
        id, size = done(other.extensions["gatepost"], there)
        assert len(file(editor, id).data) == size
    finally:
        close(other)
