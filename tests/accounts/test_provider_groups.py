"""Groups of a provider, which become groups of the user at each login with it."""

from __future__ import annotations

import pytest

from blueprints.accounts.single_sign_on import identities
from gatepost.testing import log_in as caller_of
from models.tables.audit import Audit
from models.tables.identity import Identity
from models.tables.user import User
from tests.accounts.conftest import app_with, forget_providers
from tests.accounts.phones import enrol
from tests.accounts.test_single_sign_on import begin, connect, log_in, sessions
from tests.http.console.pages import visit
from tests.policies.editing import add_line

pytestmark = pytest.mark.usefixtures("no_identities")


@pytest.fixture(scope="module")
def grouped_of_module(instance_folder, database_url, provider_of_module):
    with app_with(instance_folder, database_url, provider_of_module, groups_claim="realm_access.roles") as app:
        yield app


@pytest.fixture
def grouped(grouped_of_module):
    return forget_providers(grouped_of_module)


@pytest.fixture
def user(given, provider):
    user = given.user("user", groups=["local", "oidc:team/old", "oidc:other/kept"])
    connect(given, provider, user)
    return user


def groups(given, user):
    with given.database.connected():
        return User.by_id(user.id).groups


@pytest.mark.both_databases
def test_groups_are_replaced_at_each_login_and_others_stay(grouped, given, provider, user):
    for named in (["editors", "/staff/managers"], ["editors"], []):
        provider.claims = {"realm_access": {"roles": named}}
        assert log_in(visit(grouped), provider).status_code == 303
        assert groups(given, user) == ["local", "oidc:other/kept", *(f"oidc:team/{name.strip('/')}" for name in named)]
    with given.database.connected():
        events = Audit.select().where(Audit.resource_id == user.id, Audit.action == "update").count()
    assert events == 3


def test_a_login_without_a_change_changes_no_version(grouped, given, provider, user):
    provider.claims = {"realm_access": {"roles": ["old"]}}
    log_in(visit(grouped), provider)
    with given.database.connected():
        version = User.by_id(user.id).version
    log_in(visit(grouped), provider)
    with given.database.connected():
        assert User.by_id(user.id).version == version


@pytest.mark.parametrize("claims", [
    {}, {"realm_access": None}, {"realm_access": {"roles": "editors"}}, {"realm_access": {"roles": [5]}},
    {"realm_access": []}, {"realm_access": {"roles": ["a"]}, "hasgroups": True},
    {"_claim_names": {"realm_access": "src1"}},
    {"_claim_names": {"realm_access.roles": "src1"}, "realm_access.roles": ["a"]},
    {"realm_access": {"roles": [f"g{number}" for number in range(60)]}}], ids=str)
def test_a_claim_that_is_missing_or_cut_off_changes_nothing(grouped, given, provider, user, claims, caplog):
    provider.claims = claims
    assert log_in(visit(grouped), provider).status_code == 303
    assert groups(given, user) == ["local", "oidc:team/old", "oidc:other/kept"]
    assert "changes no group" in caplog.text
    assert len(sessions(given, user)) == 1


def test_a_name_that_does_not_fit_is_left_out(grouped, given, provider, user, caplog):
    provider.claims = {"realm_access": {"roles": ["fits", "x" * 60, "a\u202eb", "", "fits"]}}
    log_in(visit(grouped), provider)
    assert groups(given, user) == ["local", "oidc:other/kept", "oidc:team/fits"]
    assert "has 3 groups whose names are too long" in caplog.text


@pytest.mark.parametrize("name", ["editors\u00a0", "editors\u3000", "editors ", "a  b", "a\u2003b"])
def test_a_name_is_not_corrected(grouped, given, provider, user, name):
    """Otherwise the members of one group would be those of another one at the provider."""
    provider.claims = {"realm_access": {"roles": [name]}}
    log_in(visit(grouped), provider)
    assert groups(given, user) == ["local", "oidc:other/kept"]


@pytest.mark.parametrize(("name", "known"), [
    ("/editors", "editors"), ("//editors", "/editors"), ("editors/", "editors/"), (" editors", " editors"),
    ("/a/b", "a/b"), ("oidc:team/a", "oidc:team/a")])
def test_only_the_beginning_of_a_path_is_left_out(grouped, given, provider, user, name, known):
    provider.claims = {"realm_access": {"roles": [name]}}
    log_in(visit(grouped), provider)
    assert groups(given, user) == ["local", "oidc:other/kept", f"oidc:team/{known}"]


def test_a_claim_may_have_dots_in_its_name(instance_folder, database_url, given, provider, user):
    with app_with(instance_folder, database_url, provider, groups_claim="https://example.org/groups") as app:
        provider.claims = {"https://example.org/groups": ["editors"]}
        log_in(visit(app), provider)
    assert "oidc:team/editors" in groups(given, user)


def test_without_the_setting_nothing_is_read(team, given, provider, user):
    provider.claims = {"groups": ["editors"], "realm_access": {"roles": ["editors"]}}
    log_in(visit(team), provider)
    assert groups(given, user) == ["local", "oidc:team/old", "oidc:other/kept"]


def test_the_groups_of_a_login_count_although_a_code_is_missing(grouped, given, provider, user, clock):
    enrol(caller_of(grouped, user), clock)
    provider.claims = {"realm_access": {"roles": ["editors"]}}
    assert "/console/login/code/" in log_in(visit(grouped), provider).headers["Location"]
    assert groups(given, user)[-1] == "oidc:team/editors"


def test_an_identity_that_is_disconnected_leaves_no_groups(grouped, given, provider, user):
    given.row(Identity(owner_id=user.id, issuer="https://second.example.org", subject="x"))
    provider.claims = {"realm_access": {"roles": ["editors"]}}
    log_in(visit(grouped), provider)
    caller = caller_of(grouped, user)
    row = next(one for one in caller.get("/api/profile/identities").json["data"] if one["provider"] == "team")
    assert caller.delete(f"/api/profile/identities/{row['id']}").status_code == 204
    assert groups(given, user) == ["local", "oidc:other/kept"]


@pytest.mark.both_databases
def test_an_identity_that_is_disconnected_in_between_brings_no_groups(grouped, given, provider, user, monkeypatch):
    """They would stay, because no other login with the provider could take them."""
    attach = identities._attach

    def disconnected(*arguments):
        Identity.delete().where(Identity.owner_id == user.id).execute()
        return attach(*arguments)

    provider.claims = {"realm_access": {"roles": ["editors"]}}
    monkeypatch.setattr(identities, "_attach", disconnected)
    assert log_in(visit(grouped), provider).status_code == 403
    assert groups(given, user) == ["local", "oidc:team/old", "oidc:other/kept"]
    assert not sessions(given, user)


def test_a_new_account_has_its_groups(instance_folder, database_url, given, provider):
    with app_with(instance_folder, database_url, provider, groups_claim="groups", create_users=True) as app:
        provider.claims = {"sub": "grouped", "email": "grouped@example.org", "groups": ["editors"]}
        log_in(visit(app), provider)
        with given.database.connected():
            assert User.by_email("grouped@example.org").groups == ["oidc:team/editors"]


def test_a_policy_without_lines_for_the_provider_changes_no_role(grouped, given, provider, user):
    with given.database.connected(), given.database.transaction():
        User.update(role="manager").where(User.id == user.id).execute()
    provider.claims = {"realm_access": {"roles": ["editors"]}}
    assert log_in(visit(grouped), provider).status_code == 303
    with given.database.connected():
        assert User.by_id(user.id).role == "manager"


def test_a_rule_names_a_group_and_the_tools_know_it(tmp_path, database_url, given, provider, instance_folder):
    """The condition decides, and `who` finds the user by it."""
    add_line(instance_folder / "policies" / "model.conf",
             "    p.when == 'team_editors' && inGroup(r.sub, 'oidc:team/editors') || \\")
    add_line(instance_folder / "policies" / "products.csv", "p, user, product.create, team_editors, allow")
    with app_with(instance_folder, database_url, provider, groups_claim="groups") as app:
        user = given.user()
        given.row(Identity(owner_id=user.id, issuer=provider.issuer, subject="ruled"))
        body = {"name": "Lamp", "sku": "ruled", "price": 5, "currency": "EUR"}
        assert caller_of(app, user).post("/api/products", body).status_code == 403
        provider.claims = {"sub": "ruled", "groups": ["editors"]}
        visitor = visit(app)
        assert begin(visitor)
        assert log_in(visitor, provider).status_code == 303
        assert caller_of(app, user).post("/api/products", body).status_code == 201
        answer = caller_of(app, "admin").get("/api/admin/policy/who?permission=product.create")
        assert user.id in answer.text
