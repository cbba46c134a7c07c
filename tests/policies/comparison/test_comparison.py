"""Two policies are compared exactly: each difference has an example, and each example shows a difference."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import policies
from policies.comparison import prover
from policies.comparison.prover import MOST_NODES, Comparison, Difference, Prover, Undecided
from policies.comparison.subjects import Subject, allowed
from policies.evaluation import policy as evaluation
from policies.loading.loader import from_files
from policies.syntax import expression
from policies.syntax.expression import AllOf, Attribute
from tests.policies.comparison.against_casbin import Tally, tried
from tests.policies.comparison.edited import SHIPPED, differences, edited
from tests.policies.comparison.worlds import worlds
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import sampled

ANN = "user:0199f3a0-0000-7000-8000-000000000001"

PAIRS = 12  # `make proofs` takes more


def test_random_policies_differ_where_casbin_says_so_and_nowhere_else() -> None:
    tally = Tally()
    for world in worlds(1, PAIRS):
        tried(world, tally)
    assert tally.pairs == PAIRS
    assert tally.witnesses > PAIRS
    assert tally.equal > PAIRS
    assert tally.undecided == 0


@pytest.mark.parametrize("rule", sampled(SHIPPED.rules, 3), ids=lambda rule: rule.place)
def test_each_shipped_line_is_missed_when_it_is_gone(rule: policies.evaluation.policy.Rule) -> None:
    lines = FILES[rule.file].decode().split("\n")
    lines[rule.line - 1] = ""
    comparison = Comparison(SHIPPED, from_files({**FILES, rule.file: "\n".join(lines).encode()}, VOCABULARY))
    found = [comparison.between(Subject(role), permission)
             for role in sorted(SHIPPED.roles.names) for permission in SHIPPED.patterns.covered(rule.act)]
    assert any(difference.lost is not None for difference in found)
    assert all(difference.gained is None for difference in found)


DAY = "'2026-01-01'"
MOMENT = "'2026-01-01T00:00:00.000000Z'"
SAME = {
    "a number below 10000 is at most 9999": ("r.obj.total < 10000", "r.obj.total <= 9999"),
    "from twenty and before six is never": ("r.env.hour >= 20 && r.env.hour < 6", "r.env.hour > 23"),
    "an hour is always from 0 to 23": ("r.env.hour >= 0 && r.obj.total > 5", "r.env.hour < 24 && r.obj.total >= 6"),
    "a Saturday is no Wednesday": ("r.env.date == '2026-11-21' && r.env.weekday == 3", "r.env.hour > 23"),
    "a Saturday is a sixth day": ("r.env.date == '2026-11-21'", "r.env.date == '2026-11-21' && r.env.weekday == 6"),
    "what is written is no reading": ("r.env.method == 'POST' && r.env.request == 'read'", "r.env.hour > 23"),
    "a network within another": ("ipMatch(r.env.ip, '10.0.0.0/8') && ipMatch(r.env.ip, '10.1.0.0/16')",
                                 "ipMatch(r.env.ip, '10.1.0.0/16')"),
    "addresses of other networks": ("ipMatch(r.env.ip, '10.0.0.0/8') && ipMatch(r.env.ip, '192.168.0.0/16')",
                                    "r.env.hour > 23"),
    "a state that is none": ("r.obj.status == 'sold'", "r.env.hour > 23"),
    "all states but some": ("r.obj.status != 'pending' && r.obj.status != 'approved'",
                            "(r.obj.status == 'rejected' || r.obj.status == 'cancelled' || r.obj.status == 'refunded'"
                            " || r.obj.status == 'completed' || r.obj.status == 'shipped')"),
    "each row is of the caller's tenant": ("r.obj.tenant_id == r.sub.tenant_id && r.obj.total > 1", "r.obj.total > 1"),
    "equal to each other and to the caller": ("r.obj.owner_id == r.sub.id && r.obj.id == r.obj.owner_id",
                                              "r.obj.id == r.sub.id && r.obj.id == r.obj.owner_id"),
    "later than what is later": (f"r.obj.created_at < r.obj.updated_at && r.obj.updated_at < {MOMENT}",
                                 f"r.obj.created_at < r.obj.updated_at && r.obj.created_at < {MOMENT}"
                                 f" && r.obj.updated_at < {MOMENT}"),
    "a list is each of its values": ("(r.obj.status in['pending', 'approved'])",
                                     "(r.obj.status == 'approved' || r.obj.status == 'pending')"),
    "more than minus two is at least minus one": ("r.obj.total > -2", "r.obj.total >= -1"),
    "before and after a time is never": (f"r.env.now < {MOMENT} && r.env.now >= {MOMENT}", "r.env.hour > 23"),
    "created after a time, and the time before": (
        f"r.obj.created_at > r.env.now && r.env.now > {MOMENT} && r.obj.created_at > {MOMENT}",
        f"r.obj.created_at > r.env.now && r.env.now > {MOMENT}"),
    "older than ninety days is older than thirty": (
        "olderThan(r.obj.created_at, 'P90D') && olderThan(r.obj.created_at, 'P30D')",
        "olderThan(r.obj.created_at, 'P90D')"),
    "two weeks are fourteen days": ("youngerThan(r.obj.created_at, 'P2W')", "youngerThan(r.obj.created_at, 'PT336H')"),
    "neither older nor younger is as old": (
        "olderThan(r.obj.created_at, 'P1D') && youngerThan(r.obj.created_at, 'P1D')", "r.env.hour > 23"),
    "older than a day on a Monday, and of the past": (
        "olderThan(r.obj.created_at, 'P1D') && r.env.weekday == 1 && r.env.hour < 12 && r.obj.created_at < r.env.now",
        "olderThan(r.obj.created_at, 'P1D') && r.env.weekday == 1 && r.env.hour < 12"),
    "a time, and an age that it has already": (
        f"olderThan(r.obj.created_at, 'P30D') && r.obj.created_at < {MOMENT} && r.env.now > "
        "'2026-01-31T00:00:00.000000Z'", f"r.obj.created_at < {MOMENT} && r.env.now > '2026-01-31T00:00:00.000000Z'"),
    "later than what is younger": (
        "youngerThan(r.obj.created_at, 'P1D') && r.obj.updated_at >= r.obj.created_at && "
        "youngerThan(r.obj.updated_at, 'P2D')",
        "youngerThan(r.obj.created_at, 'P1D') && r.obj.updated_at >= r.obj.created_at"),
    "no zone is two days ahead": (f"r.env.now < {MOMENT} && r.env.date > '2026-01-02'", "r.env.hour > 23"),
    "it is noon nowhere on the day before": ("r.env.now >= '2026-01-01T16:00:00.000000Z' && r.env.hour < 4 && "
                                             "r.env.date < '2026-01-01'", "r.env.hour > 23"),
    "in the group of the department": (
        "inGroup(r.sub, r.obj.department) && r.obj.department == 'press' && inGroup(r.sub, 'press')",
        "inGroup(r.sub, 'press') && r.obj.department == 'press'"),
    "the head of the department": (
        "inGroup(r.sub, 'head-', r.obj.department) && r.obj.department == 'press' && inGroup(r.sub, 'head-press')",
        "inGroup(r.sub, 'head-press') && r.obj.department == 'press'"),
    "one prefix before another": (
        "inGroup(r.sub, 'a-', r.obj.department) && r.obj.department == 'b-c' && !inGroup(r.sub, 'a-b-c')",
        "r.env.hour > 23"),
    "in a group and not in it": ("inGroup(r.sub, 'press') && !inGroup(r.sub, 'press')", "r.env.hour > 23"),
    "a user is no guest": ("r.sub.kind != 'guest'", "(r.sub.kind == 'user' || r.sub.kind == 'service')"),
    "a known device": ("r.env.device != 'bot' && r.env.device != 'other'",
                       "(r.env.device == 'desktop' || r.env.device == 'mobile' || r.env.device == 'tablet')"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_in_other_words_is_no_difference(name: str) -> None:
    one, other = (edited("p, user, order.export, trial, allow", conditions=[f"p.when == 'trial' && {said}"])
                  for said in SAME[name])
    assert differences(one, other) == {}


NEVER = "r.obj.status == 'pending' && r.obj.status == 'approved'"
OTHER = {
    "one more": ("r.obj.total < 10000", "r.obj.total <= 10000", "total is 10000"),
    "an hour more": ("r.env.hour < 18", "r.env.hour <= 18", "the hour is 18"),
    "a day of the week": ("r.env.weekday < 6", "r.env.weekday < 7", "a Saturday"),
    "the next network": ("ipMatch(r.env.ip, '10.0.0.0/9')", "ipMatch(r.env.ip, '10.0.0.0/8')",
                         "the caller's address is 10.128.0.0"),
    "the other kind of address": ("ipMatch(r.env.ip, '0.0.0.0/0') && r.env.ip != '10.0.0.1'", "r.env.ip != '10.0.0.1'",
                                  "the caller's address is fd00::1"),
    "another's": ("r.obj.owner_id == r.sub.id", "(r.obj.owner_id == r.sub.id || r.obj.status == 'pending')",
                  "owner_id is another id"),
    "a missing value": ("r.obj.note == 'x' || r.obj.note != 'x'", "r.obj.total >= 0 || r.obj.total < 0",
                        "note is missing"),
    "a share": ("r.obj.status == 'pending'", "(r.obj.status == 'pending' || shared(r.sub, r.obj, r.act))",
                "it is shared with the caller"),
    "a token": ("r.sub.kind == 'user'", "r.sub.kind != 'guest'", "the kind of caller is service"),
    "a microsecond": (f"r.obj.created_at < {MOMENT}", f"r.obj.created_at <= {MOMENT}",
                      "created_at is 2026-01-01T00:00:00.000000Z"),
    "one more value": ("(r.obj.status in['pending', 'approved'])",
                       "(r.obj.status in['pending', 'shipped', 'approved'])", "status is shipped"),
    "another group": ("inGroup(r.sub, 'press')", "(inGroup(r.sub, 'press') || inGroup(r.sub, 'sales'))",
                      "the caller is in the group sales"),
    "the group of the department": ("inGroup(r.sub, 'press') && r.obj.department == 'press'",
                                    "inGroup(r.sub, r.obj.department)", "the caller is in the group other"),
    "an age": ("olderThan(r.obj.created_at, 'P90D')", "olderThan(r.obj.created_at, 'P30D')",
               "the time is 2026-11-18T10:00:00.000000Z, created_at is 2026-10-18T10:00:00.000000Z"),
    "an age up to which it counts": (NEVER, "youngerThan(r.obj.created_at, 'P1D')",
                                     "created_at is 2026-11-17T11:00:00.000000Z"),
    "an age at the same second": ("(youngerThan(r.obj.created_at, 'P1D') || olderThan(r.obj.created_at, 'P1D'))",
                                  "(r.obj.created_at <= r.env.now || r.obj.created_at > r.env.now)",
                                  "created_at is 2026-11-17T10:00:00.000000Z"),
    "an age at an hour": (NEVER, "olderThan(r.obj.created_at, 'P90D') && r.env.hour == 3",
                          "the hour is 3, created_at is 2026-08-19T03:00:00.000000Z"),
    "an age and a time": (
        NEVER, f"youngerThan(r.obj.created_at, 'P30D') && r.obj.created_at < {MOMENT}",
        "created_at is"),
    "the head of one department": (
        "inGroup(r.sub, 'head-press') && r.obj.department == 'press'", "inGroup(r.sub, 'head-', r.obj.department)",
        "department is other, the caller is in the group head-other"),
    "the hour of a time": (f"r.env.now < {MOMENT} && r.env.hour < 12", f"r.env.now < {MOMENT} && r.env.hour <= 12",
                           "the hour is 12"),
    "between two times of an early year": ("r.env.hour > 23", "r.obj.created_at > '0999-01-01T00:00:00.000000Z' && "
                                           "r.obj.created_at < '0999-01-01T00:00:00.000002Z'",
                                           "created_at is 0999-01-01T00:00:00.000001Z"),
    "the hour of an early year": ("r.env.now > '0999-01-01T00:00:00.000000Z' && r.env.hour < 12",
                                  "r.env.now > '0999-01-01T00:00:00.000000Z' && r.env.hour <= 12", "the hour is 12"),
    "a day ahead of the time": (f"r.env.now < {MOMENT} && r.env.date < '2026-01-01'",
                                f"r.env.now < {MOMENT} && r.env.date < '2026-01-02'", "the date is 2026-01-01"),
    "no object": ("r.obj.total >= 0 || r.obj.total < 0", "r.env.hour >= 0", "no object is named"),
}


@pytest.mark.parametrize("name", OTHER)
def test_a_difference_has_an_example_that_says_what_matters(name: str) -> None:
    before, after, example = OTHER[name]
    act = "order.view" if "share" in name else "order.export"
    one, other = (edited(f"p, guest, {act}, trial, allow", conditions=[f"p.when == 'trial' && ({said})"],
                         without="p, user,    order.view,         shared, allow") for said in (before, after))
    found = differences(one, other)
    assert "user", act in found
    difference = found["user", act]
    assert difference.lost is None
    assert example in str(difference.gained)


def test_a_person_is_compared_with_each_role_that_they_could_have() -> None:
    found = differences(SHIPPED, edited(f"p, {ANN}, order.refund, always, allow"))
    roles = {where[0] for where in found}
    assert roles == {f"{ANN} as {role}" for role in ("user", "editor", "moderator", "developer")}
    lent = differences(SHIPPED, edited(f"g, {ANN}, support"))
    assert f"{ANN} as support" not in {who for who, _ in lent}
    assert (f"{ANN} as user", "order.refund") in lent


def test_a_role_by_itself_is_none_of_the_persons_whom_lines_name() -> None:
    conditions = [f"p.when == 'ann' && r.sub.id == '{ANN.removeprefix('user:')}'"]
    old = edited("p, user, order.export, ann, allow", f"p, {ANN}, order.create, always, allow", conditions=conditions)
    new = edited(f"p, {ANN}, order.create, always, allow", conditions=conditions)
    found = differences(old, new)
    roles = set(SHIPPED.roles.names) - {"guest", "manager", "owner", "admin"}
    assert set(found) == {(f"{ANN} as {role}", "order.export") for role in roles}


def test_what_takes_too_long_is_undecided_and_never_guessed() -> None:
    columns = "total", "version"
    wild = " || ".join(f"(r.obj.{one} > {number} && r.obj.{other} < {number + 9} && r.env.hour != {number})"
                       for number in range(9) for one, other in (columns, columns[::-1]))
    old = edited("p, user, order.export, wild, allow", conditions=[f"p.when == 'wild' && ({wild})"])
    new = edited("p, user, order.export, wild, allow",
                 conditions=[f"p.when == 'wild' && ({wild} || r.obj.total == 99)"])
    few = Comparison(old, new, most=1).between(Subject("user"), "order.export")
    assert few == Difference(None, None, undecided=True)
    goal = allowed(old, Subject("user"), "order.export")
    with pytest.raises(Undecided):
        Prover(old, most=1).example(goal, Subject("user"), "order.export")
    assert Comparison(old, new).between(Subject("user"), "order.export").gained is not None


ATOMS: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: f"r.obj.total {chance.choice(('<', '>=', '=='))} {chance.randrange(50)}",
    lambda chance: f"r.obj.status {chance.choice(('==', '!='))} '{chance.choice(('pending', 'approved', 'shipped'))}'",
    lambda chance: f"r.env.hour {chance.choice(('<', '>='))} {chance.randrange(24)}",
    lambda chance: f"r.env.weekday == {chance.randrange(1, 8)}",
    lambda chance: f"r.env.date >= '2026-{chance.randrange(1, 13):02}-01'",
    lambda chance: f"ipMatch(r.env.ip, '10.{chance.randrange(4)}.0.0/16')",
    lambda chance: f"r.obj.currency == '{chance.choice(('EUR', 'USD', 'CHF'))}'",
    lambda chance: f"r.obj.{chance.choice(('owner_id', 'id'))} == r.sub.id",
    lambda chance: "r.obj.department == r.sub.department",
    lambda chance: f"r.env.device == '{chance.choice(('bot', 'mobile'))}'",
    lambda chance: "shared(r.sub, r.obj, r.act)",
)


@pytest.mark.parametrize("lines", [40, 80, pytest.param(160, marks=pytest.mark.slow)])
def test_so_many_conditions_of_one_permission_are_decided_well_within_the_bound(lines: int) -> None:
    chance = random.Random(lines)
    conditions = [f"p.when == 'c{number}' && " + " && ".join(chance.choice(ATOMS)(chance) for _ in range(3))
                  for number in range(lines)]
    rules = [f"p, user, order.update, c{number}, {'deny' if number % 7 == 0 else 'allow'}" for number in range(lines)]
    old = edited(*rules, conditions=conditions)
    new = edited(*(rule for rule in rules if "c3," not in rule), conditions=conditions)
    found = Comparison(old, new, most=MOST_NODES // 4).between(Subject("user"), "order.update")
    assert not found.undecided
    assert found.gained is None


def test_goals_that_come_to_the_same_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []
    search = prover.example
    monkeypatch.setattr(prover, "example", lambda goal, *rest: searched.append(goal) or search(goal, *rest))
    own, draft = (expression.Comparison("==", Attribute("obj", name), right)
                  for name, right in (("owner_id", Attribute("sub", "id")), ("status", "pending")))
    one = Prover(SHIPPED)
    for wide in (draft, AllOf((own, draft))):
        assert one.exception(own, wide, Subject("user"), "order.view") is not None
    assert len(searched) == 1


def test_a_comparison_that_finds_nothing_prepares_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[object] = []
    prepare = evaluation.Residual
    monkeypatch.setattr(evaluation, "Residual", lambda *given: prepared.append(given) or prepare(*given))
    assert not differences(SHIPPED, edited("p, support, order.view, own, allow"))
    assert not prepared
