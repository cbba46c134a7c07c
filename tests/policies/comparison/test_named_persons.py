"""A user whom rules name is compared separately from all others, with objects of their own."""

from __future__ import annotations

import pytest

from policies.comparison.prover import Comparison, Prover, example
from policies.comparison.subjects import Subject
from tests.policies.generated import RULE, assembled, model

ZOE, YAN = (f"user:0199f3a0-0000-7000-8000-00000000000{number}" for number in (1, 2))
WHO_AND_WHAT = "(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && globMatch(r.act, p.act)"


def test_an_object_can_be_a_named_persons_own() -> None:
    old, new = assembled([RULE]), assembled([RULE, f"p, {ZOE}, article.publish, own, allow"])
    gained = Comparison(old, new).between(Subject("user", ZOE), "article.publish").gained
    assert gained is not None and gained.row is not None
    assert gained.principal.key == ZOE and f"user:{gained.row['owner_id']}" == ZOE
    assert str(gained) == "owner_id is the caller's id"


def test_persons_whom_no_condition_names_are_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []

    def counted(goal: object, *rest: object) -> object:
        searched.append(goal)
        return example(goal, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("policies.comparison.prover.example", counted)
    policy = assembled([RULE, *(f"p, {name}, article.publish, own, allow" for name in (ZOE, YAN))])
    prover = Prover(policy)
    goal = policy.conditions["own"].expression
    found = [prover.example(goal, Subject("user", name), "article.publish") for name in (ZOE, YAN)]
    assert [one and one.principal.key for one in found] == [ZOE, YAN]
    assert [one and one.answer(policy) for one in found] == [True, True]
    assert len(searched) == 1


def test_a_person_whom_a_condition_names_is_found_among_all_others() -> None:
    text = model(f"{WHO_AND_WHAT} && (p.when == 'always' || p.when == 'zoe' && r.sub.key == '{ZOE}')")
    old = assembled(["p, user, article.view, always, allow"], text=text)
    new = assembled(["p, user, article.view, always, allow", "p, user, article.publish, zoe, allow"], text=text)
    gained = Comparison(old, new).between(Subject("user"), "article.publish").gained
    assert gained is not None and gained.principal.key == ZOE
    assert str(gained) == f"the caller is {ZOE}"
    assert not Comparison(old, new).between(Subject("user", YAN), "article.publish")
