"""A rule is unused if that is proved, or if no use was counted and no recorded decision needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies import Policy
from policies.questions.recorded import Entry
from policies.questions.replay import replay
from policies.syntax.rules import Lines, Rule
from policies.usage.lines import digest, line_of
from policies.usage.unused import Unused, unused
from tests.policies.generated import assembled

ZOE = "0199f3a0-0000-7000-8000-000000000001"
OWN, DRAFT = "p, user, article.update, own, allow", "p, user, article.update, own_draft, allow"
VIEW, SUBMIT = "p, user, article.view, own, allow", "p, user, article.submit, own, allow"
PERSONAL = f"p, user:{ZOE}, article.update, always, allow"
NOT_OWN = "p, user, article.update, own, deny"
SINCE = "2026-10-24T00:00:00.000000Z"
MINE = {"owner_id": ZOE, "status": "draft", "department": None}


def entry(**columns: Any) -> Entry:
    """An entry: Zoe, a user, was allowed to update her own draft. The arguments replace columns."""
    usual = Entry(id="1", time="2026-11-20T10:00:00.000000Z", tenant_id="t", principal=f"user:{ZOE}", role="user",
                  action="update", resource="article", resource_id="0199f3a0-0000-7000-8000-0000000000aa",
                  result="allowed", reason=None, count=1,
                  facts={"obj": MINE, "new": {}, "shares": [], "asked": ["article.update"]})
    return replace(usual, **columns)


def refused(**columns: Any) -> Entry:
    return entry(result="refused", reason="forbidden", **columns)


def rule_of(policy: Policy, line: str) -> Rule:
    return next(rule for rule in policy.rules if line_of(rule) == line)


def found(lines: list[str], *rows: Entry, seen: tuple[str, ...] = ()) -> Unused:
    policy = assembled(lines)
    counts = {(digest(rule_of(policy, line)), line.split(", ")[2]): 3 for line in seen}
    return unused(policy, SINCE, counts, rows, ())


def told(lines: Any) -> dict[str, str | None]:
    """Returns rule → proof."""
    return {line.as_json()["text"]: line.as_json()["proved"] for line in lines}


def test_a_line_without_effect_is_proved_by_comparison_even_where_it_was_seen() -> None:
    result = found([OWN, DRAFT], seen=(OWN, DRAFT))
    assert told(result.idle) == {DRAFT: "comparison"}
    assert (result.idle[0].reason, result.idle[0].seen) == ("settled by rules.csv:1", 3)
    assert not result.unseen


def test_a_line_that_was_not_seen_is_proved_where_nothing_recorded_needs_it() -> None:
    assert told(found([OWN, SUBMIT], entry(), seen=(OWN,)).unseen) == {SUBMIT: "replay"}


def test_a_line_that_was_seen_is_used() -> None:
    assert not found([OWN, VIEW], entry(), seen=(OWN, VIEW))


def test_a_line_that_something_recorded_needs_is_used_though_it_was_not_seen() -> None:
    assert told(found([OWN, SUBMIT], entry()).unseen) == {SUBMIT: "replay"}


def test_of_two_lines_that_stand_in_for_each_other_one_stays() -> None:
    result = found([OWN, PERSONAL], entry())
    assert told(result.unseen) == {PERSONAL: "replay"}, "each alone can go, both together cannot"


def test_of_the_lines_that_bear_on_a_decision_those_stay_that_it_needs_together() -> None:
    shared = [line.replace("own", "shared") for line in (VIEW, OWN)]
    result = found([VIEW, OWN, *shared], entry(facts={"obj": MINE, "new": {}, "shares": []}))
    assert told(result.unseen) == dict.fromkeys(shared, "replay"), "to see it, and to update it"


def test_a_line_that_denies_is_used_where_something_refused_would_be_let_in_without_it() -> None:
    assert told(found([PERSONAL, NOT_OWN], refused(), seen=(PERSONAL,)).unseen) == {}
    assert told(found([PERSONAL, NOT_OWN], entry(facts={"obj": {**MINE, "owner_id": None}, "new": {}, "shares": [],
                                                        "asked": ["article.update"]})).unseen) == {NOT_OWN: "replay"}


def test_a_line_is_not_proved_where_a_decision_depends_on_what_was_not_recorded() -> None:
    result = found([OWN, SUBMIT], entry(facts={"asked": ["article.update"], "shares": []}), seen=(SUBMIT,))
    assert (told(result.unseen), result.unseen[0].unknown) == ({OWN: None}, 1)


def test_nothing_is_proved_where_it_was_not_recorded_what_was_asked() -> None:
    merged = refused(action="*", resource="*", facts=None, count=7)
    result = found([OWN], merged)
    assert (told(result.unseen), result.unrecorded) == ({OWN: None}, 7)


@pytest.mark.parametrize("rows", [
    (entry(),), (refused(),), (entry(), refused(facts={"obj": {**MINE, "owner_id": None}, "new": {}, "shares": []})),
    (entry(action="submit"), entry(), entry(role="editor", facts=None))])
def test_what_is_proved_can_be_taken_out_together(rows: tuple[Entry, ...]) -> None:
    lines = [OWN, DRAFT, VIEW, SUBMIT, PERSONAL, NOT_OWN]
    policy, result = assembled(lines), found(lines, *rows)
    out = {line.rule for line in (*result.idle, *result.unseen) if line.as_json()["proved"]}
    left = Policy(policy.vocabulary, policy.model, Lines([rule for rule in policy.rules if rule not in out],
                                                         list(policy.scopes), list(policy.roles.links)), {}, "left")
    assert not replay(policy, left, rows)


def test_a_permission_is_used_by_a_decision_or_by_what_was_counted_and_else_named() -> None:
    result = found([OWN, VIEW, SUBMIT, "p, user, article.delete, own, deny"], entry(),
                   seen=(VIEW, "p, user, article.delete, own, deny"))
    assert {"article.update", "article.view"}.isdisjoint(result.permissions)
    assert result.permissions["article.submit"] is True
    assert result.permissions["article.delete"] is False, "to be refused is no use, and no line gives it"


def test_for_a_terminal_it_says_each_grade_and_what_was_not_counted() -> None:
    policy = assembled([OWN, DRAFT, SUBMIT])
    lines = list(unused(policy, SINCE, {}, [entry()], ("Nothing was counted.",)).as_lines())
    assert lines[0].startswith("Of 3 rules, 1 have no effect, and 1 others were not used since 2026-10-24")
    assert f"  rules.csv:2  {DRAFT}  (settled by rules.csv:1)" in lines
    assert f"  rules.csv:3  {SUBMIT}" in lines
    assert "  Nothing was counted." in lines


def test_a_line_that_is_put_back_is_tried_among_those_that_reach_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    take = Policy._take
    monkeypatch.setattr(Policy, "_take", lambda policy, rules: read.append(len(rules)) or take(policy, rules))
    counts = []
    for count in (10, 100):
        people = [f"0199f3a0-0000-7000-8000-{number:012x}" for number in range(count)]
        rows = [entry(principal=f"user:{one}", facts={**entry().facts, "obj": {**MINE, "owner_id": one}})
                for one in people]
        lines = [f"p, user:{one}, article.update, own, allow" for one in people]
        read.clear()
        assert not found([SUBMIT, *lines], *rows).unseen[1:], "each person needs the line"
        counts.append(sum(read))
    assert counts[1] < 11 * counts[0], "rules that are read again: as many as there are lines, not their square"
