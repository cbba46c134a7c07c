"""An example is a possible request, and its sentence names all relevant facts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

import pytest

from policies.comparison.candidates import parsed
from policies.comparison.prover import Comparison, Prover
from policies.comparison.subjects import Subject
from policies.syntax.expression import PluginCall, conjunction, negation
from policies.syntax.vocabulary import Function
from tests.policies.comparison.edited import SHIPPED, differences, edited
from tests.policies.shipped_vocabulary import VOCABULARY

DAY, MOMENT = "'2026-01-01'", "'2026-01-01T00:00:00.000000Z'"


@pytest.mark.parametrize("condition", [
    f"r.env.now > {MOMENT}", f"r.env.now > {MOMENT} && r.env.hour == 3", f"r.env.now > {MOMENT} && r.env.date < {DAY}",
    f"r.env.now < {MOMENT} && r.env.weekday == 7 && r.env.hour > 22", f"r.env.date == {DAY}", "r.env.hour == 0",
    f"r.env.now >= '2026-01-02T11:00:00.000000Z' && r.env.date == {DAY} && r.env.hour > 8",
])
def test_the_clock_of_an_example_is_that_of_some_zone(condition: str) -> None:
    new = edited("p, user, order.export, trial, allow", conditions=[f"p.when == 'trial' && {condition}"])
    found = differences(SHIPPED, new)["user", "order.export"].gained
    assert found is not None
    env = found.environment
    wall = datetime.combine(date.fromisoformat(env.date), time(env.hour), UTC)
    assert date.fromisoformat(env.date).isoweekday() == env.weekday
    assert -timedelta(hours=13) < wall - parsed(env.now) <= timedelta(hours=14)


ASKED: list[tuple[object, ...]] = []


def near(*given: object) -> bool:
    ASKED.append(given)
    return True


NEAR = PluginCall(Function("near", (("obj", "note"),), (), near, near), ())
WITH_NEAR = replace(VOCABULARY, functions={"near": NEAR.function})


def test_what_a_plugin_answers_is_yes_or_no_and_nothing_else_is_known_of_it() -> None:
    prover = Prover(SHIPPED)
    assert prover.possible(NEAR, Subject("user"), "order.view")
    assert prover.possible(negation(NEAR), Subject("user"), "order.view")
    assert not prover.possible(conjunction((NEAR, negation(NEAR))), Subject("user"), "order.view")
    found = prover.example(NEAR, Subject("user"), "order.view")
    assert str(found) == "near(r.sub, r.obj, r.env) holds"


@pytest.mark.parametrize(("before", "after", "example"), [
    ("r.env.hour > 20", "(r.env.hour > 20 || near(r.sub, r.obj, r.env))",
     "the hour is 0, near(r.sub, r.obj, r.env) holds"),
    ("near(r.sub, r.obj, r.env)", "(near(r.sub, r.obj, r.env) || r.env.hour > 20)",
     "the hour is 21, near(r.sub, r.obj, r.env) does not hold"),
    ("near(r.sub, r.obj, r.env) && r.env.hour > 20", "(near(r.sub, r.obj, r.env) || r.env.hour > 20)",
     "the hour is 0, near(r.sub, r.obj, r.env) holds"),
    ("near(r.sub, r.obj, r.env) && r.env.hour < 0", "(near(r.sub, r.obj, r.env) || r.env.hour > 20) && r.env.hour > 20",
     "the hour is 21"),
])
def test_an_example_is_tried_as_its_facts_say_and_no_plugin_is_asked(before: str, after: str, example: str) -> None:
    """A plugin's function may return anything or fail for an invented object. Only loading calls it, to detect that."""
    old, new = (edited("p, user, order.export, trial, allow", conditions=[f"p.when == 'trial' && {said}"],
                       vocabulary=WITH_NEAR) for said in (before, after))
    ASKED.clear()
    found = Comparison(old, new).between(Subject("user"), "order.export")
    assert (str(found.gained), found.lost, ASKED) == (example, None, [])


def test_an_example_is_a_request_that_can_be_tried() -> None:
    new = edited("p, user, order.refund, always, allow")
    gained = differences(SHIPPED, new)["user", "order.refund"].gained
    assert gained is not None
    assert str(gained) == "always"
    assert (gained.answer(SHIPPED), gained.answer(new)) == (False, True)


def test_an_administrator_without_an_id_imports_rows_by_a_command() -> None:
    line, others = "p, admin, article.import, not_mine, deny", "r.obj.owner_id != r.sub.id"
    one = edited(line, conditions=[f"p.when == 'not_mine' && {others}"])
    other = edited(line, conditions=[f"p.when == 'not_mine' && ({others} || r.sub.key == 'operator')"])
    lost = differences(one, other)["admin", "article.import"].lost
    assert lost is not None and (lost.principal.id, lost.principal.key) == (None, "operator")
    assert (lost.answer(one), lost.answer(other)) == (True, False)


def test_a_guest_has_neither_id_nor_department_nor_shares() -> None:
    conditions = ["p.when == 'mine' && (r.obj.owner_id == r.sub.id || r.obj.department == r.sub.department || "
                  "shared(r.sub, r.obj, r.act))"]
    found = differences(SHIPPED, edited("p, guest, order.view, mine, allow", conditions=conditions))
    assert ("user", "order.view") in found
    assert ("guest", "order.view") not in found


def test_a_guest_is_in_no_group_whatever_names_it() -> None:
    found = differences(SHIPPED, edited("p, guest, order.export, mine, allow",
                                        conditions=["p.when == 'mine' && inGroup(r.sub, r.obj.department)"]))
    assert ("user", "order.export") in found
    assert ("guest", "order.export") not in found


def test_a_user_owns_their_own_row() -> None:
    lines = "p, user, user.update, self, allow", "p, user, user.delete, own, allow"
    one = edited(*lines, conditions=["p.when == 'self' && r.obj.owner_id == r.sub.id"], file="users.csv")
    other = edited(*lines, conditions=["p.when == 'self' && r.obj.id == r.sub.id"], file="users.csv")
    assert differences(one, other) == {}
