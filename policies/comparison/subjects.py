"""Subjects of a comparison of policies: each role alone, and each user whom rules name, with a role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..evaluation.policy import Policy
from ..syntax.expression import (
    Expression,
    conjunction,
    disjunction,
    disjuncts,
    negation,
    texts,
)
from ..syntax.roles import GUEST
from ..syntax.rules import Rule

Lines = Sequence[tuple[Rule, Expression]]  # rules, each with the rest of its condition


@dataclass(frozen=True, slots=True)
class Subject:
    """A caller as rules name one: by role, and for a certain user by key (`user:<id>`)."""

    role: str
    key: str | None = None

    def __str__(self) -> str:
        return f"{self.key} as {self.role}" if self.key else self.role

    @property
    def is_guest(self) -> bool:
        return self.role == GUEST


def persons(*policies: Policy) -> tuple[str, ...]:
    """Returns the keys (`user:<id>`) that rules of these policies, or calls of `g` in their matchers, name, sorted."""
    return tuple(sorted({key for policy in policies for key in policy.persons}))


def named_in(expression: Expression, keys: Iterable[str]) -> frozenset[str]:
    """Returns the users, by key, whose key or id is a literal of the expression."""
    literals = texts(expression)
    return frozenset(key for key in keys if not literals.isdisjoint(names_of(key)))


def literals_of(policy: Policy, rules: Iterable[Rule]) -> frozenset[str]:
    """Returns the literals and parameters in the conditions of these rules. Names of users and roles are among them."""
    parameters = (rule.when.partition(":")[2] for rule in rules)
    return texts(policy.model.matcher).union(filter(None, parameters))


def told_apart(policy: Policy) -> frozenset[str]:
    """Returns the users, among those whom rules name, whom conditions name as well.

    A rule of a role may answer them otherwise than others with the role.
    """
    literals = literals_of(policy, (rule for rule in policy.rules if rule.sub in policy.roles))
    return frozenset(key for key in policy.persons if not literals.isdisjoint(names_of(key)))


def names_of(key: str) -> tuple[str, str]:
    """Returns the key and the id of a person: conditions name either."""
    return key, key.removeprefix("user:")


def allowed(policy: Policy, subject: Subject, permission: str) -> Expression:
    """Returns the condition under which the policy gives a permission to a subject."""
    return condition_of(policy.matching_rules(subject.role, subject.key, permission))


def condition_of(rules: Lines) -> Expression:
    """Returns the condition under which rules allow: an allow rule matches, and no deny rule does."""
    allows = disjunction(condition for rule, condition in rules if rule.eft == "allow")
    denies = disjunction(condition for rule, condition in rules if rule.eft == "deny")
    return conjunction((allows, *map(negation, disjuncts(denies))))


def by_role(policy: Policy, person: Subject, permission: str) -> tuple[Expression, Expression]:
    """Returns the condition under which the role allows and no rule denies, and the one under which the role denies."""
    names = policy.roles.closure(person.role)
    rules = policy.matching_rules(person.role, person.key, permission)
    allows = disjunction(condition for rule, condition in rules if rule.eft == "allow" and rule.sub in names)
    denies = disjunction(condition for rule, condition in rules if rule.eft == "deny" and rule.sub in names)
    return conjunction((allows, *(negation(condition) for rule, condition in rules if rule.eft == "deny"))), denies
