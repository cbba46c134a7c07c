"""Lines that give a role to a group of an identity provider: `g, oidc:<provider>/<group>, role`."""

from __future__ import annotations

import pytest

from policies.evaluation.principal import FixedEnvironment, Principal
from policies.lint.warnings import warnings
from policies.loading.oracle import Oracle
from policies.questions.diff import decide_alike, diff
from policies.usage.holdings import Holdings
from tests.policies.generated import assembled, findings_of
from tests.policies.shipped_vocabulary import VOCABULARY

RULES = ["p, user, article.view, own, allow", "p, editor, article.update, own, allow",
         "p, manager, article.delete, own, allow"]
LINKS = ["g, editor, user", "g, manager, user", "g, owner, manager", "g, owner, editor"]
ZOE = "user:0199f3a0-0000-7000-8000-000000000001"


def given(*lines, groups):
    found = assembled(RULES, [*LINKS, *lines]).roles.of_groups(groups)
    return None if found is None else (found.role, found.place)


def test_the_line_of_a_group_gives_its_role():
    line = "g, oidc:team/Red shirts, editor"
    assert given(line, groups=["oidc:team/Red shirts"]) == ("editor", "roles.csv:5")
    assert given(line, groups=["oidc:other/Red shirts", "oidc:team/red shirts", "Red shirts", "editor"]) is None
    assert given(line, groups=[]) is None


def test_of_several_roles_one_counts_that_no_other_of_them_inherits_then_the_first_line():
    lines = ["g, oidc:team/a, user", "g, oidc:team/b, manager", "g, oidc:team/c, editor", "g, oidc:team/d, owner"]
    for groups, role in (("ab", "manager"), ("bc", "manager"), ("cb", "manager"), ("ac", "editor"), ("abcd", "owner")):
        assert given(*lines, groups=[f"oidc:team/{one}" for one in groups])[0] == role, groups


def test_a_group_is_no_role_and_changes_no_decision():
    before, after = assembled(RULES, LINKS), assembled(RULES, [*LINKS, "g, oidc:team/a, owner"])
    assert "oidc:team/a" not in after.roles
    assert after.roles.closure("oidc:team/a") == {"oidc:team/a"}
    assert after.roles.names == before.roles.names
    assert decide_alike(before, after)


def test_casbin_reads_the_line_as_a_link_that_no_caller_has():
    group = "oidc:team/Doctors & R+D: a@b.c/d_e-f"
    policy = assembled(RULES, [*LINKS, f"g, {group}, owner"])
    oracle = Oracle.of(policy)
    member = Principal(ZOE[5:], ZOE, "user", "t", groups=(group,))
    owned = VOCABULARY.resources["article"].row(id="1", owner_id=ZOE[5:])
    for decide in (oracle.decide, policy.decide):
        assert decide(member, "article.view", owned, FixedEnvironment())
        assert not decide(member, "article.delete", owned, FixedEnvironment())


@pytest.mark.parametrize(("line", "message"), [
    ("g, oidc:team/a, guest", "no user can have the role guest"),
    ("g, oidc:team/a, edtor", "did you mean editor?"),
    ("g, oidc:team, editor", "`oidc:team` is no group of an identity provider"),
    ("g, oidc:/a, editor", "is no group of an identity provider"),
    ("g, oidc:Team/a, editor", "is no group of an identity provider"),
    ("g, oidc:team/, editor", "is no group of an identity provider"),
    ("g, oidc:team/a(b), editor", "is no group of an identity provider"),
    (f"g, oidc:team/{'a' * 60}, editor", "at most 64 characters"),
    ("g, editor, oidc:team/a", "is no role"),
    ("p, oidc:team/a, article.view, own, allow", "inGroup(r.sub, 'name')"),
])
def test_a_line_that_cannot_be_meant_is_refused_with_what_to_write(line, message):
    rules, links = (RULES, [*LINKS, line]) if line.startswith("g") else ([*RULES, line], LINKS)
    [finding] = findings_of(rules, links)
    assert message in finding


def test_a_group_has_one_line():
    [finding] = findings_of(RULES, [*LINKS, "g, oidc:team/a, editor", "g, oidc:team/a, manager"])
    assert finding == "roles.csv:6: `oidc:team/a` gets a role already, by roles.csv:5; one line a group"


def test_a_role_that_only_groups_get_is_used():
    lines = [*LINKS, "g, auditor, guest"]
    unused = [one for one in warnings(assembled(RULES, lines)) if "names the role auditor" in one.message]
    given = warnings(assembled(RULES, [*lines, "g, oidc:team/a, auditor"]))
    assert len(unused) == 1
    assert not [one for one in given if "names the role auditor" in one.message]


def test_a_diff_lists_the_lines():
    before = assembled(RULES, [*LINKS, "g, oidc:team/a, editor", "g, oidc:team/b, user"])
    after = assembled(RULES, [*LINKS, "g,  oidc:team/b,  user", "g, oidc:team/a, manager"])
    changes = diff(before, after)
    assert changes
    assert changes.groups == ("− g, oidc:team/a, editor", "+ g, oidc:team/a, manager")
    assert changes.as_json()["groups"] == list(changes.groups)
    assert changes.as_lines()[-3:] == ["Roles of groups, from the next login of each member:",
                                       "  − g, oidc:team/a, editor", "  + g, oidc:team/a, manager"]
    assert not diff(before, before)


def test_a_review_names_the_line_if_the_user_has_the_role_and_the_group():
    held = Holdings(assembled(RULES, [*LINKS, "g, oidc:team/a, editor"]))
    assert held.of(ZOE, "editor", ["oidc:team/a"])[0].how == ("stored", "given to oidc:team/a by roles.csv:5")
    assert held.of(ZOE, "editor", ["oidc:team/b"])[0].how == ("stored",)
    assert held.of(ZOE, "owner", ["oidc:team/a"])[0].how == ("stored",)
