"""The certification scenario of AuthZEN 1.0, with its fixture as a plugin.

The scenario's alice, bob, record-1 and record-2 have the ids of the instance's own rows here. Gatepost uses stored
facts: the properties of subjects and resources in the scenario equal the stored values. Action properties have no
meaning, so decision rules 7 and 8 (a soft delete) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatepost.collections.plugins.discovery import discover
from models.base import Rows
from models.engine.connect import open_database
from models.migrate import upgrade
from tests import authzen_fixture
from tests.apps import Caller, Given, close, log_in, make_app, new_instance
from tests.authzen_fixture.records import Record
from tests.rule_files import edit

READ, WRITE = {"name": "read"}, {"name": "write"}
ALICE, BOB = {"type": "user", "id": "alice"}, {"type": "user", "id": "bob"}
ONE, TWO = {"type": "record", "id": "record-1"}, {"type": "record", "id": "record-2"}
BASE = "https://pdp.example.com"


class Harness:
    """Sends the requests of the scenario, with the ids of this instance instead of its names."""

    def __init__(self, caller: Caller, names: dict[str, str]) -> None:
        self.caller, self._ids = caller, names
        self._names = {id: name for name, id in names.items()}

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any, Any]:
        text = json.dumps(body)
        for name, id in self._ids.items():
            text = text.replace(f'"{name}"', f'"{id}"')
        answer = self.caller.call("POST", f"/access/v1/{path}", data=text, content_type="application/json",
                                  headers=headers)
        told = answer.get_data(as_text=True)
        for id, name in self._names.items():
            told = told.replace(id, name)
        return answer.status_code, json.loads(told), answer.headers

    def decision(self, subject: Any, action: Any, resource: Any, **more: Any) -> bool:
        status, body, _ = self.post("evaluation", {
            "subject": subject, "action": action, "resource": resource, **more})
        assert status == 200 and type(body["decision"]) is bool
        return body["decision"]

    def results(self, what: str, **asked: Any) -> list[str]:
        status, body, _ = self.post(f"search/{what}", asked)
        assert status == 200 and isinstance(body["page"]["next_token"], str)
        return [one.get("id", one.get("name")) for one in body["results"]]


@pytest.fixture(scope="module")
def harness(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    folder = new_instance(tmp_path_factory.mktemp("authzen") / "instance", database_url, "default")
    edit(folder / "policies", "    p.when == 'archived' && r.obj.status == 'archived' || \\\n"
                              "    p.when == 'kept' && r.obj.status != 'archived' || \\\n"
                              "    p.when == 'in_town' && intown(r.sub, r.obj, r.env) || \\\n")
    database = open_database(database_url, pool_size=1, synchronous="normal", statement_timeout=10)
    with database.connected():
        upgrade(database, discover([authzen_fixture]).migrations)
    database.close_all()
    app = make_app(folder, database_url, [authzen_fixture], public_url=BASE)
    given = Given(app, "default")
    names = {"alice": given.user("user", department="town").id, "bob": given.user("support").id}
    with given.database.connected():
        for name, status in (("record-1", "active"), ("record-2", "archived")):
            names[name] = given.database.transact(
                lambda status=status: Rows(Record, given.tenant_id).insert(Record(status=status))).id
    yield Harness(log_in(app, given.user("admin")), names)
    close(app)


@pytest.mark.parametrize(("subject", "action", "resource", "expected"), [
    (ALICE, READ, ONE, True), (ALICE, WRITE, ONE, True), (BOB, READ, ONE, True), (BOB, WRITE, ONE, False),
    (ALICE, WRITE, {**TWO, "properties": {"status": "archived"}}, False),
    ({**BOB, "properties": {"role": "admin"}}, WRITE, {**TWO, "properties": {"status": "archived"}}, True),
    ({**ALICE, "properties": {"department": "Sales"}}, {**READ, "properties": {"method": "GET"}},
     {**ONE, "properties": {"status": "active", "owner": "bob"}}, True),
], ids=["rule 1", "rule 2", "rule 3", "rule 4", "rule 5", "rule 6", "more properties"])
def test_basic_the_decisions_that_the_fixture_mandates(harness, subject, action, resource, expected):
    assert harness.decision(subject, action, resource) is expected
    assert [harness.decision(subject, action, resource) for _ in range(3)] == [expected] * 3


def test_basic_context_and_unknown_members_change_nothing(harness):
    assert harness.decision(ALICE, READ, ONE, context={"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"})
    assert harness.decision(ALICE, READ, ONE, foo="bar", futureField={"nested": True})


WHOLE = {"subject": ALICE, "action": READ, "resource": ONE}


@pytest.mark.parametrize("change", [
    {"subject": None}, {"action": None}, {"resource": None}, {"subject": {"id": "alice"}},
    {"subject": {"type": "user"}}, {"action": {}}, {"resource": {"id": "record-1"}}, {"resource": {"type": "record"}},
    {"subject": "alice"}, {"action": {"name": 123}}], ids=str)
def test_basic_what_is_missing_or_of_another_type_is_400(harness, change):
    body = {name: value for name, value in {**WHOLE, **change}.items() if value is not None}
    assert harness.post("evaluation", body)[0] == 400


def test_basic_other_types_malformed_and_empty_bodies_are_400_and_request_ids_come_back(harness):
    other = harness.caller.call("POST", "/access/v1/evaluation", data=json.dumps(WHOLE), content_type="text/plain")
    assert (other.status_code, other.get_json()["code"]) == (400, "invalid_header")
    for body in (b"", b"{", b"[]"):
        answer = harness.caller.call("POST", "/access/v1/evaluation", data=body, content_type="application/json")
        assert answer.status_code == 400
    assert harness.post("evaluation", WHOLE, **{"X-Request-ID": "bfe9eb29-ab87"})[2]["X-Request-ID"] == "bfe9eb29-ab87"
    assert harness.post("evaluation", WHOLE)[0] == 200


def test_batch_order_defaults_and_overriding(harness):
    for body, expected in (
            ({"subject": BOB, "resource": ONE, "evaluations": [{"action": READ}, {"action": WRITE}]}, [True, False]),
            ({"evaluations": [{**WHOLE}, {**WHOLE, "subject": BOB, "action": WRITE}]}, [True, False]),
            ({**WHOLE, "evaluations": [{}, {"subject": BOB, "action": WRITE}]}, [True, False]),
            ({"subject": ALICE, "action": WRITE, "evaluations": [{"resource": ONE}, {"resource": TWO}]}, [True, False]),
            ({"action": READ, "resource": ONE, "evaluations": [{"subject": ALICE}, {}]}, [True, False])):
        status, told, _ = harness.post("evaluations", body)
        assert (status, [one["decision"] for one in told["evaluations"]]) == (200, expected)
    for body in (WHOLE, {**WHOLE, "evaluations": []}):
        assert harness.post("evaluations", body)[1] == {"decision": True}


def test_search_finds_at_least_what_the_fixture_mandates(harness):
    asked = {"action": READ, "resource": ONE}
    for subject in ({"type": "user"}, {"type": "user", "id": "alice"}):
        for more in ({}, {"context": {"time": "2025-06-27T18:03-07:00"}}):
            assert {"alice", "bob"} <= {*harness.results("subject", subject=subject, **asked, **more)}
    for resource in ({"type": "record"}, {"type": "record", "id": "record-2"}):
        assert "record-1" in harness.results("resource", subject=ALICE, action=READ, resource=resource)
    assert {"read", "write"} <= {*harness.results("action", subject=ALICE, resource=ONE)}
    assert "bob" in harness.results("subject", subject={"type": "user"}, action=WRITE, resource=TWO)
    assert "record-2" in harness.results("resource", subject=BOB, action=WRITE, resource={"type": "record"})
    assert "write" in harness.results("action", subject=BOB, resource=TWO)


def test_search_nothing_is_found_of_what_is_not_known_and_what_is_missing_is_400(harness):
    ghost = {"type": "user", "id": "nobody"}
    assert harness.results("resource", subject=ghost, action=READ, resource={"type": "record"}) == []
    assert harness.results("subject", subject={"type": "spaceship"}, action=READ, resource=ONE) == []
    assert harness.results("action", subject=ALICE, resource={"type": "spaceship", "id": "x"}) == []
    for what, asked in (("subject", {"action": READ, "resource": ONE}), ("resource", {"subject": ALICE}),
                        ("subject", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}}),
                        ("resource", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}}),
                        ("action", {"subject": {"type": "user"}, "resource": ONE})):
        assert harness.post(f"search/{what}", asked)[0] == 400


def test_search_pages_are_walked_to_the_end(harness):
    asked = {"subject": {"type": "user"}, "action": READ, "resource": ONE}
    found, page = [], {"limit": 1}
    while True:
        _, told, _ = harness.post("search/subject", {**asked, "page": page})
        found += [one["id"] for one in told["results"]]
        if not told["page"]["next_token"]:
            break
        page = {"limit": 1, "token": told["page"]["next_token"]}
    assert {"alice", "bob"} <= {*found} and len(found) == len({*found})


def test_discovery_names_the_endpoints_by_the_url_that_clients_use(harness):
    answer = harness.caller.client.get("/.well-known/authzen-configuration")
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    told = answer.get_json()
    assert told.pop("policy_decision_point") == BASE
    assert all(url.startswith(f"{BASE}/access/v1/") for url in told.values()) and len(told) == 5


def test_a_condition_of_a_plugin_that_asks_who_calls_is_asked_about_each(harness):
    update = {"name": "update"}
    for resource in (ONE, {"type": "record", "id": ""}):
        assert [harness.decision(one, update, resource) for one in (ALICE, BOB)] == [True, False]
        found = harness.results("subject", subject={"type": "user"}, action=update, resource=resource)
        assert "alice" in found and "bob" not in found
    assert "record-1" in harness.results("resource", subject=ALICE, action=update, resource={"type": "record"})
