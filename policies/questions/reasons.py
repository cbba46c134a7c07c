"""Rules that make the difference: they decide a request in one policy and are not part of the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..comparison.subjects import Subject
from ..evaluation.policy import Policy
from ..syntax.model import MODEL_FILE
from ..syntax.roles import RoleLink
from ..syntax.rules import Rule


class Reasons:
    """The rules of one policy that another one lacks or reads otherwise."""

    def __init__(self, policy: Policy, other: Policy) -> None:
        self._policy = policy
        self._known = {_says(rule) for rule in other.rules}
        self._links = {(link.name, link.inherits) for link in other.roles.links}
        self._conditions = other.conditions

    def places(self, rules: Iterable[Rule], subject: Subject) -> list[str]:
        """Returns the places that explain why these rules match a subject in this policy, each once."""
        return list(dict.fromkeys(place for rule in rules for place in self._places(rule, subject)))

    def unlike(self, rules: Iterable[Rule]) -> list[str]:
        """Returns the places of those rules whose exact text the other policy lacks."""
        return [rule.place for rule in rules if _says(rule) not in self._known]

    def _places(self, rule: Rule, subject: Subject) -> Iterator[str]:
        """The line itself if it is new; else the role line by which it reaches the caller, or its condition."""
        if _says(rule) not in self._known:
            yield rule.place
            return
        unlike = [link for link in self._chain(rule, subject) if (link.name, link.inherits) not in self._links]
        condition, other = (conditions.get(rule.when) for conditions in (self._policy.conditions, self._conditions))
        if unlike:
            yield from (f"{link.file}:{link.line}" for link in unlike)
        elif condition is not None and (
                other is None or condition.expression != other.expression):
            yield f"{MODEL_FILE}:{condition.line}"
        else:
            yield rule.place

    def _chain(self, rule: Rule, subject: Subject) -> tuple[RoleLink, ...]:
        ways = (self._policy.roles.chain(name, rule.sub) for name in (subject.role, subject.key) if name is not None)
        return next((way for way in ways if way is not None), ())


def _says(rule: Rule) -> tuple[str, str, str, str]:
    return rule.sub, rule.act, rule.when, rule.eft
