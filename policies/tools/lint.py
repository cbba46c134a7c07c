"""Warnings: rules that work as written but hardly as their author meant them. A policy with warnings is used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..evaluation.plan import disjuncts
from ..evaluation.policy import Policy
from ..syntax.attributes import ENVIRONMENT
from ..syntax.expression import AllOf, AnyOf, Attribute, Comparison, Expression, Shared, atoms, attributes, columns
from ..syntax.finding import Finding, single_person
from ..syntax.rules import Rule
from ..syntax.vocabulary import Resource

GUEST = "guest"
ANONYMOUS = Comparison("==", Attribute("sub", "kind"), GUEST)


@lru_cache(maxsize=2)
def warnings(policy: Policy) -> tuple[Finding, ...]:
    """Every warning about a policy, in the order of its files; remembered for the policy in force."""
    linter = _Linter(policy)
    found = [
        Finding(rule.file, rule.line, message, "warning", single_person(rule.sub))
        for rule in policy.rules for message in linter.about(rule)
    ]
    return tuple(sorted({*found, *policy.model.remarks}))


class _Linter:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._patterns = policy.patterns
        self._first: dict[tuple[str, ...], Rule] = {}
        # The first rule that settles a permission for a role, whatever the object.
        self._settled: dict[tuple[str, str, str], Rule] = {}
        self._conditions: dict[tuple[str, str, str], list[str]] = {}
        for rule in policy.rules:
            for permission in self._patterns.covered(rule.act) if self._left(rule) is True else ():
                self._settled.setdefault((rule.sub, permission, rule.eft), rule)

    def about(self, rule: Rule) -> Iterator[str]:
        first = self._first.setdefault((rule.sub, rule.act, rule.when, rule.eft), rule)
        if first is not rule:
            yield f"the same as {first.place}"
            return
        left = self._left(rule)
        if not self._reachable(rule):
            yield f"nobody can ever meet `{rule.when}`: its parts contradict each other"
            return
        shadow = self._shadow(rule)
        if shadow:
            yield f"{shadow.place} ({shadow.sub}, {shadow.act}, {shadow.when}, {shadow.eft}) already settles this"
        if rule.eft == "deny" and rule.sub == GUEST and not _asks_for_guest(left):
            yield "every role inherits guest, so this denies it to all; use the condition `anonymous` for guests only"
        for resource in self._resources(rule):
            key = (rule.when, rule.eft, resource.name)
            if key not in self._conditions:
                self._conditions[key] = list(_about_condition(rule, left, resource))
            yield from self._conditions[key]

    def _reachable(self, rule: Rule) -> bool:
        """Whether some role that has this one can meet the condition, on some object."""
        if disjuncts(self._left(rule)):
            return True
        roles = self._policy.roles
        heirs = (role for role in self._policy.vocabulary.roles if rule.sub in roles.closure(role))
        permission = min(self._patterns.covered(rule.act))
        return any(disjuncts(self._policy.folded(rule, permission, role)) for role in heirs)

    def _left(self, rule: Rule) -> Expression:
        permission = min(self._patterns.covered(rule.act))
        return self._policy.condition(rule, permission)

    def _shadow(self, rule: Rule) -> Rule | None:
        """A rule without a condition that decides every permission of this one, for every role that it reaches."""
        above = self._policy.roles.closure(rule.sub)
        shadow = None
        for permission in sorted(self._patterns.covered(rule.act)):
            shadow = next(
                (
                    found
                    for eft in dict.fromkeys(("deny", rule.eft))
                    for role in sorted(above)
                    if (found := self._settled.get((role, permission, eft))) and found is not rule
                ),
                None,
            )
            if shadow is None:
                return None
        return shadow

    def _resources(self, rule: Rule) -> list[Resource]:
        known = self._policy.vocabulary.by_permission
        found = (known[permission] for permission in sorted(self._patterns.covered(rule.act)))
        reached = list({resource.name: resource for resource in found}.values())
        if rule.eft == "deny":
            return reached
        return [resource for resource in reached if f"{resource.name}.view" in self._patterns.covered(rule.act)]


def _about_condition(rule: Rule, left: Expression, resource: Resource) -> Iterator[str]:
    if rule.eft == "deny":
        for name in sorted(columns(left)):
            if resource.columns[name].nullable:
                yield f"this denies nothing on {resource.name} rows whose {name} is missing"
        for name in sorted(_nullable_environment(left)):
            yield f"this denies nothing while r.env.{name} is missing"
        return
    for branch in disjuncts(left):
        if columns(branch) and (indexes := resource.indexes()) and not _served(branch, indexes):
            yield f"no index of {resource.name} serves lists by {', '.join(sorted(columns(branch)))}; they will be slow"


def _nullable_environment(left: Expression) -> set[str]:
    read = (attribute for atom in atoms(left) for attribute in attributes(atom))
    return {fact.name for fact in read if fact.root == "env" and ENVIRONMENT[fact.name].nullable}


def _served(branch: Expression, indexes: tuple[tuple[str, ...], ...]) -> bool:
    """Whether an index begins with a column, after the tenant's, that this branch pins."""
    parts = branch.parts if isinstance(branch, AllOf) else (branch,)
    if any(isinstance(part, Shared) for part in parts):
        return True
    pinned = {
        side.name
        for part in parts
        if isinstance(part, Comparison) and part.operator == "=="
        for side in (part.left, part.right)
        if isinstance(side, Attribute) and side.root == "obj"
    }
    starts = ([name for name in index if name != "tenant_id"][:1] for index in indexes)
    return any(start and start[0] in pinned for start in starts)


def _asks_for_guest(left: Expression) -> bool:
    if isinstance(left, AnyOf):
        return all(_asks_for_guest(part) for part in left.parts)
    return ANONYMOUS in (left.parts if isinstance(left, AllOf) else (left,))
