"""The last administrator of all tenants stays one: no user could create another over HTTP."""

from __future__ import annotations

import json
import threading

import pytest

from models.base import Rows
from models.tables.user import User
from tests.databases import new_database
from tests.running import PASSWORD, Instance

ROUNDS = 3
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def alone(app, as_user, given):
    """The only administrator, logged in."""
    def work():
        for user in User.select().where(User.role == "admin"):
            user.role = "user"
            Rows(User, user.tenant_id).save(user)

    given.database.transact(work)
    return as_user("admin")


def replacing(caller, id):
    body = {"name": "Myself", "email": f"{id}@example.org", "role": "owner"}
    return caller.put(f"/api/users/{id}", body)


def importing(**changes):
    def send(caller, id, query=""):
        return caller.post(f"/api/users/import{query}", data=json.dumps({"id": id, **changes}), headers=NDJSON)
    return send


WAYS = {
    "a role in a PATCH": lambda caller, id: caller.patch(f"/api/users/{id}", {"role": "user"}),
    "a role in a PUT": replacing,
    "disable": lambda caller, id: caller.post(f"/api/users/{id}/disable"),
    "DELETE": lambda caller, id: caller.delete(f"/api/users/{id}"),
    "a role in an import": importing(role="editor"),
    "a state in an import": importing(active=False),
}


def fault(answer):
    """Returns (line, code). A line of an import is refused with the file, every other request by itself."""
    body = answer.get_json()
    assert answer.status_code == (400 if body["code"] == "invalid_body" else 409)
    return [(each["meta"]["line"], each["code"]) for each in body["errors"]] or body["code"]


@pytest.mark.both_databases
@pytest.mark.parametrize("way", WAYS)
def test_the_last_administrator_cannot_be_unmade(way, alone, given):
    before = given.found(User, alone.id).__data__
    expected = [(1, "last_administrator")] if "import" in way else "last_administrator"
    assert fault(WAYS[way](alone, alone.id)) == expected
    assert given.found(User, alone.id).__data__ == before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("other", [{"role": "owner"}, {"role": "admin", "active": False}])
def test_who_is_disabled_or_has_another_role_is_no_administrator(way, other, alone, given):
    given.user(**other)
    assert fault(WAYS[way](alone, alone.id)) in ("last_administrator", [(1, "last_administrator")])


@pytest.mark.both_databases
@pytest.mark.parametrize("way", WAYS)
def test_one_of_two_can_be_unmade_though_the_other_is_of_another_tenant(way, alone, elsewhere, given):
    elsewhere.user("admin")
    answer = WAYS[way](alone, alone.id)
    assert answer.status_code in (200, 204), answer.get_data(as_text=True)
    left = given.found(User, alone.id)
    assert left is None or not left.administers


def test_the_last_administrator_may_change_everything_else(alone):
    path = f"/api/users/{alone.id}"
    assert alone.patch(path, {"name": "Renamed", "role": "admin", "groups": ["board"]}).status_code == 200
    assert alone.put(path, {"name": "Again", "email": f"{alone.id}@example.org"}).get_json()["role"] == "admin"
    assert importing(name="Imported", active=True)(alone, alone.id).get_json()["updated"] == 1


def test_a_disabled_administrator_can_be_deleted(alone, given):
    assert alone.delete(f"/api/users/{given.user('admin', active=False).id}").status_code == 204


@pytest.mark.both_databases
def test_a_file_that_demotes_all_administrators_is_refused_whole(alone, given):
    other = given.user("admin")
    lines = "\n".join(json.dumps({"id": id, "role": "user"}) for id in (other.id, alone.id))
    assert fault(alone.post("/api/users/import", data=lines, headers=NDJSON)) == [(2, "last_administrator")]
    assert given.found(User, other.id).administers and given.found(User, alone.id).administers
    skipping = alone.post("/api/users/import?on_error=skip", data=lines, headers=NDJSON).get_json()
    assert (skipping["updated"], [each["code"] for each in skipping["errors"]]) == (1, ["last_administrator"])
    assert given.found(User, alone.id).administers


def test_who_cannot_decide_about_administrators_is_not_told_how_many_there_are(alone, as_user):
    for answer in [way(as_user("owner"), alone.id) for way in WAYS.values()]:
        assert "last_administrator" not in answer.get_data(as_text=True)
        assert answer.status_code in (400, 403)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def instance(request, tmp_path_factory):
    environment = {"GATEPOST_RATE_LIMITS": "off"}
    if request.param == "postgres":
        environment["GATEPOST_DATABASE_URL"] = new_database("postgres", request, migrated=False)
    return Instance(tmp_path_factory.mktemp("made") / "instance", environment).made()


def demote(service, token, id, imports):
    if not imports:
        return service.call("PATCH", f"/api/users/{id}", {"role": "user"}, token)
    return service.call("POST", "/api/users/import", {"id": id, "role": "user"}, token, NDJSON)


@pytest.mark.slow
@pytest.mark.parametrize("imports", [False, True], ids=["by PATCH", "by import"])
def test_two_who_demote_each_other_in_two_processes_leave_one(instance, imports):
    emails = ("admin@example.org", f"second-{imports}@example.org")
    assert instance.run("user", "add", emails[1], "--role", "admin", "--password-file", "-",
                        input=PASSWORD).returncode == 0
    with instance.served() as here, instance.served() as there:
        services = (here, there)
        tokens = [service.log_in(email) for service, email in zip(services, emails, strict=True)]
        ids = [here.call("GET", "/api/profile", token=token)[1]["id"] for token in tokens]
        for _ in range(ROUNDS):
            answers, start = {}, threading.Barrier(2)

            def send(number, answers=answers, start=start):
                start.wait()
                answers[number] = demote(services[number], tokens[number], ids[1 - number], imports)

            threads = [threading.Thread(target=send, args=(number,)) for number in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            roles = [here.call("GET", "/api/profile", token=token)[1]["role"] for token in tokens]
            assert sorted(roles) == ["admin", "user"], answers
            left = roles.index("admin")
            assert answers[left][0] == 200, answers
            # The other one was late: they were no longer an administrator, or the last administrator stopped them.
            assert answers[1 - left][0] in (400, 403, 409), answers
            assert here.call("PATCH", f"/api/users/{ids[1 - left]}", {"role": "admin"}, tokens[left])[0] == 200
        assert demote(here, tokens[0], ids[1], imports)[0] == 200
