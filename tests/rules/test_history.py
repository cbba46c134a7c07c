"""The policy history: every policy that was in force, once, in the order of time, despite database failures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import peewee as pw
import pytest

from gatepost.http.request import audit
from gatepost.rules import history as history_module
from gatepost.rules.history import WAITING, HistoryWriter
from models.base import later, now
from models.tables import policy_version
from models.tables.audit import Audit, Retention, of_tenant
from models.tables.policy_version import PolicyVersion
from tests.apps import close, make_app, new_instance
from tests.databases import new_database


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    return new_database(request.param, request)


@pytest.fixture
def instance(tmp_path, url):
    return new_instance(tmp_path / "instance", url, "default")


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Waits for a row as long as a busy machine needs."""
    monkeypatch.setattr(history_module, "PATIENCE", 60.0)


@pytest.fixture
def app(instance, url):
    made = make_app(instance, url)
    yield made
    close(made)


@pytest.fixture
def services(app):
    return app.extensions["gatepost"]


def writer_of(services, instance) -> HistoryWriter:
    return HistoryWriter(services.database, instance, services.registry.vocabulary, services.guest_tenant,
                  services.registry.plugin_policies, instance / "policies")


def edit(instance: Path, comment: str, line: str = "") -> None:
    file = instance / "policies" / "articles.csv"
    file.write_text(file.read_text().replace("# end", f"# {comment}\n{line}# end"))


def told(services):
    """Returns (version, cause, late) of each row, the oldest first."""
    with services.database.connected():
        return [(row.version, row.cause, row.late) for row in reversed(list(policy_version.listed()))]


def test_a_start_and_every_change_of_the_files_are_written_down_with_the_files(services, instance):
    first = services.policy.current.version
    edit(instance, "one")
    second = services.policy.reload().version
    assert told(services) == [(first, "start", False), (second, "files", False)]
    with services.database.connected():
        row = policy_version.named(second[:8])
        assert row is not None and row.files.keys() == services.policy.current.files.keys()
        assert row.files["articles.csv"].endswith("# one\n# end\n")
        assert policy_version.named(second[:7]) is None and policy_version.named("%" * 8) is None


def test_a_refusal_is_of_the_policy_that_decided_it_though_another_comes_into_force_meanwhile(
        app, services, instance, monkeypatch):
    first, note = services.policy.current.version, audit.note_refusal

    def overtaken(call, problem):
        edit(instance, "one")
        assert services.policy.reload().version != first
        note(call, problem)

    monkeypatch.setattr(audit, "note_refusal", overtaken)
    assert app.test_client().post("/api/articles", json={}).status_code == 401
    services.audit_writer.flush(early=True)
    with services.database.connected():
        [row] = of_tenant(services.guest_tenant).where(Audit.result == "refused")
    assert (row.resource, row.policy_version) == ("article", first)


def test_one_refusal_under_two_policies_is_two_rows_each_with_its_facts(app, services, instance):
    versions = []
    for comment in ("one", "two"):
        edit(instance, comment)
        versions.append(services.policy.reload().version)
        for _ in range(2):
            assert app.test_client().post("/api/articles", json={}).status_code == 401
    services.audit_writer.flush(early=True)
    with services.database.connected():
        rows = list(of_tenant(services.guest_tenant).where(Audit.result == "refused").order_by(Audit.seq))
    counted = Counter[str | None]()
    for row in rows:  # more than two if the background task that stores refusals ran in between
        counted[row.policy_version] += row.count
    assert list(counted.items()) == [(version, 2) for version in versions]
    first = {row.policy_version: row.facts for row in reversed(rows)}
    assert None not in first.values()


def test_a_policy_that_comes_back_has_a_row_again(services, instance):
    first = services.policy.current.version
    before = (instance / "policies" / "articles.csv").read_text()
    edit(instance, "one")
    second = services.policy.reload().version
    (instance / "policies" / "articles.csv").write_text(before)
    assert services.policy.reload().version == first
    assert [version for version, _, _ in told(services)] == [first, second, first]


def test_a_broken_edit_was_never_in_force(services, instance):
    before = told(services)
    edit(instance, "one", "p, guest, artcle.view, published, allow\n")
    services.policy.reload()
    assert told(services) == before


@pytest.mark.both_databases
def test_of_several_processes_that_see_a_change_one_writes_it_down(services, instance, url):
    others = [make_app(instance, url) for _ in range(3)]
    edit(instance, "one")
    policies = [services.policy, *(app.extensions["gatepost"].policy for app in others)]
    threads = [Thread(target=policy.reload) for policy in policies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cause for _, cause, _ in told(services)] == ["start", "files"]
    for app in others:
        close(app)


def test_the_trail_tells_what_a_change_allows(services, instance):
    edit(instance, "one", "p, guest, product.view, always, allow\n")
    first, second = services.policy.current.version, services.policy.reload().version
    history = writer_of(services, instance)
    history.store()
    history.store()
    with services.database.connected():
        [row] = of_tenant(services.guest_tenant).where(Audit.resource == "policy", Audit.action == "apply")
        changes = policy_version.newest().changes
    assert (row.principal, row.role, row.result, row.policy_version) == ("system", "system", "allowed", second)
    assert (row.facts["from"], row.facts["to"], row.facts["cause"]) == (first, second, "files")
    assert row.facts["changes"][0].startswith("product.view: active → always, for guest")
    assert ("product.view", "more") in {(change["permission"], change["change"]) for change in changes}


@pytest.mark.both_databases
def test_a_row_is_told_of_once_though_several_processes_do(services, instance):
    edit(instance, "one", "p, guest, product.view, always, allow\n")
    services.policy.reload()
    threads = [Thread(target=writer_of(services, instance).store) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with services.database.connected():
        assert of_tenant(services.guest_tenant).where(Audit.action == "apply").count() == 1


@pytest.mark.both_databases
def test_a_policy_comes_into_force_though_the_database_cannot_be_written_and_its_row_comes_late(
        services, instance, monkeypatch):
    monkeypatch.setattr(history_module, "PATIENCE", 0.2)
    free, begun = Event(), Event()

    def hold():
        def work():
            services.database.execute_sql("UPDATE audit_retention SET id = 1")
            if services.database.dialect == "postgres":
                services.database.execute_sql("LOCK TABLE policy_versions IN EXCLUSIVE MODE")
            begun.set()
            free.wait(60)
        services.database.transact(work)

    writer = Thread(target=hold)
    writer.start()
    assert begun.wait(60)
    edit(instance, "one", "p, guest, product.view, always, allow\n")
    version = services.policy.reload().version
    assert services.policy.current.version == version
    assert len(list((instance / WAITING).iterdir())) == 1
    free.set()
    writer.join()
    history = writer_of(services, instance)
    history.store()
    assert [one[:2] for one in told(services)][1:] == [(version, "files")]
    assert history.waiting == 0


@pytest.mark.both_databases
def test_a_row_that_waited_still_knows_who_asked_for_it(services, instance):
    edit(instance, "one", "p, guest, product.view, always, allow\n")
    services.policy.announce = None
    origin = {"role": "admin", "address": "192.0.2.7", "request_id": "a-request", "rule": None}
    history = writer_of(services, instance)
    services.policy.reload()
    history._keep(history.row(services.policy.current, "http", "user:x", "why", origin))
    history.store()
    with services.database.connected():
        [row] = of_tenant(services.guest_tenant).where(Audit.action == "apply")
    assert (row.principal, row.role, row.address, row.request_id) == ("user:x", "admin", "192.0.2.7", "a-request")


@pytest.mark.both_databases
def test_rows_that_waited_are_stored_in_the_order_of_time_and_each_change_once(services, instance):
    """Two processes saw the same two changes while the database was unavailable. A third one stores their rows."""
    kept = []
    for comment in ("one", "two"):
        edit(instance, comment)
        services.policy.announce = None
        services.policy.reload()
        for _ in range(2):
            kept.append(writer_of(services, instance).row(services.policy.current, "files", "system", None))
    history = writer_of(services, instance)
    for row in reversed(kept):
        row.late = True
        history._keep(row)
    (instance / WAITING / "junk.json").write_text("{")
    (instance / WAITING / "hostile.json").write_text('{"id": "x", "applied_at": "1", "files": 5, "version": null}')
    history.store()
    rows = told(services)
    assert [cause for _, cause, _ in rows] == ["start", "files", "files"]
    assert [late for _, _, late in rows] == [False, True, True]
    assert rows[1][0] != rows[2][0]


@pytest.mark.both_databases
def test_a_row_that_is_stored_twice_is_there_once(services, instance):
    edit(instance, "one")
    services.policy.announce = None
    services.policy.reload()
    history = writer_of(services, instance)
    row = history.row(services.policy.current, "files", "system", None)
    history._append(row)
    history._append(row)
    assert len(told(services)) == 2


@pytest.mark.both_databases
def test_the_history_is_never_rewritten(services, instance):
    edit(instance, "one")
    services.policy.reload()
    writer_of(services, instance).store()
    for statement in ("UPDATE policy_versions SET files = '{}'", "UPDATE policy_versions SET changes = '[]'",
                      "DELETE FROM policy_versions"):
        with pytest.raises(pw.PeeweeException, match="never|append-only"):
            services.database.transact(lambda statement=statement: services.database.execute_sql(statement))


@pytest.mark.both_databases
def test_a_policy_that_was_replaced_goes_with_the_audit_rows_of_its_time(services, instance):
    for comment in ("one", "two"):
        edit(instance, comment)
        services.policy.reload()
    assert services.database.transact(lambda: policy_version.purge(100)) == 0
    moved = Retention.update({Retention.before: later(60)})
    services.database.transact(moved.execute)
    assert services.database.transact(lambda: policy_version.purge(100)) == 2
    assert [row[0] for row in told(services)] == [services.policy.current.version]
    assert now()


def test_a_policy_that_can_no_longer_be_loaded_is_told_as_such(services, instance):
    def add():
        row = PolicyVersion(id="01930000-0000-7000-8000-000000000001", version="0" * 16, applied_at=now(),
                            cause="files", author="system", late=False, packaged="[]",
                            files=json.dumps({"model.conf": "of another age"}))
        policy_version.append(row)
    services.database.transact(add)
    writer_of(services, instance).store()
    with services.database.connected():
        change, = policy_version.newest().changes
    assert change["change"] == "unknown"
    assert change["detail"].startswith("policy 0000000000000000 cannot be loaded here: a plugin that it needs is not "
                                     "installed, or it is of another version of Gatepost (model.conf:1: ")


