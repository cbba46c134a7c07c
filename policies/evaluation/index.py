"""Rules that can match a question, found without reading the others.

A rule matters to a question if partial evaluation of the matcher is not `False`. The index evaluates the matcher twice:
with only the caller and the name in the rule, and with only the permission and the rule's permission column. If either
is `False`, it stays `False` with all values known. This is correct for every matcher, whatever its form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from ..syntax.expression import KEY, Attribute, Comparison, Expression, FunctionCall, atoms, attributes
from ..syntax.roles import Roles
from ..syntax.rules import Rule
from ..syntax.vocabulary import Patterns
from .partial import PartialEvaluator

Numbered = tuple[int, Rule]  # with the place in the order of the files
_ACTS = (Attribute("act", ""), Attribute("rule", "act"))
NOBODY = ""  # a key that no rule names
_NO_ROLE, _NO_PERMISSION = "\0role", "\0permission"  # that no rule can have


class Index:
    """The rules of one policy by permission column and name. It is safe for any number of threads."""

    def __init__(
        self, rules: Iterable[Rule], matcher: Expression, evaluator: PartialEvaluator, roles: Roles, patterns: Patterns,
        permissions: frozenset[str],
    ) -> None:
        """`permissions` are all that there are."""
        self._evaluator, self._roles, self._patterns, self._all = evaluator, roles, patterns, permissions
        self._lines: dict[str, dict[str, list[Numbered]]] = {}
        self._names: dict[str, dict[str, None]] = {}
        for number, rule in enumerate(rules):
            self._lines.setdefault(rule.act, {}).setdefault(rule.sub, []).append((number, rule))
            self._names.setdefault(rule.sub, {})[rule.act] = None
        leaves = list(atoms(matcher))
        # Permissions in quotes: a rule about another permission may matter to them.
        self._quoted = {side for atom in leaves if isinstance(atom, Comparison)
                        and any(attribute in _ACTS for attribute in attributes(atom))
                        for side in (atom.left, atom.right) if isinstance(side, str)}
        # Names in quotes that the matcher compares with the roles of the caller's key.
        self.quoted_names = frozenset(
            name for atom in leaves if isinstance(atom, FunctionCall) and atom.arguments[0] == KEY
            for name in atom.arguments[1:] if isinstance(name, str)
        )
        self._names_by_caller: dict[tuple[str, str | None], frozenset[str]] = {}

    @property
    def quotes_permissions(self) -> bool:
        """True if the matcher compares the permission with a text."""
        return bool(self._quoted)

    def bearing(self, role: str, key: str | None, permission: str) -> list[Rule]:
        """The rules that can matter to a permission for a role, or for the user `key` with that role, in the order of
        the files."""
        names = self._names_of(role, NOBODY if key is None or self.is_only_named(key) else None)
        if key is not None:
            names |= self._roles.closure(key)
        return self._of(names, permission)

    def naming(self, who: str, permission: str) -> list[Rule]:
        """Returns those of them that name `who` (a role or the key of a user) or a role that it inherits."""
        return self._of(self._roles.closure(who), permission)

    def sets_apart(self, key: str, permission: str) -> bool:
        """True if the answer for a user may differ from that for others with the same role."""
        names = self._roles.closure(key)
        # `isdisjoint` of a dict would look at each key, and there are thousands of users.
        return not self.is_only_named(key) or any(
            name in self._lines[act] for act in self._acts_of.get(permission, ()) for name in names
        )

    def permissions(self, who: str) -> frozenset[str]:
        """The permissions to which rules can matter that name `who`, or a role that it inherits."""
        acts = {act for name in self._roles.closure(who) for act in self._names.get(name, ())}
        return frozenset().union(*(self._permissions_of[act] for act in acts))

    def permissions_of(self, act: str) -> frozenset[str]:
        """The permissions to which rules with this permission column can matter."""
        return self._permissions_of.get(act, frozenset())

    def knows_key_of(self, role: str) -> bool:
        """True if the matcher takes a key of the same name as the role (a guest's is `guest`) for more than it."""
        names = {*self._roles.closure(role), *self.quoted_names, _NO_ROLE}
        evaluate = self._evaluator.evaluate
        return any(evaluate(_constants(name, role, role)) != evaluate(_constants(name, role, NOBODY)) for name in names)

    def _of(self, names: frozenset[str], permission: str) -> list[Rule]:
        numbered = [line for act in self._acts_of.get(permission, ())
                 for name in names & self._lines[act].keys() for line in self._lines[act][name]]
        return [rule for _, rule in sorted(numbered)]

    def is_only_named(self, key: str) -> bool:
        """True if the key matters only to rules that name the user or a lent role."""
        return self.quoted_names.isdisjoint(self._roles.closure(key))

    def _names_of(self, role: str, key: str | None) -> frozenset[str]:
        """The names whose rules can match a caller with this role; with a key of None, any user with it."""
        names = self._names_by_caller.get((role, key))
        if names is None:
            names = frozenset(name for name in self._names if self._evaluator.leaves_any(_constants(name, role, key)))
            self._names_by_caller[role, key] = names
        return names

    @cached_property
    def _everywhere(self) -> tuple[str, ...]:
        """The permission columns of rules that can matter to a permission that they do not name."""
        return tuple(act for act in self._lines if self._bears(act, _NO_PERMISSION))

    @cached_property
    def _permissions_of(self) -> Mapping[str, frozenset[str]]:
        """Permission column → the permissions to which its rules can matter."""
        by_column = {}
        for act in self._lines:
            named = {*self._patterns.covered(act), *self._quoted, act}
            bears = {permission for permission in named
                     if self._bears(self._patterns.standing_for(act, permission), permission)}
            others = self._all - named if act in self._everywhere else frozenset()
            by_column[act] = self._all & bears | others
        return by_column

    @cached_property
    def _acts_of(self) -> Mapping[str, tuple[str, ...]]:
        """Permission → the permission columns whose rules can matter to it; empty for other words."""
        columns: dict[str, list[str]] = {}
        for act, permissions in self._permissions_of.items():
            for permission in permissions:
                columns.setdefault(permission, []).append(act)
        return {permission: tuple(acts) for permission, acts in columns.items()}

    def _bears(self, act: str, permission: str) -> bool:
        return self._evaluator.leaves_any({"rule.act": act, "act": permission})


def _constants(name: str, role: str, key: str | None) -> dict[str, str]:
    """The constants of a rule that names `name`, for a caller with this role and key, or for any key if it is None."""
    constants = {"rule.sub": name, "role": role}
    return constants if key is None else {**constants, "key": key}
