"""The work of a lint grows with the rules of a long policy, not with rules times users: counted, not timed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from policies import Policy
from policies.comparison.subjects import Subject
from policies.lint.matches import ALLOW, DENY, Cell, Matches
from policies.lint.redundant import redundancy
from policies.lint.warnings import warnings
from policies.syntax.roles import Roles
from policies.syntax.vocabulary import Patterns
from tests.policies import generated
from tests.policies.comparison.worlds import subjects
from tests.policies.generated import BRANCHES, MODEL, assembled
from tests.policies.shipped_vocabulary import VOCABULARY

LINKS = ["g, user, guest", *(f"g, {role}, user" for role in ("support", "editor", "moderator")), "g, admin, editor"]
ROLE_LINES = [f"p, {role}, {act}, {when}, allow" for role in ("user", "support", "editor")
              for act in ("article.view", "order.view", "page.update") for when in ("own", "always")]
BY_ROLE = MODEL.replace(BRANCHES, f"{BRANCHES} || \\\n    p.when == 'by_role' && r.sub.role == 'editor'")


def people(count: int) -> list[str]:
    return [f"user:0199f3a0-0000-7000-8000-{number:012x}" for number in range(count)]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str], Counter[str]]:
    """Counts the calls of a method from now on."""
    counts: Counter[str] = Counter()

    def count(owner: type, name: str) -> Counter[str]:
        method = getattr(owner, name)

        def called(*given: object, **named: object) -> object:
            counts[name] += 1
            return method(*given, **named)

        monkeypatch.setattr(owner, name, called)
        return counts

    return count


def grown(counts: Counter[str], name: str, policies: list[Policy]) -> list[int]:
    """Counts the calls of a method for each of these policies."""
    found = []
    for policy in policies:
        counts.clear()
        warnings(policy)
        found.append(counts[name])
    return found


def test_links_of_persons_are_looked_at_one_by_one(counted: Callable[[type, str], Counter[str]]) -> None:
    policies = [assembled(ROLE_LINES, [*LINKS, *(f"g, {person}, {role}" for person in people(count)
                                                 for role in ("support", "editor"))]) for count in (10, 100)]
    few, many = grown(counted(Roles, "__init__"), "__init__", policies)
    assert few == many, "the roles are not put together again for each link"
    few, many = grown(counted(Matches, "cell"), "cell", [assembled(list(policy.files["rules.csv"].decode().split(
        "\n")[:-2]), policy.files["roles.csv"].decode().split("\n")[:-2]) for policy in policies])
    assert few == many, "persons who were lent the same are one question"


def test_scope_lines_are_compared_with_the_acts_of_their_scope(counted: Callable[[type, str], Counter[str]]) -> None:
    acts = [f"{name}.{verb}" for name in ("article", "order", "page") for verb in ("view", "update", "*")]
    policies = [assembled([*ROLE_LINES, *(f"p2, {verb}:rules, {acts[number % len(acts)]}" for number in range(count)
                                          for verb in ("read", "write"))]) for count in (100, 200)]
    few, many = grown(counted(Patterns, "covered"), "covered", policies)
    assert many < 2.2 * few


def test_a_condition_that_names_roles_makes_no_line_of_a_role_a_question_about_each_person(
    counted: Callable[[type, str], Counter[str]],
) -> None:
    own = [f"p, {person}, comment.view, own, allow" for person in people(60)]
    policies = [assembled([*lines, *own], LINKS, BY_ROLE) for lines in (ROLE_LINES[:6], ROLE_LINES)]
    few, many = grown(counted(Matches, "_made"), "_made", policies)
    assert many - few < 60, "the cells of persons are those of their own lines"


def test_a_line_that_never_holds_is_compared_with_no_other(counted: Callable[[type, str], Counter[str]]) -> None:
    rules = [f"p, {person}, *, anonymous, allow" for person in people(20)]
    few, many = grown(counted(Matches, "_made"), "_made",
                      [assembled(ROLE_LINES, LINKS), assembled([*ROLE_LINES, *rules], LINKS)])
    assert few == many


def test_a_denial_of_a_person_is_compared_where_a_value_can_be_missing(
    counted: Callable[[type, str], Counter[str]],
) -> None:
    # `published` reads a state, which is never missing: the first permission finds out where it counts.
    rules = [f"p, {person}, page.*, published, deny" for person in people(20)]
    policies = [assembled([*ROLE_LINES, *rules[:count]], LINKS) for count in (0, 20)]
    none, twenty = grown(counted(Matches, "_made"), "_made", policies)
    assert twenty - none <= 20 * len(VOCABULARY.resources["page"].permissions)


def test_the_cell_of_a_person_holds_the_lines_of_the_person_alone() -> None:
    [person] = people(1)
    matches = Matches(assembled([*ROLE_LINES, f"p, {person}, article.*, published, deny"], LINKS))
    cell = matches.cell(Subject("user", person), "article.view")
    assert [rule.sub for rule in cell.own] == [person]
    assert [rule.sub for rule in cell.lines] == ["user", "user", person]


@pytest.mark.parametrize("name", generated.MODELS)
def test_a_cell_has_the_lines_that_reach_a_caller_and_counts_those_that_are_not_taken_out(name: str) -> None:
    chance = random.Random(name)
    policy = generated.policy(chance, name, 25)
    matches = Matches(policy)
    asked = [(subject, permission) for subject in subjects(policy)
             for permission in ("article.view", "order.update", "user.view")]
    for subject, permission in asked[::2]:
        matches.cell(subject, permission)
    for rule in chance.sample(policy.rules, 8):
        matches.take_out(rule)
    for subject, permission in asked:
        cell = matches.cell(subject, permission)
        reaching = policy.matching_rules(subject.role, subject.key, permission)
        assert list(cell.lines.items()) == [(rule, matches.number(left)) for rule, left in reaching]
        assert all(cell.number(rule) == number for rule, number in cell.lines.items())
        for effect in (ALLOW, DENY):
            counting = Counter(number for rule, number in cell.lines.items()
                               if rule.eft == effect and rule not in matches.out)
            assert cell.conditions_of(effect) == counting.keys()
            assert all(cell.alike(effect, number) == count for number, count in counting.items())


def test_what_is_without_effect_does_not_depend_on_which_cells_there_are() -> None:
    policy = generated.policy(random.Random(7), "the shipped model", 40)
    fresh, full = Matches(policy), Matches(policy)
    for rule in policy.rules:
        assert all(isinstance(cell, Cell) for cell, _ in full.reached(rule))
    one, other = redundancy(fresh), redundancy(full)
    assert (one.copies, one.never, one.idle, one.undecided) == (other.copies, other.never, other.idle, other.undecided)
