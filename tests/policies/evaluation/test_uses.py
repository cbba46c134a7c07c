"""Each real decision counts as a use of the deciding rule, and each page as a use of the rules that show its rows."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from policies import Policy, Principal
from policies.evaluation import residual
from policies.loading.sample import sample_questions
from tests.policies import generated
from tests.policies.generated import MODELS, assembled

ZOE, BOB = "0199f3a0-0000-7000-8000-000000000001", "0199f3a0-0000-7000-8000-000000000002"
OWN, PUBLISHED = "p, user, article.view, own, allow", "p, user, article.view, published, allow"
SHARED = "p, user, article.view, shared, allow"
ALWAYS, NEVER_OWN = "p, user, article.view, always, allow", "p, user, article.view, own, deny"
A_ROW = {"id": "1", "owner_id": BOB, "status": "draft", "department": None}
OF_ZOE, PUBLIC = {**A_ROW, "owner_id": ZOE}, {**A_ROW, "status": "published"}


class At:
    hour, weekday, date, now, ip, device, request = 10, 1, "2026-11-23", "2026-11-23T10:00:00.000000Z", "", "", "read"
    method = "GET"


def zoe() -> Principal:
    return Principal(id=ZOE, key=f"user:{ZOE}", role="user", tenant_id="t")


def counted(policy: Policy) -> dict[str, int]:
    """Returns rule → number of uses, for all permissions."""
    found: dict[str, int] = {}
    for (rule, _), count in policy.uses.counts().items():
        line = f"p, {rule.sub}, {rule.act}, {rule.when}, {rule.eft}"
        found[line] = found.get(line, 0) + count
    return found


@pytest.mark.parametrize("name", [*MODELS])
def test_settling_answers_as_deciding_does_and_counts_one_line_where_one_settles_it(name: str) -> None:
    chance = random.Random(name)
    policy = generated.policy(chance, name)
    for _, question in islice(sample_questions(policy, chance), 400):
        before = sum(policy.uses.counts().values())
        allowed = policy.settle(*question)
        assert allowed is policy.decide(*question)
        assert sum(policy.uses.counts().values()) - before in ((1,) if allowed else (0, 1))


@pytest.mark.parametrize(("lines", "row", "settled"), [
    ((OWN, PUBLISHED), OF_ZOE, OWN), ((OWN, PUBLISHED), PUBLIC, PUBLISHED), ((OWN, PUBLISHED), A_ROW, None),
    ((OWN, PUBLISHED), {**PUBLIC, "owner_id": ZOE}, OWN),
    ((OWN, ALWAYS), OF_ZOE, ALWAYS), ((ALWAYS, NEVER_OWN), OF_ZOE, NEVER_OWN), ((ALWAYS, NEVER_OWN), A_ROW, ALWAYS),
    ((PUBLISHED, NEVER_OWN), OF_ZOE, None)])
def test_the_first_line_that_allows_settles_or_one_without_condition_or_a_line_that_denies_it(lines, row, settled):
    policy = assembled(list(lines))
    policy.settle(zoe(), "article.view", row, At())
    assert counted(policy) == ({settled: 1} if settled else {})


def test_what_is_decided_for_a_tool_counts_nothing() -> None:
    policy = assembled([OWN])
    assert policy.decide(zoe(), "article.view", OF_ZOE, At())
    assert counted(policy) == {}


@pytest.mark.parametrize(("rows", "shown_by"), [
    ([OF_ZOE, PUBLIC], {OWN, PUBLISHED}), ([PUBLIC, PUBLIC], {PUBLISHED}), ([], set()),
    ([PUBLIC, A_ROW], {PUBLISHED, SHARED}),  # what else has shown the second one?
    ([{"id": "1", "owner_id": ZOE}], {OWN}),  # by its status it may be public, too
    ([{"id": "1"}], {OWN, PUBLISHED, SHARED})], ids=["both", "one", "none", "by a share", "a column", "no column"])
def test_a_page_counts_once_for_each_line_that_shows_a_row_or_may_be_the_only_one(rows, shown_by):
    policy = assembled([OWN, PUBLISHED, SHARED])
    policy.glance(zoe(), "article.view", rows, At())
    assert counted(policy) == dict.fromkeys(shown_by, 1)


def test_of_many_pages_one_is_looked_at_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter((10.0, 10.5, 11.5))
    monkeypatch.setattr(residual, "monotonic", lambda: next(moments))
    policy = assembled([OWN])
    for _ in range(3):
        policy.glance(zoe(), "article.view", [OF_ZOE], At())
    assert counted(policy) == {OWN: 2}


def test_a_token_whose_scopes_do_not_cover_it_uses_no_line() -> None:
    policy = assembled([OWN])
    narrow = Principal(id=ZOE, key=f"user:{ZOE}", role="user", tenant_id="t", kind="service", scopes=frozenset())
    assert not policy.settle(narrow, "article.view", OF_ZOE, At())
    policy.glance(narrow, "article.view", [OF_ZOE], At())
    assert counted(policy) == {}


def test_what_is_counted_of_a_person_whose_answers_were_forgotten_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policies.evaluation.policy.MOST_OF_PERSONS", 0)
    line = f"p, user:{ZOE}, article.view, own, allow"
    policy = assembled([line])
    assert all(policy.settle(zoe(), "article.view", OF_ZOE, At()) for _ in range(2))
    assert counted(policy) == {line: 2}
