"""The lines that bear on a question are found without reading the others: none is missed, and few are folded."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import pytest

from policies import Policy, Principal
from policies.evaluation import policy as evaluation
from policies.evaluation.partial import PartialEvaluator
from policies.evaluation.policy import place_of
from policies.evaluation.principal import FixedEnvironment
from policies.loading.oracle import Oracle
from policies.loading.sample import PEOPLE, environment
from tests.policies.generated import BRANCHES, CONDITIONS, MODELS, PATTERNS, WHO_AND_WHAT, assembled, lines, model
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY
from tests.samples import parts

# Matchers with unusual comparisons: the index must not rely on their form.
ODD: dict[str, tuple[str, tuple[str, ...]]] = {
    "a role asked of the key": (
        model(
            f"{WHO_AND_WHAT} && (p.when == 'always' || "
            "p.when == 'own' && (g(r.sub.key, 'manager') || r.obj.owner_id == r.sub.id) || "
            "p.when == 'shared' && !(g(r.sub.key, 'editor')) && r.obj.status == 'draft')"
        ),
        ("always", "own", "shared"),
    ),
    "persons named by the matcher": (
        model(f"{WHO_AND_WHAT} && !(g(r.sub.key, 'user:{PEOPLE[1]}')) && ({BRANCHES})"), CONDITIONS,
    ),
    "lines about the person left out": (
        model(f"g(r.sub.role, p.sub) && !(g(r.sub.key, p.sub)) && globMatch(r.act, p.act) && ({BRANCHES})"), CONDITIONS,
    ),
    "keys alone": (model(f"g(r.sub.key, p.sub) && globMatch(r.act, p.act) && ({BRANCHES})"), CONDITIONS),
    "a permission in quotes": (
        model(
            "g(r.sub.role, p.sub) && (r.act == p.act || p.act == 'order.*' && globMatch(r.act, p.act) "
            "|| p.act == 'page.view' && r.act == 'order.view') && (p.sub != 'manager' || p.when == 'own') "
            f"&& ({BRANCHES})"
        ),
        CONDITIONS,
    ),
    "all but one permission": (
        model(f"{WHO_AND_WHAT} && (r.act != 'article.update' || p.when == 'own') && ({BRANCHES})"), CONDITIONS,
    ),
    "one big OR": (
        model(
            "g(r.sub.role, p.sub) && globMatch(r.act, p.act) && p.when == 'always' || "
            "g(r.sub.key, p.sub) && r.act == p.act && p.when == 'own' && r.obj.owner_id == r.sub.id || "
            "r.sub.role == p.sub && r.sub.role != 'user' && globMatch(r.act, p.act) && p.when == 'published' "
            "&& (g(r.sub.key, 'manager') || r.obj.status == 'published')"
        ),
        ("always", "own", "published"),
    ),
}
EVERY = {**MODELS, **ODD}
ASKED = [permission for permission in sorted(VOCABULARY.by_permission)
         if permission.endswith((".view", ".update")) or permission == "order.delete"]
STRANGER = "user:01920000-0000-7000-8000-00000000000f"
KEYS = (*(f"user:{person}" for person in PEOPLE), STRANGER)
NOON = FixedEnvironment(hour=12, ip="10.1.2.3")


def generated(name: str, seed: int, count: int = 25) -> Policy:
    """A random policy under one of EVERY. In two of three a user is lent a role."""
    text, conditions = EVERY[name]
    chance = random.Random(f"index {name}{seed}")
    inheritance, rules = lines(chance, conditions, count)
    lent = [] if seed % 3 == 0 else [f"g, {KEYS[0]}, {chance.choice(('manager', 'editor', 'user'))}"]
    return assembled(rules, [*inheritance, *lent], text)


def callers(policy: Policy) -> list[Principal]:
    """Returns each user with each role of users, and a guest."""
    people = [Principal(key.removeprefix("user:"), key, role, "t", "press")
              for key in KEYS for role in sorted(policy.roles.of_users)]
    return [*people, Principal(None, "guest", "guest", "t", kind="guest")]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("seeds", parts(range(3), 3))
def test_the_lines_found_are_those_of_which_something_is_left(name: str, seeds: list[int]) -> None:
    for seed in seeds:
        policy = generated(name, seed)
        for caller, permission in itertools.product(callers(policy), ASKED):
            conditions = ((rule, policy.condition_for(rule, permission, caller.role, caller.key))
                          for rule in policy.rules)
            expected = [(rule, left) for rule, left in conditions if left is not False]
            found = policy.residual(caller.role, caller.key, permission).rules
            assert list(found) == expected, (seed, caller.key, caller.role, permission)


@pytest.mark.parametrize("name", EVERY)
def test_a_person_is_reached_by_the_lines_of_the_role_and_by_those_beside_them(name: str) -> None:
    policy = generated(name, 0)
    told = 0
    for caller, permission in itertools.product(callers(policy)[:-1], ASKED):
        beside = policy.beside(caller.role, caller.key, permission)
        if beside is not None:
            told += 1
            lines = (*policy.matching_rules(caller.role, None, permission), *beside)
            assert tuple(sorted(lines, key=place_of)) == policy.matching_rules(caller.role, caller.key, permission)
    assert told


@pytest.mark.parametrize("name", ODD)
def test_persons_with_lent_roles_are_decided_as_casbin_decides_them(name: str) -> None:
    answers = set()
    for seed in range(3):
        policy, chance = generated(name, seed), random.Random(seed)
        oracle, (*people, guest) = Oracle.of(policy), callers(policy)
        for caller in (*chance.sample(people, 9), guest):
            for rule in chance.sample(policy.rules, 6):
                permission = chance.choice(sorted(policy.patterns.covered(rule.act)))
                row = {**VOCABULARY.by_permission[permission].row(), "status": chance.choice(("draft", "published")),
                       "owner_id": chance.choice((caller.id, None))}
                env = environment(chance)
                expected = oracle.decide(caller, permission, row, env)
                assert policy.decide(caller, permission, row, env) is expected, (seed, caller, permission, row)
                answers.add(expected)
    assert answers == {True, False}


# --- the cost of a question, counted ---------------------------------------------------------------------------

PERSONS = [f"user:01920000-0000-7000-8000-{number:012}" for number in range(500)]
ROLE_LINES = ["p, guest, article.view, published, allow", "p, user, article.update, own_draft, allow",
              "p, editor, article.*, always, allow", "p, user, order.view, own, allow"]
LINKS = ["g, user, guest", "g, editor, user"]


def crowded(*more: str, links: tuple[str, ...] = ()) -> Policy:
    """The rules of ROLE_LINES, and ten for each of 500 users."""
    chance = random.Random(20)
    own = [f"p, {person}, {chance.choice(PATTERNS)}, {chance.choice(('own', 'published', 'always'))}, "
           f"{chance.choice(('allow', 'allow', 'deny'))}" for person in PERSONS for _ in range(10)]
    return assembled([*ROLE_LINES, *own, *more], [*LINKS, *links])


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that grows by one with each folded rule, or group of rules."""
    done: list[object] = []
    evaluate = PartialEvaluator.evaluate
    monkeypatch.setattr(PartialEvaluator, "evaluate",
                        lambda evaluator, known: done.append(known) or evaluate(evaluator, known))
    return done


def test_the_first_login_of_a_person_folds_the_lines_that_name_the_person_and_the_role_alone(
    folds: list[object],
) -> None:
    policy = crowded()
    first, second = PERSONS[3], PERSONS[7]
    for permission in VOCABULARY.by_permission:
        policy.residual("editor", first, permission)
    folds.clear()
    for permission in VOCABULARY.by_permission:
        policy.residual("editor", second, permission)
    near = [rule for rule in policy.rules if rule.sub in (second, "editor", "user", "guest")]
    assert len(near) == 10 + len(ROLE_LINES)
    assert 0 < len(folds) <= sum(len(policy.patterns.covered(rule.act)) for rule in near)


def test_the_first_question_about_a_role_folds_each_name_once_and_its_own_lines(folds: list[object]) -> None:
    policy = crowded()
    policy.residual("support", None, "article.view")
    folds.clear()
    policy.residual("user", None, "article.view")
    names = {rule.sub for rule in policy.rules}
    assert len(folds) <= len(names) + len(ROLE_LINES)


def test_a_question_about_a_person_looks_at_no_other_person() -> None:
    class Unread(dict[str, object]):
        """Rules that can be looked up by name, but not iterated over."""

        def __iter__(self) -> NoReturn:
            raise AssertionError("all persons are gone through")

    policy = crowded()
    policy.residual("user", None, "article.view")
    index = policy._index
    index._lines = {act: Unread(found) for act, found in index._lines.items()}  # type: ignore[misc]
    for person in PERSONS[:9]:
        assert policy.residual("user", person, "article.view").rules


def test_a_scope_is_asked_its_own_lines_alone(folds: list[object]) -> None:
    scopes = [f"p2, {verb}:{area}, article.{end}" for verb in ("read", "write") for area in ("rules", "roles", "policy")
              for end in ("view", "update", "v*")]
    policy = crowded(*scopes)
    token = Principal(PEOPLE[0], f"user:{PEOPLE[0]}", "user", "t", scopes=frozenset(("read:rules",)))
    assert policy.covers(token, "article.view")
    folds.clear()
    assert not any(policy.covers(token, permission) for permission in ("order.view", "article.update2"))
    assert len(folds) == 2 * 3


def test_five_hundred_persons_leave_what_is_remembered_of_roles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MOST_OF_PERSONS", 200)
    policy = crowded()
    of_roles = {(role, permission): policy.residual(role, None, permission)
                for role in ROLES for permission in VOCABULARY.by_permission}
    for person in PERSONS:
        for permission in ("article.view", "article.update", "order.view"):
            policy.residual("user", person, permission)
    for (role, permission), before in of_roles.items():
        assert policy.residual(role, None, permission) is before
        assert (policy.residual(role, STRANGER, permission) is before) is (role != "guest"), "no user is a guest"


def test_of_persons_the_last_ones_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MOST_OF_PERSONS", 20)
    policy = crowded(*(f"p, {person}, order.update, own, allow" for person in PERSONS))
    asked = [policy.residual("user", person, "order.update") for person in PERSONS[:21]]
    again = [policy.residual("user", person, "order.update") for person in PERSONS[20:0:-1]]
    assert all(one is other for one, other in zip(again, asked[:0:-1], strict=True))
    assert policy.residual("user", PERSONS[0], "order.update") is not asked[0]


@pytest.mark.parametrize(
    ("own", "links", "permission", "differs"),
    [
        ((f"p, {STRANGER}, order.view, always, allow",), (), "order.view", True),
        ((f"p, {STRANGER}, order.view, always, allow",), (), "article.view", False),
        ((f"p, {STRANGER}, order.*, always, deny",), (), "order.delete", True),
        ((), (f"g, {STRANGER}, editor",), "article.delete", True),
        ((), (f"g, {STRANGER}, editor",), "order.view", False),
        ((), (f"g, {STRANGER}, user",), "article.update", False),
    ],
)
def test_a_person_shares_the_answer_of_the_role_where_no_line_makes_a_difference(
    own: tuple[str, ...], links: tuple[str, ...], permission: str, differs: bool
) -> None:
    policy = crowded(*own, links=links)
    assert (policy.residual("user", STRANGER, permission) is not policy.residual("user", None, permission)) is differs


def test_many_threads_are_answered_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MOST_OF_PERSONS", 50)
    row = VOCABULARY.resources["article"].row(status="published")

    def answers(policy: Policy, seed: int) -> dict[tuple[str, str], bool]:
        asked = [(person, permission) for person in PERSONS[:60]
                 for permission in ("article.view", "article.update", "article.delete")]
        random.Random(seed).shuffle(asked)
        return {(key, permission): policy.decide(Principal(key[5:], key, "user", "t"), permission, row, NOON)
                for key, permission in asked}

    expected, policy = answers(crowded(), 0), crowded()
    with ThreadPoolExecutor(8) as threads:
        assert all(found == expected for found in threads.map(lambda seed: answers(policy, seed), range(16)))


def test_of_many_lines_with_one_condition_it_is_looked_at_once_why_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[object] = []
    trace = evaluation.trace_rule
    monkeypatch.setattr(evaluation, "trace_rule", lambda *asked: traced.append(asked) or trace(*asked))
    policy = assembled([f"p, {role}, {act}, {when}, allow" for role in ("guest", "user", "editor") for when in
                        ("own", "published") for act in ("article.view", "article.*", "art*.view")], LINKS)
    caller, row = Principal("1", "user:1", "editor", "t"), VOCABULARY.resources["article"].row(status="published")
    traces = policy.rule_traces(caller, "article.view", row, NOON)
    assert [trace.rule for trace in traces] == list(policy.rules)
    assert [trace.matched for trace in traces] == [rule.when == "published" for rule in policy.rules]
    assert len(traced) == 2


# --- questions of tools ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_the_lines_on_a_role_and_those_on_a_person_are_the_ones_that_name_them(name: str) -> None:
    policy = generated(name, 1)
    roles = policy.roles.names
    for who, permission in itertools.product((*sorted(roles), *KEYS), ASKED):
        about = [rule for rule in policy.rules
                 if (rule.sub in roles if who in roles else rule.sub in policy.roles.closure(who))]
        conditions = ((rule, policy.condition_for(rule, permission, who, who)) for rule in about)
        assert policy.lines_on(who, permission) == tuple((rule, left) for rule, left in conditions if left is not False)


@pytest.mark.parametrize("name", EVERY)
def test_no_line_bears_on_a_permission_that_is_not_among_those_of_the_person(name: str) -> None:
    policy = generated(name, 2)
    for key in KEYS:
        bearing = {permission for permission in VOCABULARY.by_permission if policy.lines_on(key, permission)}
        assert bearing <= policy.permissions_of_lines(key) <= set(VOCABULARY.by_permission)
