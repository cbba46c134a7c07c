"""A caller with an unreadable address: an allow rule by address does not match, and a deny rule by address does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from policies import Policy, Principal
from policies.comparison.candidates import addresses_near
from policies.comparison.prover import Prover
from policies.comparison.subjects import Subject, allowed
from policies.evaluation.compiled import picking
from policies.evaluation.plan import NEVER
from policies.evaluation.policy import READABLE
from policies.evaluation.principal import FixedEnvironment
from policies.explaining.explain import explain
from policies.loading.oracle import Oracle
from policies.syntax.expression import FunctionCall, atoms, conjunction, negation
from policies.syntax.vocabulary import Function
from tests.policies.comparison.edited import edited
from tests.policies.comparison.worlds import World, subjects
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import sampled

ANN = Principal("01920000-0000-7000-8000-000000000001", "user:01920000-0000-7000-8000-000000000001", "user", "t")
ROW = VOCABULARY.resources["order"].row(owner_id=ANN.id, status="pending", tenant_id="t", total=5)
INSIDE, OUTSIDE, NOWHERE = (FixedEnvironment(ip=ip) for ip in ("10.1.2.3", "203.0.113.7", None))
ALLOW = "p, user, order.export, trial, allow"
DENY = "p, user, order.export, always, allow", "p, user, order.export, trial, deny"

# A condition, and its value within 10.0.0.0/8 and outside of it.
CONDITIONS = {
    "in a network": ("ipMatch(r.env.ip, '10.0.0.0/8')", True, False),
    "outside of a network": ("!ipMatch(r.env.ip, '10.0.0.0/8')", False, True),
    "an address": ("r.env.ip == '10.1.2.3'", True, False),
    "another address": ("r.env.ip != '10.1.2.3'", False, True),
    "not an address": ("!(r.env.ip == '10.1.2.3')", False, True),
    "twice turned round": ("!(!ipMatch(r.env.ip, '10.0.0.0/8') || r.env.hour < 0)", True, False),
    "beside a column": ("r.obj.total == 5 && !(ipMatch(r.env.ip, '10.0.0.0/8'))", False, True),
    "a column that holds the address": ("r.obj.note == r.env.ip", False, False),
    "without the address": ("r.obj.total == 5", True, True),
}


def decisions(policy: Policy) -> list[bool]:
    return [policy.decide(ANN, "order.export", ROW, env) for env in (INSIDE, OUTSIDE, NOWHERE)]


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_allow_does_not_match_by_an_unreadable_address_and_a_deny_does(name: str) -> None:
    condition, inside, outside = CONDITIONS[name]
    branch, reads = f"p.when == 'trial' && {condition}", "ip" in condition
    assert decisions(edited(ALLOW, conditions=[branch])) == [inside, outside, not reads and inside]
    assert decisions(edited(*DENY, conditions=[branch])) == [not inside, not outside, False]


@pytest.mark.parametrize("lines", [(ALLOW,), DENY], ids=["allow", "deny"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_lists_explanations_and_the_prover_agree(name: str, lines: tuple[str, ...]) -> None:
    policy = edited(*lines, conditions=[f"p.when == 'trial' && {CONDITIONS[name][0]}"])
    for env, found in zip((INSIDE, OUTSIDE, NOWHERE), decisions(policy), strict=True):
        plan = policy.plan(ANN, "order.export", env)
        assert (plan.outcome is not NEVER and picking(plan)(ANN, env)(ROW)) is found
        explained = explain(policy, ANN, "order.export", ROW, env)
        assert (explained.verdict == "allowed") is found
        if not found and env is NOWHERE and "ip" in CONDITIONS[name][0]:
            assert re.search("the caller's address(?:, which)? is missing", "\n".join(explained.as_lines()))
    goal = conjunction((allowed(policy, Subject("user"), "order.export"), negation(READABLE)))
    witness = Prover(policy).example(goal, Subject("user"), "order.export")
    if witness is None:
        assert "ip" in CONDITIONS[name][0]
    else:
        assert witness.environment.ip is None
        assert policy.decide(witness.principal, "order.export", witness.row, witness.environment, witness.shared)


def test_what_a_plugin_makes_of_a_missing_address_does_not_count() -> None:
    function = Function("home", (("env", "ip"),), (), lambda ip: ip is None or ip.startswith("10."))
    vocabulary = replace(VOCABULARY, functions={"home": function})
    branch = "p.when == 'trial' && home(r.sub, r.obj, r.env)"
    for lines in ((ALLOW,), DENY):
        found = decisions(edited(*lines, conditions=[branch], vocabulary=vocabulary))
        assert found == ([True, False, False] if lines == (ALLOW,) else [False, True, False])


def test_an_invariant_reads_it_as_a_line_that_allows_does() -> None:
    branch = "p.when == 'outside' && !ipMatch(r.env.ip, '10.0.0.0/8')"
    lines = ["p, user, order.export, outside, allow"]
    kept = edited(*lines, conditions=[branch])
    rule = next(rule for rule in kept.rules if rule.when == "outside")
    promised = kept.meant(kept.conditions["outside"], rule, "order.export")
    assert Prover(kept).exception(promised, allowed(kept, Subject("user"), "order.export"), Subject("user"),
                                  "order.export") is None


@pytest.mark.parametrize("seed", sampled(range(1, 13), 4))
def test_what_it_is_allowed_is_allowed_from_every_address_says_casbin(seed: int) -> None:
    world = World(seed)
    for policy in (world.old, world.new):
        oracle = Oracle.of(policy)
        networks = [str(atom.arguments[1]) for atom in atoms(policy.model.matcher) if isinstance(atom, FunctionCall)
                    and atom.function == "ipMatch"]
        addresses = addresses_near(["10.1.2.3"], networks, 1)
        people = subjects(policy)
        for _ in range(40):
            principal, permission, row, env, shared = world.request(world.chance.choice(people), world.chance.choice(
                [*world.vocabulary.by_permission]))
            if policy.decide(principal, permission, row, env.having({"ip": None}), shared):
                refused = [ip for ip in addresses if not oracle.decide(
                    principal, permission, row, env.having({"ip": ip}), shared)]
                assert refused == [], (permission, principal, row, str(world))
