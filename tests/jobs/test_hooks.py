"""The hooks of plugins: `prepare` before a transaction, `@on` after its commit, `@every` by the clock."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime

import pytest

from gatepost import Problem
from gatepost.collections.collection import Collection
from gatepost.collections.plugins.declarations import unknown_event
from gatepost.collections.plugins.discovery import discover
from gatepost.http.request import events
from gatepost.jobs import hooks
from gatepost.jobs.hooks import Clock, Hook, every, on, tick_of
from gatepost.testing.serving import run_jobs
from models.tables.audit import Audit
from models.tables.category import Category
from models.tables.job import Job
from models.tables.page import Page
from tests.apps import close, fresh_registry, make_app

seen = []


@on("categories.created", "categories.updated", "categories.deleted")
def follow(task):
    """A subscriber of each test."""
    seen.append((task.payload["event"], task.payload["ids"]))


@on("pages.publish")
def look(task):
    """Reads outside of a transaction, by an id and by a query, and writes in one."""
    rows = task.rows(Page)
    page = rows.find(task.payload["ids"][0])
    seen.extend([page.title, [one.id for one in rows.select().where(Page.title == page.title)]])
    task.once("rename", lambda: rows.change({Page.title: "Seen"}, Page.id == page.id))
    seen.append(rows.find(page.id).title)


@on("articles.publish")
def tell(task):
    seen.append(("articles.publish", task.payload["ids"]))


@every(hours=1)
def digest(task):
    seen.append(task.payload["tick"])


@pytest.fixture(scope="module")
def app(instance_folder, database_url):
    made = make_app(instance_folder, database_url)
    registry = made.extensions["gatepost"].registry
    subscribed = {hook.name: hook for hook in (follow, tell, look)}
    object.__setattr__(registry, "hooks", subscribed)
    vars(registry).pop("subscribers", None)
    made.extensions["gatepost"].jobs.kinds = {name: hook.run for name, hook in subscribed.items()}
    yield made
    close(made)


@pytest.fixture(autouse=True)
def nothing_seen(given):
    given.database.transact(lambda: Job.delete().execute())
    seen.clear()


def jobs(given):
    with given.database.connected():
        return [(job.kind, job.payload) for job in Job.select().order_by(Job.id)]


def add(caller, slug):
    answer = caller.post("/api/categories", {"name": slug, "slug": slug})
    assert answer.status_code == 201, answer.text
    return answer.json["id"]


def test_each_change_is_one_job_of_each_subscriber_with_the_id_of_the_row(as_role, given, app):
    manager = as_role("manager")
    id = add(manager, "told")
    manager.patch(f"/api/categories/{id}", {"name": "Other"})
    manager.patch(f"/api/categories/{id}", {})  # changes nothing
    manager.delete(f"/api/categories/{id}")
    assert seen == [], "not in the request"
    assert run_jobs(app) == 3
    assert seen == [(f"categories.{what}", [id]) for what in ("created", "updated", "deleted")]


def test_an_action_is_an_event_of_its_own(as_role, given, app):
    article = given.article("approved")
    assert as_role("editor").post(f"/api/articles/{article.id}/publish").status_code == 200
    run_jobs(app)
    assert seen == [("articles.publish", [article.id])]


def test_a_function_reads_rows_where_it_likes(as_role, given, app):
    page = given.page("draft")
    title = page.title
    assert as_role("editor").post(f"/api/pages/{page.id}/publish").status_code == 200
    run_jobs(app)
    assert seen == [title, [page.id], "Seen"]


@pytest.mark.parametrize("refused", [
    lambda caller: caller.post("/api/categories", {"name": "No slug"}),
    lambda caller: caller.post("/api/categories", {"name": "X", "slug": "taken"}),
], ids=["by its body", "by the database"])
def test_a_change_that_is_refused_is_no_event(refused, as_role, given):
    if not given.database.transact(lambda: Category.select().where(Category.slug == "taken").exists()):
        given.category(slug="taken")
    assert refused(as_role("manager")).status_code in (400, 409)
    assert jobs(given) == []


def test_the_job_is_written_in_the_transaction_of_the_change(as_role, given, monkeypatch):
    def fails(call):
        write_down(call)
        raise ZeroDivisionError

    write_down = events.write_down
    monkeypatch.setattr(events, "write_down", fails)
    manager = as_role("manager")
    assert manager.post("/api/categories", {"name": "Both", "slug": "both"}).status_code == 500
    assert (jobs(given), manager.get("/api/categories?slug=both").json["items"]) == ([], [])
    monkeypatch.undo()
    id = add(manager, "both")
    # Nothing has run it, but it is stored, should the process die now.
    assert jobs(given) == [(follow.name, {"event": "categories.created", "ids": [id]})]


def test_a_repeated_request_is_one_event(as_role, given):
    manager, headers = as_role("manager"), {"Idempotency-Key": "once"}
    for _ in range(2):
        manager.post("/api/categories", {"name": "Key", "slug": "key"}, headers=headers)
    assert len(jobs(given)) == 1


@pytest.mark.parametrize("most", [1000, 2])
def test_an_import_is_told_in_parts_of_so_many_rows(most, as_role, given, app, monkeypatch):
    monkeypatch.setattr(events, "MOST_IDS", most)
    old = given.category(slug=f"old-{most}")
    lines = [{"name": str(n), "slug": f"part-{most}-{n}"} for n in range(5)] + [{"slug": old.slug, "name": "Renamed"}]
    answer = as_role("manager").post("/api/categories/import?key=slug", data="\n".join(map(json.dumps, lines)),
                                     headers={"Content-Type": "application/x-ndjson"})
    assert answer.json["imported"] == 5, answer.text
    run_jobs(app)
    told = {}
    for event, ids in seen:
        assert len(ids) <= most
        told.setdefault(event, []).extend(ids)
    assert told["categories.updated"] == [old.id]
    assert len(set(told["categories.created"])) == 5


def test_the_trail_names_the_plugin(as_role, given, app):
    add(as_role("manager"), "trail")
    run_jobs(app)
    with given.database.connected():
        row = Audit.select().where(Audit.action == "run").order_by(Audit.id.desc()).get()
    assert (row.principal, row.resource, row.result) == (f"system:{__name__.partition('.')[0]}", "job", "allowed")
    assert row.facts == {"job": follow.name, "event": "categories.created", "count": 1}


def test_the_trail_names_the_plugin_also_where_its_function_ends_the_job_itself(as_role, given, app, monkeypatch):
    runner = app.extensions["gatepost"].jobs
    ends = Hook(lambda task: task.finish(lambda: {"done": 1}), events=follow.events)
    monkeypatch.setitem(runner.kinds, follow.name, ends.run)
    add(as_role("manager"), "ends-itself")
    run_jobs(app)
    with given.database.connected():
        job = Job.select().get()
        rows = Audit.select().where(Audit.action == "run", Audit.resource_id == job.id).count()
    assert (job.state, job.result, rows) == ("done", {"done": 1}, 1)


def test_nothing_is_noted_without_a_subscriber(as_role, given, monkeypatch, app):
    vars(app.extensions["gatepost"].registry).pop("subscribers", None)
    monkeypatch.setattr(type(app.extensions["gatepost"].registry), "subscribers", {})
    monkeypatch.setattr(events, "enqueue", None)
    add(as_role("manager"), "quiet")
    assert jobs(given) == []


@pytest.mark.parametrize(("moment", "tick"), [
    ("2026-11-23T05:59:59", "2026-11-23T05:00:00Z"), ("2026-11-23T06:00:00", "2026-11-23T06:00:00Z"),
])
def test_a_tick_is_the_last_full_interval_of_utc(moment, tick):
    assert tick_of(3600, datetime.fromisoformat(moment).replace(tzinfo=UTC)) == tick


def test_by_the_clock_each_tick_is_one_job_in_each_tenant_whichever_processes_try(given, monkeypatch):
    clocks = [Clock(given.database, [digest]) for _ in range(2)]

    def strike(moment):
        monkeypatch.setattr(hooks, "tick_of", lambda seconds, now: moment)
        for clock in (*clocks, Clock(given.database, [digest])):  # the last one has just started
            clock.strike()

    strike("2026-11-23T05:00:00Z")
    strike("2026-11-23T05:00:00Z")
    assert [payload["tick"] for _, payload in jobs(given)] == ["2026-11-23T05:00:00Z"] * 2, "default and other"
    strike("2026-11-23T09:00:00Z")  # nothing ran for some hours
    assert [payload["tick"] for _, payload in jobs(given)][2:] == ["2026-11-23T09:00:00Z"] * 2


def test_a_tick_is_not_forgotten_with_the_jobs_that_are_thrown_away(given):
    def work():
        for tick in ("2026-11-23T05:00:00Z", "2026-11-23T06:00:00Z"):
            given.job("done", kind=digest.name, tick=tick, done_at="2026-01-01T00:00:00.000000Z")
        given.job("done", done_at="2026-01-01T00:00:00.000000Z")

    work()
    assert given.database.transact(lambda: Job.purge("2026-06-01T00:00:00.000000Z", 100)) == 2
    assert [kind for kind, _ in jobs(given)] == [digest.name]


@pytest.mark.parametrize("events", [("categories.create",), ("category.created",), ("articles.shout",)])
def test_an_event_that_there_is_not_is_refused_at_start(events):
    reason = unknown_event(Hook(lambda task: None, events=events), discover().collections.values())
    assert reason.startswith(f"there is no event {events[0]!r}")


def test_what_is_near_is_suggested():
    reason = unknown_event(Hook(lambda task: None, events=("categories.create",)), discover().collections.values())
    assert "categories.created" in reason


@pytest.mark.parametrize("wrong", [
    lambda: on(), lambda: every(), lambda: every(days=400), lambda: every(minutes=-1),
    lambda: on("articles.created")(lambda: None), lambda: every(hours=1)(lambda task, more: None),
], ids=["no event", "no time", "too long", "less than nothing", "no argument", "two arguments"])
def test_a_declaration_that_cannot_work_is_refused_where_it_stands(wrong):
    with pytest.raises((TypeError, ValueError)):
        wrong()


@pytest.fixture
def prepared(app, monkeypatch):
    """An app whose categories call another service before a write: `prepared(**methods)` sets the calls."""
    services = app.extensions["gatepost"]
    shipped = type(services.collections["categories"])
    monkeypatch.setattr(shipped, "prepare", lambda self, call: None)
    with fresh_registry():
        made = make_app(services.settings.instance, services.settings.database_url)

    def set_to(caller, **methods):
        for name, method in methods.items():
            monkeypatch.setattr(shipped, name, method)
        return type(caller)(made.test_client(), caller.user, caller.token)

    yield set_to
    close(made)


def test_what_prepare_fetches_the_write_finds_and_no_writer_waits_for_it(prepared, as_role, given):
    fetching, fetched, found, answers = threading.Event(), threading.Event(), [], []

    def prepare(self, call):
        database = call.services.database
        found.append((database.in_transaction(), database.is_closed()))
        fetching.set()
        assert fetched.wait(20)
        call.prepared = "fetched"

    def create(self, call, row):
        row.name = call.prepared
        Collection.create(self, call, row)

    manager, body = prepared(as_role("manager"), prepare=prepare, create=create), {"name": "a", "slug": "slow"}
    slow = threading.Thread(target=lambda: answers.append(manager.post("/api/categories", body)))
    slow.start()
    assert fetching.wait(20)
    # During the fetch, another writer begins and finishes.
    quick = as_role("editor").post("/api/articles", {"title": "Quick", "slug": "quick", "body": "Words."})
    fetched.set()
    slow.join()
    assert quick.status_code == 201
    assert (answers[0].status_code, answers[0].json["name"]) == (201, "fetched"), answers[0].text
    assert found == [(False, True)]


@pytest.mark.parametrize(("role", "status"), [("user", 403), ("manager", 200)])
def test_a_row_is_judged_before_anything_is_fetched_for_it(role, status, prepared, as_role, given):
    found = []
    caller = prepared(as_role(role), prepare=lambda self, call: found.append(call.row.id))
    row = given.category()
    answer = caller.patch(f"/api/categories/{row.id}", {"name": "Other"})
    assert answer.status_code == status
    assert found == ([row.id] if status == 200 else [])


def test_a_version_that_is_not_there_any_more_fetches_nothing(prepared, as_role, given):
    found = []
    row, manager = given.category(), prepared(as_role("manager"), prepare=lambda self, call: found.append(1))
    assert manager.patch(f"/api/categories/{row.id}", {"name": "O"}, headers={"If-Match": '"7"'}).status_code == 412
    assert manager.delete("/api/categories/01930000-0000-7000-8000-000000000000").status_code == 404
    assert found == []


def test_a_repeated_request_fetches_nothing_again(prepared, as_role):
    found, headers = [], {"Idempotency-Key": "fetch-once"}
    manager = prepared(as_role("manager"), prepare=lambda self, call: found.append(1))
    for _ in range(2):
        assert manager.post("/api/categories", {"name": "F", "slug": "fetch"}, headers=headers).status_code == 201
    assert found == [1]


def test_prepare_may_refuse_and_a_mistake_in_it_changes_nothing(prepared, as_role):
    for error, status in ((Problem("conflict", "Not now."), 409), (ZeroDivisionError(), 500)):
        def prepare(self, call, error=error):
            raise error

        manager = prepared(as_role("manager"), prepare=prepare)
        answer = manager.post("/api/categories", {"name": "R", "slug": "refused"})
        assert answer.status_code == status
    assert manager.get("/api/categories?slug=refused").json["items"] == []


def test_each_line_of_an_import_is_prepared_for_itself(prepared, as_role):
    def prepare(self, call):
        if call.body["name"] == "bad":
            raise Problem("conflict", "Not this one.")
        call.prepared = call.body["name"].upper()

    def create(self, call, row):
        row.name = call.prepared
        Collection.create(self, call, row)

    lines = [{"name": name, "slug": f"line-{name}"} for name in ("one", "bad", "two")]
    manager = prepared(as_role("manager"), prepare=prepare, create=create)
    answer = manager.post("/api/categories/import?on_error=skip", data="\n".join(map(json.dumps, lines)),
                          headers={"Content-Type": "application/x-ndjson"})
    assert (answer.json["imported"], answer.json["errors"][0]["line"]) == (2, 2), answer.text
    names = {row["name"] for row in manager.get("/api/categories?limit=100").json["items"]}
    assert {"ONE", "TWO"} <= names
