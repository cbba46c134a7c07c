"""Roles that lines of roles.csv give to groups of a provider, at each login of a member."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from blueprints.accounts.single_sign_on import checks, groups
from gatepost.features import Installation
from gatepost.health.check_result import State
from gatepost.testing import log_in as caller_of
from models.base import Rows
from models.tables.audit import Audit
from models.tables.identity import Identity
from models.tables.user import User
from policies import SHIPPED
from settings import Settings
from tests.accounts.conftest import app_with, forget_providers
from tests.accounts.provider import parameters
from tests.accounts.test_single_sign_on import SUBJECT, begin, connect, log_in
from tests.http.console.pages import visit
from tests.policies.editing import add_line

pytestmark = pytest.mark.usefixtures("no_identities")

LINES = ("g, oidc:team/editors, editor", "g, oidc:team/leads, manager", "g, oidc:team/staff, user",
         "g, oidc:other/admins, admin")


@pytest.fixture(scope="module", autouse=True)
def lines(instance_folder):
    for line in LINES:
        add_line(instance_folder / "policies" / "roles.csv", line)


@pytest.fixture(scope="module")
def ruled_of_module(instance_folder, database_url, provider_of_module, lines):
    with app_with(instance_folder, database_url, provider_of_module, groups_claim="groups") as app:
        yield app


@pytest.fixture
def ruled(ruled_of_module):
    """An app whose policy gives roles to groups of two providers, of which one is known."""
    return forget_providers(ruled_of_module)


@pytest.fixture
def user(given, provider):
    user = given.user("user", groups=["local", "oidc:team/old"])
    connect(given, provider, user)
    return user


def role_after(app, given, provider, user, groups_of_login):
    provider.claims = {"groups": groups_of_login}
    assert log_in(visit(app), provider).status_code == 303
    with given.database.connected():
        return User.by_id(user.id).role


@pytest.mark.both_databases
def test_a_line_gives_its_role_at_the_login_and_another_login_takes_it(ruled, given, provider, user):
    assert role_after(ruled, given, provider, user, ["editors"]) == "editor"
    assert role_after(ruled, given, provider, user, ["staff", "leads"]) == "manager"
    assert role_after(ruled, given, provider, user, []) == "user"
    with given.database.connected():
        reasons = [event.reason for event in Audit.select().where(
            Audit.resource_id == user.id, Audit.action == "update").order_by(Audit.seq)]
    assert reasons == ["groups of team; role user → editor by roles.csv:17",
                       "groups of team; role editor → manager by roles.csv:18",
                       "groups of team; role manager → user by oidc.team.role"]


def test_of_two_roles_the_one_that_no_other_inherits_counts_and_then_the_first_line(ruled, given, provider, user):
    assert role_after(ruled, given, provider, user, ["staff", "leads", "editors"]) == "editor"
    assert role_after(ruled, given, provider, user, ["staff", "leads"]) == "manager"


def test_a_group_of_another_provider_gives_nothing(ruled, given, provider, user):
    with given.database.connected(), given.database.transaction():
        User.update(groups=["oidc:other/admins"]).where(User.id == user.id).execute()
    assert role_after(ruled, given, provider, user, ["admins", "/other/admins", "oidc:other/admins"]) == "user"


@pytest.mark.parametrize("claims", [{}, {"groups": "leads"}, {"groups": ["leads"], "hasgroups": True},
                                    {"_claim_names": {"groups": "src1"}}], ids=str)
def test_a_claim_that_is_missing_or_cut_off_changes_no_role(ruled, given, provider, user, claims, caplog):
    with given.database.connected(), given.database.transaction():
        User.update(role="manager").where(User.id == user.id).execute()
    provider.claims = claims
    assert log_in(visit(ruled), provider).status_code == 303
    with given.database.connected():
        assert User.by_id(user.id).role == "manager"
    assert "changes no group and no role" in caplog.text


@pytest.mark.both_databases
def test_the_last_administrator_stays_one(ruled, given, provider, user, caplog):
    with given.database.connected(), given.database.transaction():
        User.update(role="user").where(User.role == "admin").execute()
        User.update(role="admin").where(User.id == user.id).execute()
    assert role_after(ruled, given, provider, user, ["editors"]) == "admin"
    assert "the last active administrator" in caplog.text
    given.user("admin")
    assert role_after(ruled, given, provider, user, ["editors"]) == "editor"


@pytest.mark.both_databases
def test_two_administrators_who_log_in_at_the_same_time_do_not_both_lose_the_role(ruled, given, provider, user):
    other = given.user("admin")
    given.row(Identity(owner_id=other.id, issuer=provider.issuer, subject="other"))
    with given.database.connected(), given.database.transaction():
        User.update(role="user").where(User.role == "admin", User.id != other.id).execute()
        User.update(role="admin").where(User.id == user.id).execute()
    forms = []
    for subject in (SUBJECT, "other"):
        visitor = visit(ruled)
        url = begin(visitor)
        provider.claims_of[parameters(url)["nonce"][0]] = {"sub": subject, "groups": []}
        [form] = visitor.page(provider.authorize(url)).forms
        forms.append((visitor, form))
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda one: one[0].post(one[1].action, one[1].fields).status_code, forms))
    assert answers == [303, 303]
    with given.database.connected():
        assert sorted(User.by_id(one.id).role for one in (user, other)) == ["admin", "user"]


def test_a_new_account_has_the_role_of_its_group(instance_folder, database_url, given, provider):
    with app_with(instance_folder, database_url, provider, groups_claim="groups", create_users=True) as app:
        provider.claims = {"sub": "new", "email": "new-editor@example.org", "groups": ["editors"]}
        assert log_in(visit(app), provider).status_code == 303
        with given.database.connected():
            assert User.by_email("new-editor@example.org").role == "editor"


def test_explain_and_the_review_name_the_line_to_those_who_may_see_the_groups(ruled, given, provider, user):
    assert role_after(ruled, given, provider, user, ["editors"]) == "editor"
    place = {"file": "roles.csv", "line": 17, "group": "oidc:team/editors", "role": "editor"}
    admin = caller_of(ruled, "admin")
    told = admin.get(f"/api/admin/policy/explain?as={user.email}&permission=article.publish").json
    assert told["given_by"] == place
    assert admin.get("/api/admin/policy").json["groups"][0] == place
    reviewed = admin.get("/api/admin/policy/review?role=editor").json["items"]
    [entry] = [one for one in reviewed if one["id"] == user.id]
    assert entry["roles"][0]["how"] == ["stored", "given to oidc:team/editors by roles.csv:17"]


def test_who_may_not_see_the_groups_is_not_told_the_line(ruled, given, provider, user):
    """The line would reveal a group."""
    assert role_after(ruled, given, provider, user, ["editors"]) == "editor"
    told = caller_of(ruled, "developer").get(f"/api/admin/policy/explain?as={user.id}&permission=article.publish")
    assert (told.status_code, told.json["role"], told.json["given_by"]) == (200, "editor", None), told.text


@pytest.mark.parametrize(("granting", "state", "names"), [
    (["team", "other"], State.OK, ""),
    (["team"], State.DEGRADED, "oidc:other/admins"),
    ([], State.DEGRADED, "oidc:team/editors"),
])
def test_the_doctor_names_groups_that_no_login_grants(tmp_path, provider, given, granting, state, names):
    shutil.copytree(SHIPPED, tmp_path / "policies")
    for line in LINES:
        add_line(tmp_path / "policies" / "roles.csv", line)
    oidc = {name: {"issuer": provider.issuer, "client_id": "c", "private": True,
                   "groups_claim": "groups" if name in granting else ""} for name in ("team", "other")}
    settings = Settings.load(tmp_path, {"public_url": "http://localhost", "oidc": oidc}, {})
    found = checks.check(Installation(settings, given.database))
    assert found.state == state, found
    assert names in found.detail
    without = checks.check(Installation(Settings.load(tmp_path, {}, {}), given.database))
    assert (without.state, "off: oidc is not set; no login grants" in without.detail) == (State.DEGRADED, True)


@pytest.mark.parametrize(("entries", "line", "named"), [
    ({}, "g, oidc:team/editors, editor", True), ({"create_users": True}, "", True), ({}, "", False),
    ({"role": "guest"}, "g, oidc:team/editors, editor", True), ({"role": "user"}, "g, oidc:team/a, editor", False)])
def test_the_doctor_names_a_role_that_the_policy_does_not_have(tmp_path, given, provider, entries, line, named):
    """A user who leaves the last group would keep its role, and nobody could get an account."""
    shutil.copytree(SHIPPED, tmp_path / "policies")
    if line:
        add_line(tmp_path / "policies" / "roles.csv", line)
    team = {"issuer": provider.issuer, "client_id": "c", "private": True, "groups_claim": "groups", "role": "member"}
    settings = Settings.load(tmp_path, {"public_url": "http://localhost", "oidc": {"team": {**team, **entries}}}, {})
    found = checks.check(Installation(settings, given.database))
    assert ("for users: set oidc.team.role" in found.detail) == named, found
    assert found.state == State.DEGRADED or not named


def test_the_console_shows_where_the_role_comes_from(ruled, given, provider, user):
    assert role_after(ruled, given, provider, user, ["editors"]) == "editor"
    admin = visit(ruled, "admin")
    why = admin.page(f"/console/why?as={user.id}&permission=article.publish").text
    assert "from the login with an identity provider, by rule roles.csv:17: g, oidc:team/editors, editor" in why
    assert "by rule roles.csv:17, at the login" in admin.page("/console/people/review?role=editor").text
    roles = admin.page("/console/people/roles").text
    assert "Role at the login" in roles
    assert "oidc:team/editors" in roles and "oidc:other/admins" in roles


def test_the_doctor_names_groups_that_were_left_behind_by_a_provider(tmp_path, provider, given):
    given.user("user", groups=["local", "oidc:gone/editors", "oidc:team/editors"])
    shutil.copytree(SHIPPED, tmp_path / "policies")
    team = {"issuer": provider.issuer, "client_id": "c", "private": True}
    settings = Settings.load(tmp_path, {"public_url": "http://localhost", "oidc": {"team": team}}, {})
    found = checks.check(Installation(settings, given.database))
    assert (found.state, "users have groups of oidc:gone, which" in found.detail) == (State.DEGRADED, True)
    assert "oidc:team" not in found.detail and "local" not in found.detail


@pytest.mark.both_databases
@pytest.mark.parametrize(("role", "after"), [("editor", "user"), ("manager", "manager"), ("admin", "admin")])
def test_a_role_that_a_group_gave_goes_with_the_identity_and_another_stays(ruled, given, provider, user, role, after):
    given.row(Identity(owner_id=user.id, issuer="https://second.example.org", subject=user.id))
    assert role_after(ruled, given, provider, user, ["editors"]) == "editor"
    with given.database.connected(), given.database.transaction():
        User.update(role=role).where(User.id == user.id).execute()
    caller = caller_of(ruled, user)
    row = next(one for one in caller.get("/api/profile/identities").json["data"] if one["provider"] == "team")
    assert caller.delete(f"/api/profile/identities/{row['id']}").status_code == 204
    with given.database.connected():
        stored = User.by_id(user.id)
        reasons = [event.reason for event in Audit.select().where(
            Audit.resource_id == user.id, Audit.action == "update").order_by(Audit.seq)]
    assert (stored.role, stored.groups) == (after, ["local"])
    assert (reasons[-1] == "groups of team; role editor → user, which roles.csv:17 gave") == (role == "editor"), reasons


@pytest.mark.both_databases
@pytest.mark.parametrize(("groups_of_user", "after"), [
    (["local", "oidc:team/editors"], "user"), (["local", "oidc:gone/editors"], "editor"), (["local"], "editor"),
], ids=str)
def test_a_victim_gets_no_role_that_the_groups_of_a_stranger_gave(ruled, given, groups_of_user, after):
    user = given.user("editor", groups=groups_of_user)
    roles = ruled.extensions["gatepost"].policy.current.roles

    def drop():
        groups.remove_all(Rows(User, user.tenant_id).find(user.id, lock=True), roles)

    given.database.transact(drop)
    with given.database.connected():
        stored = User.by_id(user.id)
    assert (stored.role, stored.groups) == (after, ["local"])
