"""Explains a decision: the rule that decided, the facts that it read, and for a refusal the nearest rules.

The answer is an `Explanation`. For a refusal, `own_reason` reveals only what the caller may know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import peewee as pw

from ..comparison.prover import Prover, Undecided
from ..comparison.subjects import Subject, allowed
from ..evaluation.compiled import NO_OBJECT, SharedWith, no_shares, value_of
from ..evaluation.grants import Grants
from ..evaluation.plan import ALWAYS, NEVER, Plan
from ..evaluation.policy import Policy
from ..evaluation.principal import Environment, Principal
from ..evaluation.rule_trace import RuleTrace, trace_rule
from ..evaluation.sql import where
from ..syntax.expression import (
    Attribute,
    Expression,
    Parameter,
    asks_shares,
    atoms,
    attributes,
    reads_object,
    text,
)
from ..syntax.rules import Rule
from ..wording.message import Message, together
from . import facts
from .explanation import ALLOWED, DEPENDS, REFUSED, Explanation, Remark, Step

MOST_MISSES = 5
MOST_NODES = 1_000  # of the search for what another role may do; a request waits for it
_SHARES = "id IN (SELECT object_id FROM shares …)"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def explain(
    policy: Policy,
    principal: Principal,
    permission: str,
    obj: Mapping[str, Any] | None,
    env: Environment,
    shared: SharedWith = no_shares,
    *,
    who: str | None = None,
    name: str | None = None,
    called: facts.Called = facts.nameless,
) -> Explanation:
    """Explains the answer of `policy`. Arguments as in `Policy.decide`; `who` and `name` are what to call the
    caller and the object (by default the caller's key and the object's id), `called` names the values of facts.

    Raises KeyError for a permission that the vocabulary does not have.
    """
    resource = policy.vocabulary.by_permission[permission]
    plan = policy.plan(principal, permission, env)
    open_object = obj is None and bool(resource.columns)
    traces = policy.rule_traces(principal, permission, obj, env, shared)
    steps = [_step(policy, principal, permission, trace, open_object, called) for trace in traces]
    covers = policy.covers(principal, permission)
    if open_object:
        verdict = ALLOWED if plan.outcome is ALWAYS else REFUSED if plan.outcome is NEVER else DEPENDS
    else:
        verdict = ALLOWED if policy.decide(principal, permission, obj, env, shared) else REFUSED
    allowing = policy.deciding(principal, permission, obj, env, shared) if verdict == ALLOWED else None
    decided = _decider(steps, verdict, allowing) if covers else None
    misses = steps if verdict == DEPENDS else []
    if verdict == REFUSED and decided is None:
        misses = [step for step in steps if step.rule.eft == "allow" and not step.holds]
    return Explanation(
        who=who or principal.key,
        principal=principal,
        permission=permission,
        object=name or (str(obj["id"]) if obj is not None and obj.get("id") is not None else None),
        verdict=verdict,
        roles=_roles(policy, principal.role),
        decided_by=decided,
        misses=tuple(sorted(misses, key=_distance)[:MOST_MISSES]) if covers else (),
        would={} if verdict == ALLOWED or not covers else _would(policy, principal.role, permission),
        scopes_cover=covers,
        covering_scopes=tuple(sorted(_covering(policy, principal, permission))),
        sql=_sql(plan, principal, env),
        policy_version=policy.version,
        lost=policy.is_lost(principal),
        fallback=policy.fallbacks.get(permission),
        given_by=policy.roles.given_by(principal.groups, principal.role),
    )


def own_reason(
    policy: Policy,
    principal: Principal,
    permission: str,
    obj: Mapping[str, Any] | None,
    env: Environment,
    sees: Callable[[Attribute], bool],
) -> Message | None:
    """The reason why `policy` refuses, in one sentence for the caller; None if it would reveal too much.

    It depends only on what the caller knows. `sees` is true for the attributes of the caller and of `obj` that they
    know. A rule that reads another one is left out, and so is a rule that reads shares or names the id of another
    user. Without an object, the reason contains only facts that depend on none.
    """
    lines = policy.matching_rules(principal.role, principal.key, permission)
    if all(rule.eft == "deny" for rule, _ in lines):
        return Message("no rule lets a {role} do this", role=principal.role)
    steps = [_step(policy, principal, permission, trace, False, facts.nameless) for rule, condition in lines
             if (trace := _visible_trace(rule, condition, permission, principal, obj, env, sees)) is not None]
    denying = _decider(steps, REFUSED, None)
    if denying is not None:
        return _denied(denying, principal)
    allowing = [step for step in steps if step.rule.eft == "allow"]
    if any(step.holds for step in allowing):
        return None  # a rule that is left out denies it
    nearest = min(allowing, key=_distance, default=None)
    return None if nearest is None else Message(
        "needs {condition}: {facts}", condition=nearest.rule.when, facts=together(nearest.missing))


def _visible_trace(rule: Rule, condition: Expression, permission: str, principal: Principal,
                   obj: Mapping[str, Any] | None, env: Environment, sees: Callable[[Attribute], bool]
                   ) -> RuleTrace | None:
    """The facts of a rule that the caller may know; None if there are none."""
    leaves = [atom for atom in atoms(condition) if obj is not None or not reads_object(atom)]
    if any(map(asks_shares, leaves)):
        return None
    if not all(attribute.root == "env" or sees(attribute) for atom in leaves for attribute in attributes(atom)):
        return None
    if any(id.lower() != principal.id for id in _ID.findall(f"{rule.when} {text(condition)}")):
        return None
    trace = trace_rule(rule, condition, permission, principal, obj, env, no_shares)
    if obj is not None or not reads_object(condition):
        return trace
    failed = tuple(fact for fact in trace.failed if not facts.depends(fact))
    return replace(trace, failed=failed) if failed and rule.eft == "allow" else None


def _denied(step: Step, principal: Principal) -> Message:
    """The message to the caller about a rule that denies."""
    mine = step.rule.sub == principal.key
    if not step.facts:
        return Message("a rule about the caller denies this") if mine else Message("a rule denies this")
    denied = Message("a rule about the caller denies this by {condition}: {facts}") if mine else \
        Message("a rule denies this by {condition}: {facts}")
    return denied.format(condition=step.rule.when, facts=together(fact.text for fact in step.facts))


def _step(policy: Policy, principal: Principal, permission: str, trace: RuleTrace, open_object: bool,
          called: facts.Called) -> Step:
    """Returns the step of one rule: its answer, and the facts that decide it."""
    remarks = tuple(
        Remark(facts.asked(fact, permission), None)
        if open_object and facts.depends(fact)
        else Remark(facts.found(fact, permission, called), fact.holds)
        for fact in facts.alternatives(trace.facts)
    )
    missing = tuple(facts.found(fact, permission, called) for fact in facts.alternatives(trace.failed))
    if trace.rule in policy.closed:  # a deny: a closed allow matches nobody
        remarks = (Remark(Message("the rule is no longer accepted, and matches every object until it is changed"),
                          True),)
    person = called("sub", "key", trace.rule.sub) if trace.rule.sub not in policy.roles else ""
    return Step(trace.rule, via(policy, principal, trace.rule.sub), remarks, trace.matched, missing, person)


def via(policy: Policy, principal: Principal, name: str) -> tuple[str, ...]:
    """Returns the chain of roles from the caller's role, or key, to the name in a rule about the caller."""
    for start in (principal.role, principal.key):
        links = policy.roles.chain(start, name)
        if links is not None:
            return start, *(link.inherits for link in links)
    return (name,)


def _decider(steps: list[Step], verdict: str, allowing: Rule | None) -> Step | None:
    """Returns the rule that the audit log names if allowed, else the matching deny nearest to the role."""
    if verdict == ALLOWED:
        return next(step for step in steps if step.rule == allowing)
    denying = [step for step in steps if step.holds and step.rule.eft == "deny" and verdict == REFUSED]
    return min(denying, key=lambda step: len(step.via), default=None)


def _distance(step: Step) -> tuple[int, int]:
    """The distance of a rule from a match: the number of missing facts, then the number of inherited roles."""
    return len(step.missing), len(step.via)


def _roles(policy: Policy, role: str) -> tuple[str, ...]:
    """The role, and what it inherits, the nearest first."""
    inherited = policy.roles.closure(role) - {role}
    return (role, *sorted(inherited, key=lambda name: (len(policy.roles.chain(role, name) or ()), name)))


def _would(policy: Policy, role: str, permission: str) -> dict[str, tuple[str, ...]]:
    """The roles that have the permission in more cases than `role`: condition → roles."""
    grants, prover = Grants(policy), Prover(policy, most=MOST_NODES)
    mine = allowed(policy, Subject(role), permission)
    by_words: dict[str, list[str]] = {}
    for name in policy.roles.names:
        if _more(prover, allowed(policy, Subject(name), permission), mine, Subject(name), permission):
            by_words.setdefault(grants.of(name, permission).words, []).append(name)
    return {words: tuple(names) for words, names in by_words.items()}


def _more(prover: Prover, theirs: Expression, mine: Expression, subject: Subject, permission: str) -> bool:
    """True if a role is allowed what another is not, to some object where there are objects; also where that cannot be
    decided."""
    try:
        example = prover.exception(theirs, mine, subject, permission)
    except Undecided:
        return True
    return example is not None and (example.row is not None or not example.ground.resource.columns)


def _covering(policy: Policy, principal: Principal, permission: str) -> Iterator[str]:
    if principal.scopes is None:
        return
    for scope in policy.scope_names:
        alone = Principal(principal.id, principal.key, principal.role, principal.tenant_id,
                          scopes=frozenset((scope,)))
        if policy.covers(alone, permission):
            yield scope


def _sql(plan: Plan, principal: Principal, env: Environment) -> str | None:
    """The plan as the WHERE that a list would have, values filled in, for reading only."""
    if plan.outcome is NEVER:
        return None

    def parameter(operand: Parameter) -> pw.Node:
        return pw.Value(value_of(operand)(principal, NO_OBJECT, env))

    columns = {name: pw.SQL(name) for name in plan.columns}
    clause = where(plan, columns, parameter, lambda: cast(pw.Expression, pw.SQL(_SHARES)))
    written = [_written(allow) for allow in clause.allows or ()]
    allows = [" OR ".join(f"({text})" for text in written)] if len(written) > 1 else written
    return " AND ".join([*allows, *map(_written, clause.denies)]) or Message("every row")


def _written(node: pw.Node) -> str:
    sql, values = pw.Context().sql(node).query()  # type: ignore[no-untyped-call]
    pieces = str(sql).split("?")
    shown = [f"'{value}'" if isinstance(value, str) else str(value) for value in values]
    text = pieces[0] + "".join(value + piece for value, piece in zip(shown, pieces[1:], strict=True))
    while _enclosed(text):
        text = text[1:-1]
    return text


def _enclosed(text: str) -> bool:
    """True if one pair of brackets is around the whole."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return character == ")" and position == len(text) - 1
    return False
