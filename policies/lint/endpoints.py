"""Rules that no request can use: because of its method, or because the caller may not view the row."""

from __future__ import annotations

from collections.abc import Iterator

from ..comparison.candidates import METHOD, REQUEST
from ..comparison.subjects import Subject
from ..comparison.substitution import put
from ..evaluation.policy import Policy
from ..evaluation.rights import rights_to
from ..syntax.expression import Comparison, Shared, attributes, disjunction
from ..syntax.roles import GUEST
from ..syntax.rules import Rule
from .matches import ALLOW, Cell, Matches
from .words import listed, verb


class Endpoints:
    """Compares rules with the endpoints of their permissions."""

    def __init__(self, matches: Matches) -> None:
        self._matches, self._policy = matches, matches.policy
        self._of_methods = _reads_method(matches.policy)

    def unused(self, rule: Rule) -> str | None:
        """Says that a condition asks for a method that no request for the permissions of a rule has. Raises Undecided.
        """
        if not self._of_methods or not self._reads_method(rule):
            return None
        used: set[str] = set()
        for cell, number in self._matches.alone(rule):
            methods = self._policy.vocabulary.by_permission[cell.permission].methods.get(cell.permission)
            if methods is None:
                return None
            sent = self._matches.number(disjunction(Comparison("==", METHOD, method) for method in sorted(methods)))
            if self._matches.meets(cell, number, sent):
                return None
            used |= methods
        if not used:
            return None
        return (f"no request for `{rule.act}` meets `{rule.when}`: its method is {' or '.join(sorted(used))}; correct "
                f"the condition, or take the rule out")

    def unseen(self, rule: Rule) -> str | None:
        """Says that nobody who gains a permission by a rule may view a row to use it on. Raises Undecided."""
        if rule.eft != ALLOW:
            return None
        view_of: dict[str, str] = {}
        for permission in sorted(self._policy.permissions_of_line(rule)):
            resource = self._policy.vocabulary.by_permission[permission]
            view = f"{resource.name}.view"
            if permission in resource.on_viewed and view in resource.permissions and not self._usable(
                    rule, permission, view):
                view_of[permission] = view
        if not view_of:
            return None
        views = listed(list(dict.fromkeys(view_of.values())))
        return (f"{listed(list(view_of))} {verb(view_of, 'is', 'are')} of no use here: nobody who gets this by the "
                f"rule has {views} for the same object; give that, too")

    def _usable(self, rule: Rule, permission: str, view: str) -> bool:
        """True if somebody who gains a permission by a rule may view a row to use it on, or nobody gains it."""
        gained = False
        for cell, number in self._gaining(rule, permission):
            gained = True
            if self._viewed(cell, number, view):
                return True
        return not gained

    def _gaining(self, rule: Rule, permission: str) -> Iterator[tuple[Cell, int]]:
        """Yields the callers who have a permission only by this rule.

        Users to whom its role is lent come last, because they may view rows by rules of their own.
        """
        roles = [role for role in self._matches.roles if role != GUEST]
        lone = rule.sub in self._matches.persons
        subjects = [Subject(role, rule.sub) for role in roles] if lone else sorted(
            map(Subject, self._matches.roles), key=lambda subject: subject.role != rule.sub)
        lent = () if lone else (Subject(role, key) for key in self._lent(rule.sub) for role in roles)
        for some in (subjects, lent):
            for subject in some:
                cell = self._matches.cell(subject, permission)
                number = cell.number(rule)
                if number is not None and self._matches.counts(cell, rule, number):
                    yield cell, number

    def _lent(self, role: str) -> Iterator[str]:
        """Yields users to whom a role, or one that inherits it, is lent; one of those who differ in nothing else."""
        seen = set[object]()
        for key in self._matches.lent.get(role, ()):
            like = self._policy.roles.closure(key) - {key} if self._matches.is_plain(key) else key
            if like not in seen:
                seen.add(like)
                yield key

    def _viewed(self, cell: Cell, number: int, view: str) -> bool:
        """True if a condition can hold for a row that the same caller may view."""
        matches, denies = self._matches, list(cell.denies)
        if not rights_to(cell.permission, self._policy.vocabulary.fallbacks):
            # No share gives it: one that gives `view` is another.
            number, *denies = (matches.number(put(matches.expressions[one], {Shared(): False}))
                               for one in (number, *denies))
        # Most users have only the rules of their role.
        key, of_role = cell.subject.key, Subject(cell.subject.role)
        alike = key is not None and not matches.naming(number) and view not in self._policy.permissions_of_lines(key)
        return matches.meets_allowed(matches.cell(of_role if alike else cell.subject, view), number, denies)

    def _reads_method(self, rule: Rule) -> bool:
        return any({METHOD, REQUEST} & {*attributes(self._policy.condition(rule, permission))}
                   for permission in self._policy.patterns.covered(rule.act))


def _reads_method(policy: Policy) -> bool:
    return bool({METHOD, REQUEST} & {*attributes(policy.model.matcher)})
