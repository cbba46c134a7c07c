"""A permission with a fallback: another permission decides it, until a rule allows it by its own name."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from policies import Policy, Principal
from policies.evaluation.principal import FixedEnvironment
from policies.explaining.explain import explain
from policies.loading.oracle import sampled
from policies.loading.sample import PEOPLE
from policies.questions.diff import decide_alike, diff
from policies.tools.export import export
from policies.usage.unused import unused
from tests.policies.evaluation.against_casbin import compare
from tests.policies.generated import MODELS, OF_PLUGINS, WITH_FALLBACKS, assembled, policy_with_fallbacks

ME, OTHER = PEOPLE
NOON = FixedEnvironment(hour=12, ip="10.1.2.3")


def of(*rules: str) -> Policy:
    return assembled(list(rules), vocabulary=WITH_FALLBACKS)


def caller(role: str, scopes: frozenset[str] | None = None) -> Principal:
    return Principal(ME, f"user:{ME}", role, "t", scopes=scopes)


def may(subject: Policy, role: str, permission: str, scopes: frozenset[str] | None = None,
        **columns: object) -> bool:
    row = WITH_FALLBACKS.by_permission[permission].row(id=OTHER, **columns)
    return subject.decide(caller(role, scopes), permission, row, NOON)


def test_until_a_rule_names_it_a_permission_is_decided_like_its_fallback() -> None:
    subject = of("p, guest, product.update, own, allow", "p, editor, product.update, always, deny")
    assert may(subject, "user", "product.set_cost", owner_id=ME)
    assert not may(subject, "user", "product.set_cost", owner_id=OTHER)
    assert not may(subject, "editor", "product.set_cost", owner_id=ME)
    assert not may(subject, "user", "product.set_owner", owner_id=ME)


def test_an_allow_rule_that_names_it_counts_alone_with_the_wildcards_that_cover_it() -> None:
    subject = of("p, user, product.update, always, allow", "p, editor, product.set_cost, own, allow",
                 "p, manager, product.*, always, allow", "p, owner, *, always, allow")
    assert not may(subject, "user", "product.set_cost", owner_id=ME)
    assert may(subject, "editor", "product.set_cost", owner_id=ME)
    assert not may(subject, "editor", "product.set_cost", owner_id=OTHER)
    assert may(subject, "manager", "product.set_cost") and may(subject, "owner", "product.set_cost")


@pytest.mark.parametrize("rule", ["p, editor, product.*, own, allow", "p, editor, *.set_cost, own, allow",
                                  "p, editor, article.set_cost, always, allow"])
def test_a_wildcard_and_a_rule_about_another_resource_do_not_name_it(rule: str) -> None:
    subject = of("p, user, product.update, always, allow", rule)
    assert may(subject, "user", "product.set_cost")


def test_a_deny_rule_applies_and_does_not_end_the_fallback() -> None:
    subject = of("p, guest, order.view, always, allow", "p, editor, order.view_cost, always, deny")
    assert may(subject, "user", "order.view_cost")
    assert may(subject, "editor", "order.view") and not may(subject, "editor", "order.view_cost")


def test_a_scope_covers_it_with_its_fallback_until_a_rule_names_it() -> None:
    scopes = ["p2, write:rules, product.update", "p2, manage:rules, product.*"]
    before = of("p, user, product.update, always, allow", *scopes)
    assert may(before, "user", "product.set_cost", frozenset({"write:rules"}))
    after = of("p, user, product.update, always, allow", "p, user, product.set_cost, always, allow", *scopes)
    assert not may(after, "user", "product.set_cost", frozenset({"write:rules"}))
    assert may(after, "user", "product.set_cost", frozenset({"manage:rules"}))


def test_a_share_gives_what_it_gives_of_the_fallback() -> None:
    subject = of("p, user, product.view, shared, allow", "p, user, product.update, shared, allow")
    rights = []

    def shared(principal: Principal, row: Mapping[str, object], permission: str) -> bool:
        rights.append(permission)
        return True

    row = WITH_FALLBACKS.resources["product"].row(id=OTHER)
    assert subject.decide(caller("user"), "product.view_cost", row, NOON, shared)
    assert rights == ["product.view_cost"]


def test_followers_are_the_permissions_that_no_rule_tells_from_their_fallback() -> None:
    assert "order.view_cost" in of("p, user, order.view, own, allow", "p, user, order.*, own, allow").followers
    assert "order.view_cost" not in of("p, user, order.view_cost, own, deny").followers
    assert "order.view_cost" not in of("p, user, order.view_cost, own, allow").followers
    assert "order.view_cost" not in of("p, user, *.view_*, always, allow").followers
    assert "page.view_cost" in of("p, user, order.view_cost, own, deny").followers


def test_explain_says_which_permission_decides() -> None:
    subject = of("p, user, product.update, always, allow")
    row = WITH_FALLBACKS.resources["product"].row(id=OTHER)
    explained = explain(subject, caller("user"), "product.set_cost", row, NOON)
    assert explained.summary.endswith(". No rule names product.set_cost; product.update decides.")
    assert explained.decided_by is not None
    assert explained.decided_by.line == "p, user, product.update, always, allow"
    named = of("p, user, product.set_cost, always, allow")
    assert "No rule names" not in explain(named, caller("user"), "product.set_cost", row, NOON).summary


def test_a_comparison_shows_what_naming_takes_from_the_others() -> None:
    before = of("p, user, product.update, always, allow", "p, editor, product.view, always, allow")
    after = of("p, user, product.update, always, allow", "p, editor, product.view, always, allow",
               f"p, user:{ME}, product.set_cost, always, allow")
    less = {(who, change.permission) for change in diff(before, after) if change.kind == "less" for who in change.who}
    assert less == {("user", "product.set_cost")}
    assert {change.permission for change in diff(before, after)} == {"product.set_cost"}
    assert not decide_alike(before, after)


def test_the_lines_of_the_fallbacks_written_down_change_nothing() -> None:
    before = of("p, user, product.update, own, allow", "p, user, product.view, shared, allow",
                "p, editor, product.update, always, deny", "p, manager, product.*, always, allow",
                "p2, write:rules, product.update")
    lines = [str(line) for line in before.fallback_lines()]
    assert lines == ["p, user, product.set_cost, own, allow", "p, user, product.view_cost, shared, allow",
                     "p, editor, product.set_cost, always, deny", "p2, write:rules, product.set_cost"]
    after = of(*before.files["rules.csv"].decode().splitlines()[:-1], *lines)
    assert "product.set_cost" not in after.fallbacks
    assert not [*diff(before, after)]


def test_the_export_says_the_fallbacks_in_plain_casbin(tmp_path) -> None:
    subject = of("p, user, product.update, own, allow")
    for name, content in subject.files.items():
        (tmp_path / name).write_bytes(content)
    text = export(tmp_path, fallback_lines=subject.fallback_lines()).policy
    assert "p, user, product.set_cost, own, allow" in text.splitlines()
    assert "No rule names these permissions." in text


def test_a_rule_that_names_a_permission_is_never_called_unused() -> None:
    subject = of("p, user, product.update, always, allow", "p, manager, product.*, always, allow",
                 "p, manager, product.set_cost, always, allow", "p, manager, product.delete, always, allow")
    found = unused(subject, "2026-01-01", {}, [], [])
    named = {str(line.rule) for line in (*found.idle, *found.unseen)}
    assert "p, manager, product.delete, always, allow" in named
    assert "p, manager, product.set_cost, always, allow" not in named


@pytest.mark.parametrize("name", [*MODELS, *OF_PLUGINS])
def test_casbin_decides_alike_with_the_lines_of_the_fallbacks(name: str) -> None:
    for number in range(2):
        subject = policy_with_fallbacks(random.Random(f"{number} {name}"), name)
        compare(subject, number, 70)
        assert sampled(subject, most=20) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *OF_PLUGINS])
def test_casbin_decides_alike_about_many_policies(name: str) -> None:
    for number in range(2, 15):
        compare(policy_with_fallbacks(random.Random(f"{number} {name}"), name), number, 70)
