"""Rules of a policy about certain users, named in their first column or in a condition.

A condition names a user by the key, as a rule does (`g(r.sub.key, 'user:<id>')`), or by an id: `r.sub.id == '<id>'`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import cache

from ..evaluation.partial import PartialEvaluator
from ..evaluation.policy import Policy
from ..invariants.lines import lines_of
from ..syntax.expression import ID, Attribute, Comparison, Expression, PluginCall, atoms, operands
from ..syntax.rules import PERSON

_PREFIX = "user:"
_OF_USERS = (ID, Attribute("obj", "owner_id"))  # what holds the id of a user, whatever the resource


def users_in(expression: Expression) -> frozenset[str]:
    """The keys (`user:<id>`) of the users whom an expression names."""
    users = set[str]()
    for atom in atoms(expression):
        named = atom.literals if isinstance(atom, PluginCall) else operands(atom)
        users.update(one for one in named if isinstance(one, str) and PERSON.fullmatch(one))
        if isinstance(atom, Comparison) and atom.left in _OF_USERS and isinstance(atom.right, str):
            users.add(_PREFIX + atom.right)
    return frozenset(users)


def changed_users(old: Policy, new: Policy) -> frozenset[str]:
    """The keys of the users whose own rules differ between the two policies."""
    numbers: dict[Expression, int] = {}
    before, after = (Counter(_statements(policy, numbers)) for policy in (old, new))
    return frozenset(user for users, _ in (before - after) + (after - before) for user in users)


def _statements(policy: Policy, numbers: dict[Expression, int]) -> Iterator[tuple[frozenset[str], Hashable]]:
    """Yields each rule, link, condition and invariant that names users: the users, and what it says of them.

    A condition that names users counts with its meaning, by a number. Other conditions concern everybody: they count
    by their word alone.
    """
    evaluator = PartialEvaluator(policy.model.matcher, policy.roles, policy.patterns)

    @cache
    def meaning(word: str) -> tuple[int | None, frozenset[str]]:
        expression = evaluator.evaluate({"rule.when": word})
        users = users_in(expression)
        return numbers.setdefault(expression, len(numbers)) if users else None, users

    statements = [
        *((meaning(rule.when), rule.sub, (rule.act, rule.when, rule.eft)) for rule in policy.rules),
        *((meaning(line.when), line.who, str(line)) for line in lines_of(policy)),
        *((meaning(word), "", word) for word in policy.conditions),
        *(((None, frozenset[str]()), link.name, link.inherits) for link in policy.roles.links),
    ]
    for (number, users), who, content in statements:
        if named := users | ({who} if PERSON.fullmatch(who) else set()):
            yield named, (number, who, content)
