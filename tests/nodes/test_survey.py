"""`gatepost doctor --nodes`: the program, policy, keys and clock of each node, reported by its processes."""

from __future__ import annotations

import pytest

from blueprints.nodes.survey import survey
from gatepost.http.operations.program import described
from gatepost.http.security.keys import fingerprints
from gatepost.instance.presence import Presence
from models.base import new_id, now
from models.tables import node
from models.tables.node import ALIVE, Node, alive, places
from tests.apps import close, make_app, new_instance
from tests.databases import new_database


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def services(request, tmp_path_factory):
    url = new_database(request.param, request)
    app = make_app(new_instance(tmp_path_factory.mktemp("node") / "instance", url, "default"), url)
    yield app.extensions["gatepost"]
    close(app)


@pytest.fixture
def presence(services):
    found = Presence(services.database, services.settings.instance, services.policy, services.keys)
    services.database.transact(lambda: Node.delete().execute())
    found.report()
    return found


def living(services) -> list[Node]:
    with services.database.connected():
        return alive(services.database)


def change(services, **values) -> None:
    services.database.transact(lambda: Node.update(values).execute())


def said(services) -> list[tuple[str, str]]:
    return [(str(found.state), found.detail) for found in survey(services.database)]


@pytest.mark.both_databases
def test_a_process_has_one_row_however_often_it_reports_and_none_once_it_has_stopped(services, presence):
    presence.report()
    [row] = living(services)
    assert (row.folder, row.policy_version) == (str(services.settings.instance), services.policy.current.version)
    if services.database.dialect == "postgres":
        assert abs(row.clock_ahead) < 60, "both are on this machine"
    else:
        assert row.clock_ahead is None
    presence.leave()
    assert living(services) == [] and said(services) == [("ok", "none is serving this database now")]


def test_a_process_that_was_killed_is_gone_after_a_while_and_its_row_later(services, presence):
    change(services, seen=living(services)[0].seen - ALIVE - 1)
    assert living(services) == []
    change(services, seen=0.0, epoch="another boot")
    Presence(services.database, services.settings.instance, services.policy, services.keys).report()
    with services.database.connected():
        assert Node.select().count() == 1


def test_processes_of_one_folder_are_one_node(services, presence):
    Presence(services.database, services.settings.instance, services.policy, services.keys).report()
    assert len(living(services)) == 2 and len(places(living(services))) == 1
    [(state, detail)] = said(services)
    assert state == "ok" and "2 processes" in detail


@pytest.mark.parametrize(("values", "sentence"), [
    ({"version": "0.0.9"}, "it runs Gatepost 0.0.9"),
    ({"policy_version": "0123456789abcdef"}, "policy 0123456789abcdef is in force there"),
    ({"policy_error": "articles.csv:3: no such permission"}, "articles.csv:3: no such permission"),
    ({"key_fingerprint": "0" * 32}, "its newest key is not that of the database"),
    ({"clock_ahead": -7.5}, "its clock is -7.5 s from the server's"),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_what_differs_on_a_node_is_said_of_it_alone(services, presence, values, sentence):
    change(services, **values)
    other = Node(id=new_id(), host="elsewhere", folder="/srv/gatepost", pid=1, started_at=now(),
                 version=described(), policy_version=services.policy.current.version,
                 key_fingerprint=fingerprints(services.keys)[0])
    services.database.transact(lambda: node.report(other))
    found = said(services)
    assert sorted(state for state, _ in found) == ["degraded", "ok"]
    [(_, detail)] = [one for one in found if one[0] == "degraded"]
    assert sentence in detail and str(services.settings.instance) in detail
