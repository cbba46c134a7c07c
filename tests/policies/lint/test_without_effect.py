"""Rules reported as without effect, or as never true, are so: by the comparison, and by random requests."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from policies import Policy
from policies.comparison.prover import Comparison
from policies.lint.matches import Matches
from policies.lint.redundant import Redundancy, redundancy
from policies.loading.loader import from_files
from policies.syntax.rules import Rule
from tests.policies import generated
from tests.policies.comparison.worlds import VOCABULARY, subjects, worlds
from tests.samples import parts

WORLDS, REQUESTS = 12, 100


def found(policy: Policy) -> tuple[Redundancy, set[Rule]]:
    """Returns the redundancy of the policy, and its rules without effect."""
    known = redundancy(Matches(policy))
    return known, {*known.copies, *known.never, *(idle.rule for idle in known.idle)}


def without(policy: Policy, rules: Iterable[Rule]) -> Policy:
    """Returns the policy with these lines as comments."""
    lines = policy.files["rules.csv"].decode().split("\n")
    for rule in rules:
        lines[rule.line - 1] = "#"
    return from_files({**policy.files, "rules.csv": "\n".join(lines).encode()}, policy.vocabulary)


def differ(one: Policy, other: Policy) -> list[tuple[str, str]]:
    comparison = Comparison(one, other)
    return [(str(subject), permission) for subject in subjects(one, other)
            for permission in sorted(one.vocabulary.by_permission) if comparison.between(subject, permission)]


def test_lines_without_effect_can_all_be_taken_out_together_and_no_other() -> None:
    idle = lines = 0
    for world in worlds(7, WORLDS):
        known, taken = found(world.old)
        assert known.undecided == ()
        idle, lines = idle + len(taken), lines + len(world.old.rules)
        if len(taken) == len(world.old.rules):
            continue
        left = without(world.old, taken)
        assert differ(world.old, left) == [], str(world)
        for _ in range(REQUESTS):
            request = world.request(world.subject(), world.chance.choice([*VOCABULARY.by_permission]))
            assert world.old.decide(*request) is left.decide(*request), (request, str(world))
        if len(left.rules) > 1:
            one = world.chance.choice(left.rules)
            assert differ(left, without(left, [one])), (one, str(world))
    assert lines / 20 < idle < lines


def test_a_line_that_never_holds_allows_nothing_alone() -> None:
    never = 0
    for world in worlds(100, WORLDS):
        known, _ = found(world.old)
        for rule in known.never:
            never += 1
            others = [one for one in world.old.rules if one is not rule]
            alone = without(world.old, others)
            lines = alone.files["rules.csv"].replace(b", deny", b", allow")
            alone = from_files({**alone.files, "rules.csv": lines}, world.vocabulary)
            for _ in range(REQUESTS):
                request = world.request(world.subject(), world.chance.choice([*VOCABULARY.by_permission]))
                assert not alone.decide(*request), (rule, request, str(world))
    assert never > 0


@pytest.mark.parametrize("name", [name for name in generated.MODELS if name != "permissions without patterns"])
@pytest.mark.parametrize("seeds", parts(range(3), 3))
def test_the_form_of_the_matcher_does_not_matter(name: str, seeds: list[int]) -> None:
    for seed in seeds:
        policy = generated.policy(random.Random(f"lint {name}{seed}"), name)
        _, taken = found(policy)
        if len(taken) < len(policy.rules):
            assert differ(policy, without(policy, taken)) == []
