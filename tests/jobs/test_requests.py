"""`Prefer: respond-async`: imports and exports as jobs, with the permissions of the caller."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.http.operations import housekeeping
from gatepost.jobs import requests, task
from models.base import Rows, later, new_id
from models.tables import job_queue
from models.tables.article import Article
from models.tables.audit import Audit
from models.tables.job import Job
from models.tables.job_chunk import SIZE, JobChunk
from models.tables.service_token import ServiceToken
from models.tables.user import User

ASYNC = {"Prefer": "respond-async"}
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def services(app, given):
    found = app.extensions["gatepost"]
    given.database.transact(lambda: (JobChunk.delete().execute(), Job.delete().execute()))
    housekeeping.delete_expired(given.database)
    return found


@pytest.fixture
def editor(as_user, services):
    return as_user("editor")


def lines(*slugs, **values):
    return b"\n".join(json.dumps({"title": slug, "slug": slug, "body": "Words.", **values}).encode() for slug in slugs)


def send(caller, data, query="", **headers):
    return caller.post(f"/api/articles/import{query}", data=data, headers={**NDJSON, **ASYNC, **headers})


def export(caller, query="", **headers):
    return caller.get(f"/api/articles/export{query}", headers={**ASYNC, **headers})


def ended(services, caller, asked):
    """Runs the job of an answer, and returns it."""
    assert asked.status_code == 202, asked.text
    services.jobs.run_due()
    return caller.get(asked.headers["Location"]).json


def change(given, model, id, **values):
    given.database.transact(lambda: model.update(**values).where(model.id == id).execute())


def files_of(given):
    """The number of chunks of exported files."""
    with given.database.files.connected():
        return Rows(JobChunk, given.tenant_id).select().count()


def count(given, model, *where):
    with given.database.connected():
        return Rows(model, given.tenant_id).select().where(*where).count()


def failure(job):
    return job["state"], job["result"]["status"], job["result"]["code"]


def test_an_import_is_answered_with_its_job_and_done_later(services, editor, given):
    asked = send(editor, lines("later-1", "later-2"))
    assert (asked.status_code, asked.headers["Preference-Applied"]) == (202, "respond-async")
    assert asked.headers["Location"] == f"/api/jobs/{asked.json['id']}"
    assert asked.json == editor.get(asked.headers["Location"]).json
    assert (asked.json["kind"], asked.json["state"]) == ("articles.import", "waiting")
    assert count(given, Article, Article.slug == "later-1") == 0
    job = ended(services, editor, asked)
    assert (job["state"], job["progress"]) == ("done", 2)
    assert job["result"] == {"imported": 2, "updated": 0, "failed": 0, "errors": []}
    assert count(given, Article, Article.slug == "later-1", Article.owner_id == editor.id) == 1
    assert count(given, JobChunk) == 0


def test_the_trail_tells_who_asked_for_it_and_that_it_was_done(services, editor, given):
    job = ended(services, editor, send(editor, lines("told")))
    with given.database.connected():
        reasons = [row.reason for row in Audit.select().where(
            Audit.principal == f"user:{editor.id}", Audit.action == "import").order_by(Audit.time)]
    assert [reason.rpartition(", ")[2] for reason in reasons] == [f"asked for job {job['id']}", f"job {job['id']}"]


@pytest.mark.parametrize("prefer", ["respond-async", "RESPOND-ASYNC, wait=10", "count=none,respond-async; x=1",
                                    'foo="a, b", respond-async', "respond-async="])
def test_the_preference_is_found_among_others(prefer, services, editor):
    assert export(editor, Prefer=prefer).status_code == 202


@pytest.mark.parametrize("prefer", ["wait=10", 'foo="a, respond-async"', "respond-async=no",
                                    "respond-asynchron", ";", ""])
def test_what_is_another_preference_is_passed_over(prefer, services, editor):
    assert export(editor, Prefer=prefer).status_code == 200


def test_head_asks_for_no_job(services, editor, given):
    assert editor.call("HEAD", "/api/articles/export", headers=ASYNC).status_code == 200
    assert count(given, Job) == 0


@pytest.mark.parametrize(("query", "headers", "status"), [
    ("?key=title", {}, 400), ("?nonsense=1", {}, 400), ("", {"Content-Type": "text/plain"}, 415)])
def test_an_import_that_cannot_begin_is_refused_at_once(query, headers, status, services, editor, given):
    assert send(editor, lines("never"), query, **headers).status_code == status
    assert (count(given, Job), count(given, JobChunk)) == (0, 0)


@pytest.mark.parametrize(("query", "headers", "status"), [
    ("?sort=nonsense", {}, 400), ("?nonsense=1", {}, 400), ("", {"Accept": "image/png"}, 406)])
def test_an_export_that_cannot_begin_is_refused_at_once(query, headers, status, services, editor, given):
    assert export(editor, query, **headers).status_code == status
    assert count(given, Job) == 0


def test_guests_and_who_may_not_are_refused_at_once(services, as_role):
    assert export(as_role("guest")).status_code == 401
    assert send(as_role("user"), lines("never")).status_code == 403


def test_a_body_over_the_limit_leaves_nothing(services, editor, given):
    object.__setattr__(services.settings, "import_limit", 2000)
    try:
        assert send(editor, lines(*(f"long-{n}" for n in range(100)))).status_code == 413
    finally:
        object.__setattr__(services.settings, "import_limit", 32 * 2**20)
    assert (count(given, Job), count(given, JobChunk)) == (0, 0)


def test_a_repeated_key_asks_for_one_job(services, editor, given):
    first, again = (send(editor, lines("once"), **{"Idempotency-Key": "one"}) for _ in range(2))
    assert (first.json, first.headers["Location"]) == (again.json, again.headers["Location"])
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (202, "true")
    assert (count(given, Job), count(given, JobChunk)) == (1, 1)
    assert send(editor, lines("twice"), **{"Idempotency-Key": "one"}).status_code == 422
    assert count(given, JobChunk) == 1


def test_failing_lines_fail_the_job_and_import_nothing(services, editor, given):
    job = ended(services, editor, send(editor, lines("fine") + b"\nnonsense"))
    assert failure(job) == ("failed", 400, "invalid_body")
    assert [fault["meta"]["line"] for fault in job["result"]["errors"]] == [2]
    assert count(given, Article, Article.slug == "fine") == 0


def test_lines_may_be_skipped_and_faults_come_in_the_language_that_was_asked_for(services, editor):
    job = ended(services, editor, send(editor, lines("kept") + b"\nnonsense", "?on_error=skip",
                                       **{"Accept-Language": "de"}))
    assert (job["state"], job["result"]["imported"], job["result"]["failed"]) == ("done", 1, 1)
    english = editor.post("/api/articles/import?on_error=skip", data=b"nonsense", headers=NDJSON).json
    assert job["result"]["errors"][0]["detail"] != english["errors"][0]["detail"]


def test_users_are_imported_at_once_because_their_passwords_are_not_to_be_stored(services, as_role, given):
    answer = as_role("admin").post("/api/users/import", data=b"{}", headers={**NDJSON, **ASYNC})
    assert answer.status_code == 400
    assert (count(given, Job), count(given, JobChunk)) == (0, 0)


# Rights of when it runs

def disable(given, caller):
    change(given, User, caller.id, active=False)


def lower(given, caller):
    change(given, User, caller.id, role="user")


@pytest.mark.parametrize(("happens", "status"), [(disable, 401), (lower, 403)])
def test_an_import_has_the_rights_of_the_time_when_it_runs(happens, status, services, as_user, as_role, given):
    caller = as_user("editor")
    asked = send(caller, lines(f"rights-{status}"))
    happens(given, caller)
    job = ended(services, as_role("owner"), asked)
    assert failure(job)[:2] == ("failed", status)
    assert count(given, Article, Article.slug == f"rights-{status}") == 0


def test_a_job_keeps_to_the_scopes_that_it_was_asked_for_with(services, as_user, given):
    asked = export(as_user("editor", scope="read:articles"))
    assert given.found(Job, asked.json["id"]).scopes == ["read:articles"]
    change(given, Job, asked.json["id"], scopes=[])
    services.jobs.run_due()
    job = given.found(Job, asked.json["id"])
    assert (job.state, job.result["code"]) == ("failed", "insufficient_scope")


@pytest.mark.parametrize("happens", ["revoked", "expired", "narrowed"])
def test_a_service_token_must_still_be_good(happens, services, as_user, given):
    user = as_user("editor")
    token = given.service_token(user.user, scopes=["read:articles"])
    asked = export(user)
    change(given, Job, asked.json["id"], token_id=token.id, scopes=["read:articles"])
    if happens == "revoked":
        given.database.transact(lambda: ServiceToken.delete().where(ServiceToken.id == token.id).execute())
    else:
        change(given, ServiceToken, token.id,
               **({"expires_at": later(-1)} if happens == "expired" else {"scopes": ["read:pages"]}))
    code = {"revoked": "invalid_token", "expired": "token_expired", "narrowed": "insufficient_scope"}[happens]
    assert failure(ended(services, user, asked))[::2] == ("failed", code)


def test_an_import_whose_body_is_gone_fails(services, editor, given):
    asked = send(editor, lines("lost"))
    given.database.transact(lambda: JobChunk.delete().execute())
    assert failure(ended(services, editor, asked)) == ("failed", 410, "gone")


# Files

def test_an_export_leaves_a_file_that_says_what_an_export_says(services, editor, given):
    for _ in range(3):
        given.article()
    asked = export(editor, "?fields=slug,title", Accept="text/csv")
    assert editor.get(f"{asked.headers['Location']}/file").status_code == 404
    job = ended(services, editor, asked)
    file = editor.get(f"/api/jobs/{job['id']}/file")
    whole = editor.get("/api/articles/export?fields=slug,title", headers={"Accept": "text/csv"})
    assert (file.status_code, file.data) == (200, whole.data)
    assert file.headers["Content-Disposition"] == 'attachment; filename="articles.csv"'
    assert file.headers["Content-Type"] == whole.headers["Content-Type"]
    assert job["result"] == {"rows": job["progress"], "bytes": len(whole.data), "media_type": "text/csv"}


def test_a_file_of_several_chunks_is_whole_and_begun_anew_by_another_attempt(services, editor, given):
    for _ in range(3):
        given.article(body="x" * 200_000)
    asked = export(editor, "?status=published")
    id = asked.json["id"]
    given.database.transact(lambda: Rows(JobChunk, given.tenant_id).insert(
        JobChunk(job_id=id, owner_id=editor.id, number=0, size=4, data=b"left")))
    job = ended(services, editor, asked)
    assert files_of(given) == -(-job["result"]["bytes"] // SIZE) > 1
    assert editor.get(f"/api/jobs/{id}/file").data == editor.get("/api/articles/export?status=published").data


def test_only_who_asked_for_it_gets_the_file(services, editor, as_role, as_user):
    job = ended(services, editor, export(editor))
    assert as_role("admin").get(f"/api/jobs/{job['id']}/file").status_code == 403
    assert as_user("editor").get(f"/api/jobs/{job['id']}/file").status_code == 404
    assert as_role("owner", tenant="other").get(f"/api/jobs/{job['id']}/file").status_code == 404


@pytest.mark.parametrize("changed", [{"role": "user"}, {"department": "far away"}, {"groups": ["new"]}])
def test_a_file_is_for_the_rights_that_it_was_made_with(changed, services, as_user, given):
    caller = as_user("editor")
    job = ended(services, caller, export(caller))
    assert caller.get(f"/api/jobs/{job['id']}/file").status_code == 200
    change(given, User, caller.id, **changed)
    assert caller.get(f"/api/jobs/{job['id']}/file").status_code == 403


def test_a_file_is_kept_for_a_day(services, editor, given):
    job = ended(services, editor, export(editor))
    housekeeping.delete_expired(given.database)
    assert files_of(given) > 0
    change(given, Job, job["id"], expires_at=later(-1), done_at=later(-25 * 3600))
    assert editor.get(f"/api/jobs/{job['id']}/file").json["code"] == "gone"
    housekeeping.delete_expired(given.database)
    assert files_of(given) == 0


def test_chunks_of_no_job_are_deleted_after_an_hour(services, editor, given):
    for id in ("01930000-0000-7000-8000-000000000001", new_id()):
        given.row(JobChunk(job_id=id, owner_id=editor.id, number=0, size=1, data=b"x"))
    housekeeping.delete_expired(given.database)
    assert count(given, JobChunk) == 1


def test_a_quota_bounds_the_files_of_one_user(services, editor, as_user, given):
    object.__setattr__(services.settings, "job_quota", 60)
    try:
        assert send(editor, lines("a", "b", "c")).json["code"] == "conflict"
        assert (count(given, Job), count(given, JobChunk)) == (0, 0)
        assert send(editor, lines("a")).status_code == 202
        assert send(editor, lines("b")).status_code == 409
        assert send(as_user("editor"), lines("c")).status_code == 202
        given.article(body="x" * 200)
        asked = export(editor)
        assert failure(ended(services, editor, asked)) == ("failed", 409, "conflict")
    finally:
        object.__setattr__(services.settings, "job_quota", 256 * 2**20)


# While it runs

def stop_in(services, monkeypatch, given, id, happens):
    """Changes the job when it has begun, and makes every check of it read the database."""
    monkeypatch.setattr(task, "NOTED", 0.0)
    begun = []

    def check(self, checked=task.Task.check):
        if not begun:
            begun.append(self)
            change(given, Job, id, **happens)
        checked(self)

    monkeypatch.setattr(task.Task, "check", check)
    services.jobs.run_due()
    assert begun
    return given.found(Job, id)


def test_an_import_that_is_cancelled_while_it_runs_leaves_nothing(services, editor, given, monkeypatch):
    id = send(editor, lines("half-1", "half-2")).json["id"]
    assert stop_in(services, monkeypatch, given, id, {"stopping": True}).state == "cancelled"
    assert count(given, Article, Article.slug.startswith("half-")) == 0


def test_an_export_whose_lease_is_another_process_s_stores_no_more(services, editor, given, monkeypatch):
    given.article()
    id = export(editor).json["id"]
    with given.database.connected():
        lease = f"{job_queue.moment(given.database).epoch}/other"
    assert stop_in(services, monkeypatch, given, id, {"lease": lease, "leased_until": 9e15}).state == "running"
    with given.database.files.connected():
        assert Rows(JobChunk, given.tenant_id).select().where(JobChunk.job_id == id).count() == 0


def test_a_job_that_is_deleted_while_it_runs_ends(services, editor, given, monkeypatch):
    asked = send(editor, lines("deleted"))
    monkeypatch.setattr(task, "NOTED", 0.0)

    def check(self, checked=task.Task.check):
        given.database.transact(lambda: Job.delete().execute())
        checked(self)

    monkeypatch.setattr(task.Task, "check", check)
    services.jobs.run_due()
    assert editor.get(asked.headers["Location"]).status_code == 404
    assert count(given, Article, Article.slug == "deleted") == 0


def test_a_user_who_is_disabled_while_their_import_runs_imports_nothing(services, as_user, given, monkeypatch):
    caller = as_user("editor")
    id = send(caller, lines("gone-meanwhile")).json["id"]

    def check(self):
        if not given.database.in_transaction():
            disable(given, caller)

    monkeypatch.setattr(task.Task, "check", check)
    services.jobs.run_due()
    assert (given.found(Job, id).state, given.found(Job, id).result["code"]) == ("failed", "invalid_token")
    assert count(given, Article, Article.slug == "gone-meanwhile") == 0


def test_two_requests_at_the_edge_of_a_quota_do_not_both_pass(services, editor, given):
    data = lines("edge")
    object.__setattr__(services.settings, "job_quota", len(data) * 3 + 1)
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: send(editor, data).status_code, range(8)))
    finally:
        object.__setattr__(services.settings, "job_quota", 256 * 2**20)
    assert set(answers) <= {202, 409, 503}
    assert count(given, Job) == count(given, JobChunk) == answers.count(202) <= 3


def test_an_import_that_is_done_later_is_followed_by_its_events(services, editor, given, monkeypatch):
    monkeypatch.setitem(vars(services.registry), "subscribers", {"articles.created": ["test.follow"]})
    assert ended(services, editor, send(editor, lines("followed")))["state"] == "done"
    with given.database.connected():
        row = Rows(Article, given.tenant_id).find_by(slug="followed")
        followed = [job.payload for job in Job.select().where(Job.kind == "test.follow")]
    assert followed == [{"event": "articles.created", "ids": [row.id]}]


def test_one_user_has_so_many_jobs_that_wait_or_run_and_no_more(services, editor, as_user, given, monkeypatch):
    monkeypatch.setattr(requests, "MOST_UNFINISHED", 2)
    assert [export(editor).status_code for _ in range(2)] == [202, 202]
    for asked in (export(editor), send(editor, lines("one-too-many"))):
        assert (asked.status_code, asked.json["code"]) == (409, "conflict")
    assert (count(given, Job), count(given, JobChunk)) == (2, 0)
    assert export(as_user("editor")).status_code == 202, "it is each user's own"
    services.jobs.run_due()
    assert export(editor).status_code == 202
