"""`gatepost user` and `gatepost tenant`."""

from __future__ import annotations

import json
import re

import pytest

from models.base import Rows, new_id
from models.tables import share
from models.tables.user import User
from tests.running import PASSWORD, Answering, Instance


@pytest.fixture(scope="module")
def service(instance: Instance):
    with instance.answering() as served:
        yield served


def add(instance: Instance, email: str, *options: str) -> None:
    done = instance.run("user", "add", email, "--password-file", "-", *options, input=PASSWORD)
    assert done.returncode == 0, done.stderr


def may_log_in(service: Answering, email: str, password: str = PASSWORD) -> bool:
    return service.call("POST", "/api/login", {"email": email, "password": password})[0] == 200


def test_an_added_user_logs_in_with_their_role_in_their_tenant(instance, service):
    assert instance.run("tenant", "add", "acme").returncode == 0
    add(instance, "Ada@Example.org", "--role", "editor", "--tenant", "acme", "--name", "Ada")
    token = service.log_in("ada@example.org")
    status, profile = service.call("GET", "/api/profile", token=token)
    assert status == 200
    assert (profile["name"], profile["role"], profile["email"]) == ("Ada", "editor", "ada@example.org")
    assert "ada@example.org" in instance.run("user", "list", "--tenant", "acme").stdout
    assert "ada@example.org" not in instance.run("user", "list").stdout


def test_without_a_file_a_password_is_made_up_and_shown(instance, service):
    done = instance.run("user", "add", "bo@example.org")
    password = re.search(r"Password: (\S+)", done.stdout).group(1)
    assert may_log_in(service, "bo@example.org", password)


def test_an_address_with_an_invisible_character_is_none(instance):
    done = instance.run("user", "add", "bo\u200b@example.org")
    assert done.returncode == 1
    assert "is not an e-mail address" in done.stderr


def test_a_mailbox_is_one_user_however_its_address_is_typed(instance, service):
    add(instance, "Noor@xn--mnchen-3ya.example")
    assert "noor@münchen.example" in instance.run("user", "list").stdout
    again = instance.run("user", "add", "ｎｏｏｒ@München.example", "--password-file", "-", input=PASSWORD)
    assert (again.returncode, "There is a user noor@münchen.example already" in again.stderr) == (1, True)
    assert may_log_in(service, "NOOR@MÜNCHEN.example")
    for command in ("disable", "enable"):
        assert instance.run("user", command, "noor@XN--MNCHEN-3YA.example").returncode == 0
    assert may_log_in(service, "noor@münchen.example")


def test_an_administrator_has_an_address_that_can_be(tmp_path):
    for email in ("admin@b..org", ".admin@b.org", "admin", "ad\u200bmin@b.org"):
        done = Instance(tmp_path / "new").run("init", "--admin-email", email)
        assert (done.returncode, "is not an e-mail address" in done.stderr) == (1, True), done.stderr
        assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("options", [("--name", "B\u200bo"), ("--department", "\u202en"), ("--group", "ed\u00aditors")])
def test_a_name_with_an_invisible_character_is_refused(instance, options):
    done = instance.run("user", "add", "bea@example.org", *options)
    assert done.returncode == 1
    assert "Invisible characters" in done.stderr


@pytest.mark.parametrize("command", [("add", "--name", "Augusta King"), ("password",)])
def test_a_password_of_the_words_of_the_account_is_refused(instance, command):
    name, *options = command
    done = instance.run("user", name, "augusta@example.org", *options, "--password-file", "-", input="augusta-k1")
    assert done.returncode == 1
    assert "Without name" in done.stderr


def test_a_new_password_replaces_the_old_one_and_ends_sessions(instance, service):
    add(instance, "cy@example.org")
    token = service.log_in("cy@example.org")
    done = instance.run("user", "password", "cy@example.org", "--password-file", "-", input="another long walk")
    assert done.returncode == 0, done.stderr
    assert not may_log_in(service, "cy@example.org")
    assert may_log_in(service, "cy@example.org", "another long walk")
    assert service.call("GET", "/api/profile", token=token)[0] == 401


@pytest.mark.parametrize("arguments", [("user", "password", "cy@example.org"), ("user", "add", "dee@example.org")])
def test_a_password_that_no_memory_is_left_to_hash_ends_in_a_sentence(instance, arguments, without_memory):
    done = instance.run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: The password cannot be hashed: Memory allocation error.\n"


def test_a_disabled_user_is_out_at_once_until_enabled_again(instance, service):
    add(instance, "di@example.org")
    token = service.log_in("di@example.org")
    assert instance.run("user", "disable", "di@example.org").returncode == 0
    assert service.call("GET", "/api/profile", token=token)[0] == 401
    assert not may_log_in(service, "di@example.org")
    assert instance.run("user", "enable", "di@example.org").returncode == 0
    assert may_log_in(service, "di@example.org")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("user", "add", "admin@example.org", "--password-file", "-"), "already"),
        (("user", "add", "ADMIN@example.org", "--password-file", "-"), "already"),
        (("user", "add", "nobody", "--password-file", "-"), "not an e-mail address"),
        (("user", "add", "ad\u3164a@example.org", "--password-file", "-"), "not an e-mail address"),
        (("user", "add", "x@example.org", "--role", "king", "--password-file", "-"), "Invalid value for '--role'"),
        (("user", "add", "x@example.org", "--role", "guest", "--password-file", "-"), "Invalid value for '--role'"),
        (("user", "add", "x@example.org", "--tenant", "none", "--password-file", "-"), "gatepost tenant add none"),
        (("user", "password", "none@example.org", "--password-file", "-"), "no user none@example.org"),
        (("user", "disable", "none@example.org"), "no user none@example.org"),
        (("user", "set", "none@example.org", "--name", "Nobody"), "no user none@example.org"),
        (("user", "set", "admin@example.org"), "Nothing to change"),
        (("user", "set", "admin@example.org", "--role", "king"), "Invalid value for '--role'"),
        (("user", "set", "admin@example.org", "--role", "guest"), "Invalid value for '--role'"),
        (("user", "set", "admin@example.org", "--role", ""), "role: "),
        (("user", "set", "admin@example.org", "--name", ""), "name: "),
        (("user", "set", "admin@example.org", "--name", "x" * 1000), "name: "),
        (("user", "set", "admin@example.org", "--name", "A\u202eb"), "name: "),
        (("user", "set", "admin@example.org", "--department", "x\x00y"), "department: "),
        (("user", "set", "admin@example.org", "--group", "news", "--group", "x" * 65), "groups 1: "),
        (("user", "set", "admin@example.org", *("--group", "a") * 101), "groups: "),
        (("tenant", "add", "default"), "already"),
        (("tenant", "add", "No Good"), "lower-case letters"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(instance, arguments, said):
    done = instance.run(*arguments, input=PASSWORD)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_refused_change_of_a_user_changes_nothing(instance):
    before = instance.run("user", "list").stdout
    assert instance.run("user", "set", "admin@example.org", "--name", "Eve", "--role", "king").returncode == 2
    assert instance.run("user", "set", "admin@example.org", "--role", "user", "--department", "\u202e").returncode == 1
    assert instance.run("user", "list").stdout == before


@pytest.mark.both_databases
def test_the_role_name_department_and_groups_of_a_user_are_changed(instance, service):
    add(instance, "ola@example.org", "--group", "old")
    token = service.log_in("ola@example.org")
    done = instance.run("user", "set", "OLA@example.org", "--role", "editor", "--name", " Ola Nordmann ",
                        "--department", "news", "--group", "press", "--group", "web")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == "Changed OLA@example.org: name, role, department, groups.\n"
    status, profile = service.call("GET", "/api/profile", token=token)
    assert status == 200, "the session goes on"
    assert {key: profile[key] for key in ("role", "name", "department", "groups")} == {
        "role": "editor", "name": "Ola Nordmann", "department": "news", "groups": ["press", "web"]}
    assert profile["version"] == 2

    assert instance.run("user", "set", "ola@example.org", "--department", "", "--group", "").returncode == 0
    profile = service.call("GET", "/api/profile", token=token)[1]
    assert (profile["department"], profile["groups"], profile["role"]) == (None, [], "editor")
    line, = (line for line in instance.run("user", "list").stdout.splitlines() if "ola@example.org" in line)
    assert line.split()[1:] == ["editor", "active", "ola@example.org", "Ola", "Nordmann"]
    noted = instance.run("audit", "tail", "-n", "50").stdout
    assert f"user:{profile['id']} Ola Nordmann (user)" in noted
    # Refusals of other tests may be written between them.
    changes = [line for line in noted.splitlines() if "user.update" in line and profile["id"] in line]
    assert len(changes) == 2
    for change in changes:
        assert "operator (operator) from -: user.update" in change
        assert "(Ola Nordmann)" in change


def test_the_last_administrator_may_lose_the_role_with_a_warning(instance):
    done = instance.run("user", "set", "admin@example.org", "--role", "owner")
    assert done.returncode == 0
    assert "No active administrator is left." in done.stderr
    assert instance.run("user", "set", "admin@example.org", "--role", "admin").stderr == ""


def test_a_weak_password_is_refused(instance):
    done = instance.run("user", "add", "weak@example.org", "--password-file", "-", input="12345678")
    assert done.returncode == 1
    assert "most common" in done.stderr
    assert "weak@example.org" not in instance.run("user", "list").stdout


def test_the_operator_may_disable_the_last_administrator_and_is_warned(instance):
    def administrators():
        done = instance.run("doctor")
        (line,) = (line for line in done.stdout.splitlines() if line.split()[1] == "admins")
        return done.returncode, line.split(maxsplit=2)[0], line.split(maxsplit=2)[2]

    add(instance, "second@example.org", "--role", "admin")
    assert administrators() == (0, "ok", "2 active")
    assert instance.run("user", "disable", "second@example.org").stderr == ""
    assert administrators()[:2] == (0, "ok") and administrators()[2].startswith("1 active; ")
    done = instance.run("user", "disable", "admin@example.org")
    assert (done.returncode, done.stdout) == (0, "admin@example.org is disabled.\n")
    assert "No active administrator is left." in done.stderr
    assert "gatepost user add EMAIL --role admin" in done.stderr
    assert administrators()[:2] == (1, "FAIL") and "gatepost user enable EMAIL" in administrators()[2]
    assert instance.run("user", "enable", "admin@example.org").returncode == 0
    assert administrators()[:2] == (0, "ok")


def test_doctor_names_users_and_shares_of_guests_that_an_older_version_has_stored(instance):
    refused = instance.run("user", "add", "gus@example.org", "--role", "guest")
    assert "there is no role 'guest'" in refused.stderr
    add(instance, "gus@example.org")
    services = instance.app().extensions["gatepost"]

    def store() -> tuple[User, str]:
        user = User.by_email("gus@example.org")
        user.role = "guest"
        Rows(User, user.tenant_id).save(user)
        id = new_id()
        share.grant(user.tenant_id, "article", id, "role:guest", "read")
        share.grant(user.tenant_id, "article", id, "role:user", "read")
        return user, id

    user, id = services.database.transact(store)
    try:
        said = instance.run("doctor").stdout
        found = {line.split()[1]: line for line in said.splitlines() if line.startswith("FAIL")}
        assert found.keys() == {"policy", "shares"}
        assert "no user can have their role (guest): gus@example.org. Give them another one" in found["policy"]
        assert "g, guest" not in found["policy"], "guest cannot be declared"
        assert "1 with role:guest have no effect" in found["shares"]
        assert f"DELETE /api/articles/{id}/shares?grantee=role:guest" in said
    finally:
        user.role = "user"
        services.database.transact(lambda: (Rows(User, user.tenant_id).save(user),
                                            share.withdraw(user.tenant_id, "article", id)))
        services.stop()
    assert "FAIL" not in instance.run("doctor").stdout


def test_a_role_of_the_policy_is_given_and_users_whose_role_is_lost_are_named_by_doctor(instance):
    roles = instance.folder / "policies" / "roles.csv"
    kept = roles.read_text()
    unknown = instance.run("user", "add", "ann@example.org", "--role", "auditor")
    assert "there is no role 'auditor'" in unknown.stderr and "Roles: user, support, editor" in unknown.stderr
    roles.write_text(kept.replace("# end", "g, auditor, guest\n# end"))
    try:
        add(instance, "ann@example.org", "--role", "auditor")
        assert instance.run("doctor").returncode == 0
    finally:
        roles.write_text(kept)
    done = instance.run("doctor")
    [found] = [line for line in done.stdout.splitlines() if line.split()[1] == "policy"]
    assert (done.returncode, found.split()[0]) == (1, "FAIL")
    assert "no user can have their role (auditor): ann@example.org. Give them another one" in found
    assert "g, auditor, guest" in found


def test_a_department_or_a_group_that_no_condition_can_name_is_stored_with_a_warning(instance, tmp_path):
    def doctor():
        (line,) = (one for one in instance.run("doctor").stdout.splitlines() if one.split()[1] == "names")
        return line

    assert doctor().endswith("conditions can name each department and group")
    done = instance.run("user", "add", "cleo@example.org", "--department", "Köln", "--group", "Łódź 1")
    assert (done.returncode, done.stderr) == (0, "")
    done = instance.run("user", "add", "dora@example.org", "--department", "R&D", "--group", "C#", "--group", "sales")
    assert done.returncode == 0 and "Added dora@example.org" in done.stdout
    assert done.stderr.startswith("No condition can name the department 'R&D', the group 'C#': a text in quotes has ")
    rows = [{"name": name, "email": f"{name}@example.org", "password": PASSWORD, "department": department,
             "groups": ["press"]} for name, department in (("Emil", "Ko\u0308ln"), ("Fay", "Zürich"))]
    file = tmp_path / "users.ndjson"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = instance.run("import", "users", str(file))
    assert (done.returncode, done.stdout) == (0, "2 imported, 0 updated, 0 failed.\n"), done.stderr
    assert "No condition can name the department 'Ko\u0308ln': a text" in done.stderr, "of those imported now"
    line = doctor()
    assert "No condition can name the department 'Ko\u0308ln', the department 'R&D', the group 'C#': " in line
    assert line.split()[0] == "ok", "they are no fault"
