"""Access reviews: how users can log in, by the facts of the feature."""

from __future__ import annotations

import pytest

from gatepost.collections import erasing
from gatepost.collections.plugins.discovery import discover
from gatepost.features import Feature, FeatureError, Features
from gatepost.http.request.user_fact import UserFact
from gatepost.testing import log_in
from models.base import Rows
from models.tables.passkey import Passkey
from models.tables.user import User
from tests.accounts.phones import enrol
from tests.accounts.test_single_sign_on import connect
from tests.apps import PASSWORD
from tests.databases import Statements
from tests.http.console.pages import visit

REVIEW = "/api/admin/policy/review"
NAMES = ("groups", "password", "email_verified_at", "facts")
NONE = {"second_factor": False, "passkeys": 0, "identities": []}


def reviewed(caller, user):
    answer = caller.get(REVIEW, query_string={"limit": 200, "role": user.role})
    assert answer.status_code == 200, answer.text
    [entry] = [each for each in answer.json["items"] if each["id"] == user.id]
    return entry


def add_passkey(given, user):
    given.database.transact(lambda: Rows(Passkey, user.tenant_id).insert(Passkey(
        owner_id=user.id, name="key", rp_id="example.org", credential_id=f"review of {user.id}", public_key="key",
        sign_count=0)))


@pytest.mark.both_databases
def test_it_says_how_a_user_can_log_in(team, given, provider, clock):
    owner, user, invited = (log_in(team, given.user("owner")), given.user("moderator", password=PASSWORD),
                            given.user("moderator"))
    assert {name: reviewed(owner, invited)[name] for name in NAMES} == {
        "groups": [], "password": False, "email_verified_at": None, "facts": NONE}
    add_passkey(given, user)
    connect(given, provider, user, f"review {user.id}")
    connect(given, provider, user, f"review {user.id} again")
    enrol(log_in(team, user), clock)
    given.database.transact(lambda: User.update(groups=["oidc:team/editors"]).where(User.id == user.id).execute())
    entry = reviewed(owner, user)
    assert (entry["password"], entry["groups"]) == (True, ["oidc:team/editors"])
    assert entry["facts"] == {"second_factor": True, "passkeys": 1, "identities": ["team", "team"]}
    assert reviewed(owner, invited)["facts"] == NONE, "and of no other user"


def test_the_page_shows_it(team, given, provider):
    user = given.user("support", password=PASSWORD, name="Ida Review")
    add_passkey(given, user)
    connect(given, provider, user, f"page {user.id}")
    text = visit(team, "owner").page("/console/people/review?role=support").text
    row = text[text.index("Ida Review"):]
    for words in ("Password", "Passkeys: 1", "Logins with a provider: team"):
        assert words in row
    assert "Second factor" not in row


def test_who_may_not_see_an_address_is_not_told_how_its_user_logs_in(under, given):
    viewer, user = given.user("support"), given.user("moderator")
    app = under(lines={"admin.csv": "\n".join(
        f"p, user:{viewer.id}, {permission}, always, allow"
        for permission in ("policy.view", "audit.view", "session.view", "token.view"))})
    entry = reviewed(log_in(app, viewer), user)
    assert "email" not in entry
    assert not set(NAMES) & set(entry)


@pytest.mark.both_databases
def test_the_statements_do_not_depend_on_the_number_of_users(team, given, monkeypatch):
    owner = log_in(team, given.user("owner"))
    database = team.extensions["gatepost"].database
    owner.get(REVIEW, query_string={"limit": 1})  # prepares statements
    executed, counts = Statements(), []
    for name in ("execute_sql", "query", "recall", "write"):
        run = getattr(type(database), name)
        monkeypatch.setattr(type(database), name, lambda self, sql, *rest, _run=run: (
            executed.note(str(sql)), _run(self, sql, *rest))[1])
    for limit in (2, 50):
        executed.clear()
        assert owner.get(REVIEW, query_string={"limit": limit}).status_code == 200
        counts.append(len(list(executed)))
    assert counts[0] == counts[1]


def test_without_the_feature_there_are_no_facts():
    assert discover(without=("accounts",)).features.facts() == []
    assert [fact.name for fact in discover().features.facts()] == ["second_factor", "passkeys", "identities"]


@pytest.mark.parametrize("facts", [["second_factor"], [("a", "b", 0, dict)]], ids=str)
def test_a_wrong_fact_of_a_plugin_is_named(facts):
    with pytest.raises(FeatureError, match="mine"):
        Features([Feature(name="mine", facts=lambda: facts)]).facts()


def test_two_facts_of_one_name_are_refused():
    fact = UserFact("mine", "Mine", 0, lambda settings, ids: {})
    with pytest.raises(FeatureError, match="mine"):
        Features([Feature(name="one", facts=lambda: [fact]), Feature(name="two", facts=lambda: [fact])]).facts()


def test_an_erasure_overwrites_what_is_left_of_each_table_that_it_empties(team, given):
    """On Postgres, only these tables are rewritten."""
    user, collections = given.user(), team.extensions["gatepost"].collections
    overwritten = erasing._erased_tables(collections)
    assert {table for _, table, _ in erasing._rows_outside_collections(user)} <= set(overwritten)
    assert Passkey in overwritten
