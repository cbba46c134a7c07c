"""Users whom the rules of two policies name, grouped by equal rules.

Hundreds of users have rules of a few kinds. Two users with equal rules about a permission, whom no condition names,
get the same answers: one comparison is enough for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..comparison.subjects import literals_of, names_of, persons
from ..evaluation.partial import PartialEvaluator
from ..evaluation.policy import Policy
from ..syntax.expression import Expression, atoms, attributes, texts
from ..syntax.rules import Rule

_Line = tuple[str, str, int, str]
_Signature = tuple[frozenset[tuple[str, int, str]], frozenset[str]]
_NOTHING: _Signature = (frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Alike:
    """Users, by key, with equal rules about a permission.

    changed  true if rules of their own differ in the new policy
    """

    keys: tuple[str, ...]
    changed: bool


class Persons:
    """The users to compare for a permission: none if no rule about it has changed."""

    def __init__(self, old: Policy, new: Policy) -> None:
        self._roles = frozenset((*old.roles.names, *new.roles.names))
        # If the matcher names a role or permission, a rule with it can match more than its pattern says.
        self._loose = _names_lines(old) or _names_lines(new)
        # Roles that inherit others can have other answers for every permission.
        self._moved = {role for role in self._roles
                       if self._loose or old.roles.closure(role) != new.roles.closure(role)}
        numbers: dict[Expression, int] = {}
        meanings = [_meanings(policy, numbers) for policy in (old, new)]
        unlike = self._of_roles(old, meanings[0]) ^ self._of_roles(new, meanings[1])
        self._touched = {permission for _, act, _, _ in unlike for policy in (old, new)
                         for permission in policy.patterns.covered(act)}
        # Every caller can have another answer once a rule names a permission that its fallback decided.
        self._touched |= old.fallbacks.keys() ^ new.fallbacks.keys()
        self._alike: dict[str, dict[tuple[object, ...], list[str]]] = {}
        literals = literals_of(old, old.rules) | literals_of(new, new.rules)
        # Names in the rules of one user do not matter to another.
        of_roles = frozenset().union(*(literals_of(policy, self._lines_of_roles(policy)) for policy in (old, new)))
        sides = [_Lines(policy, of_roles, of) for policy, of in zip((old, new), meanings, strict=True)]
        for key in persons(old, new):
            before, after = (side.of(key) for side in sides)
            # A user whom a condition names is unlike all others.
            itself = None if literals.isdisjoint(names_of(key)) else key
            for permission in old.vocabulary.by_permission if self._loose else dict.fromkeys((*before, *after)):
                first, second = before.get(permission, _NOTHING), after.get(permission, _NOTHING)
                if first != second or self._moved or permission in self._touched:
                    self._alike.setdefault(permission, {}).setdefault((first, second, itself), []).append(key)

    def may_differ(self, role: str, permission: str) -> bool:
        """True if answers for a role can differ: its rules, conditions or inheritance differ."""
        return permission in self._touched or role in self._moved

    def on(self, permission: str) -> Iterator[Alike]:
        """The users who have rules of their own, or rules of roles that were lent to them."""
        for (before, after, _), keys in self._alike.get(permission, {}).items():
            yield Alike(tuple(keys), before != after)

    def _of_roles(self, policy: Policy, meanings: Mapping[str, int]) -> set[_Line]:
        return {(rule.sub, rule.act, meanings[rule.when], rule.eft) for rule in self._lines_of_roles(policy)}

    def _lines_of_roles(self, policy: Policy) -> list[Rule]:
        return [rule for rule in policy.rules if rule.sub in self._roles]


class _Lines:
    """The rules of one policy that name users, and the permissions of each role that was lent to them."""

    def __init__(self, policy: Policy, quoted: frozenset[str], meanings: Mapping[str, int]) -> None:
        self._policy, self._quoted, self._meanings = policy, quoted, meanings
        self._rules: dict[str, list[Rule]] = {}
        self._about: dict[str, frozenset[str]] = {}
        for rule in policy.rules:
            if rule.sub in policy.roles:
                self._about[rule.sub] = self._about.get(rule.sub, frozenset()) | policy.patterns.covered(rule.act)
            else:
                self._rules.setdefault(rule.sub, []).append(rule)

    def of(self, key: str) -> dict[str, _Signature]:
        """Permission → the content of the user's rules about it, and the roles that were lent to the user."""
        own: dict[str, set[tuple[str, int, str]]] = {}
        for rule in self._rules.get(key, ()):
            for permission in self._policy.patterns.covered(rule.act):
                own.setdefault(permission, set()).add((rule.act, self._meanings[rule.when], rule.eft))
        lent = self._policy.roles.closure(key) - {key}
        names = {*names_of(key), *lent}
        about = self._policy.vocabulary.by_permission if names & self._quoted else frozenset[str]().union(
            *(self._about.get(role, frozenset()) for role in lent))
        return {permission: (frozenset(own.get(permission, ())), lent) for permission in {*own, *about}}


def _names_lines(policy: Policy) -> bool:
    """True if the matcher compares p.sub or p.act with a literal, as in `p.act == 'article.*'`."""
    return any(any(one.root == "rule" and one.name != "when" for one in attributes(atom)) and texts(atom)
               for atom in atoms(policy.model.matcher))


def _meanings(policy: Policy, numbers: dict[Expression, int]) -> dict[str, int]:
    """A number for each condition that a rule names: equal meanings have equal numbers."""
    evaluator = PartialEvaluator(policy.model.matcher, policy.roles, policy.patterns)
    return {word: numbers.setdefault(evaluator.evaluate({"rule.when": word}), len(numbers))
            for word in {rule.when for rule in policy.rules}}
