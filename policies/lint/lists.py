"""Conditions by which lists are filtered in the database, and that no index serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..evaluation.plan import branches
from ..evaluation.policy import Policy
from ..syntax.expression import Ago, Attribute, Comparison, Expression, InGroup, Operand, Shared, columns, conjuncts
from ..syntax.model import MODEL_FILE
from ..syntax.rules import Rule
from ..syntax.vocabulary import Resource
from ..wording.finding import Finding
from .matches import ALLOW


class Lists:
    """Findings about rules that make lists slow. Several rules with one condition have one finding at the condition.

    of_conditions  the findings in model.conf
    """

    def __init__(self, policy: Policy, rules: Iterable[Rule]) -> None:
        self._policy = policy
        self._by_condition: dict[tuple[str, str], tuple[str, ...]] = {}
        of_words: dict[str, dict[Rule, tuple[str, ...]]] = {}
        for rule in rules:
            if slow := tuple(self._slow(rule)):
                of_words.setdefault(rule.when, {})[rule] = slow
        self.of_conditions = tuple(
            Finding(MODEL_FILE, policy.conditions[word].line, message, "warning")
            for word, slow in of_words.items() if len({*slow.values()}) > 1 and word in policy.conditions
            for message in dict.fromkeys(one for messages in slow.values() for one in messages)
        )
        at_condition = {finding.message for finding in self.of_conditions}
        self._messages = {rule: messages for slow in of_words.values() for rule, messages in slow.items()
                      if not at_condition.issuperset(messages)}

    def about(self, rule: Rule) -> tuple[str, ...]:
        """A sentence for each resource, and each way to meet the condition, that no index serves."""
        return self._messages.get(rule, ())

    def _slow(self, rule: Rule) -> Iterator[str]:
        covered = self._policy.patterns.covered(rule.act) if rule.eft == ALLOW else frozenset()
        by_permission = self._policy.vocabulary.by_permission
        for permission in sorted(covered):
            resource = by_permission[permission]
            if permission == f"{resource.name}.view":
                key = (rule.when, resource.name)
                if key not in self._by_condition:
                    condition = self._policy.condition(rule, permission)
                    self._by_condition[key] = tuple(_about(condition, resource))
                yield from self._by_condition[key]


def _about(condition: Expression, resource: Resource) -> Iterator[str]:
    for branch in branches(condition):
        if columns(branch) and (indexes := resource.indexes()) and not _served(branch, indexes):
            yield f"no index of {resource.name} serves lists by {', '.join(sorted(columns(branch)))}; they will be slow"


def _served(branch: Expression, indexes: tuple[tuple[str, ...], ...]) -> bool:
    """True if an index begins with a column, after the tenant's, that this branch pins or bounds by its age."""
    parts = conjuncts(branch)
    if any(isinstance(part, Shared) for part in parts):
        return True
    pinned = {
        side.name
        for part in parts
        for side in _sides(part)
        if isinstance(side, Attribute) and side.root == "obj"
    }
    starts = ([name for name in index if name != "tenant_id"][:1] for index in indexes)
    return any(start and start[0] in pinned for start in starts)


def _sides(part: Expression) -> tuple[Operand, ...]:
    """The operands that a part of a branch pins or bounds. A list compares a group with each group of the caller."""
    match part:
        case Comparison("==", left, right):
            return left, right
        case Comparison(_, left, Ago()):
            return (left,)
        case InGroup():
            return () if part.column is None else (part.column,)
    return ()
