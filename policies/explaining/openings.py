"""Rules that would allow a refused request: one for each condition of model.conf that holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..evaluation.compiled import SharedWith, no_shares
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..evaluation.principal import Environment, Principal
from ..evaluation.rule_trace import trace_rule
from ..syntax.expression import Attribute, asks_shares, attributes
from ..syntax.rules import Rule


@dataclass(frozen=True, slots=True)
class Opening:
    """A new rule that would allow it to the caller's role, and the file with the rules about such objects."""

    file: str
    line: str
    when: str

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "rule": self.line, "when": self.when}


def openings(policy: Policy, principal: Principal, permission: str, obj: Mapping[str, Any] | None, env: Environment,
             shared: SharedWith = no_shares, *, sees: Callable[[Attribute], bool] = lambda attribute: True
             ) -> list[Opening]:
    """Returns rules that would each allow it, `always` last; none if a rule denies it or scopes do not cover it.

    Arguments are those of `Policy.decide`. Conditions that read shares, or attributes for which `sees` is false, are
    left out. Raises KeyError for a permission that the vocabulary does not have.
    """
    denied = any(trace.matched and trace.rule.eft == "deny"
                 for trace in policy.rule_traces(principal, permission, obj, env, shared))
    if denied or not policy.covers(principal, permission) or policy.is_lost(principal):
        return []
    file = _file(policy, permission)
    holding = _holding(policy, principal, permission, obj, env, shared, sees)
    words = sorted(holding, key=lambda word: word == ALWAYS_WORD)
    return [Opening(file, f"p, {principal.role}, {permission}, {word}, allow", word) for word in words]


def _holding(policy: Policy, principal: Principal, permission: str, obj: Mapping[str, Any] | None, env: Environment,
             shared: SharedWith, sees: Callable[[Attribute], bool]) -> Iterator[str]:
    row = () if obj is None else policy.vocabulary.by_permission[permission].columns
    for word in policy.conditions:
        rule = Rule("", 0, principal.role, permission, word, "allow")
        condition = policy.condition_for(rule, permission, principal.role, principal.key)
        is_visible = all(
            attribute.root == "env" or (sees(attribute) and (attribute.root == "sub" or attribute.name in row))
            for attribute in attributes(condition))
        # The object's own list of shares shows with whom it is shared.
        if (is_visible and not asks_shares(condition)
                and trace_rule(rule, condition, permission, principal, obj, env, shared).matched):
            yield word


def _file(policy: Policy, permission: str) -> str:
    """The file with most rules about the resource; else the file in which an administrator expects them."""
    resource = f"{permission.partition('.')[0]}."
    places = Counter(rule.file for rule in policy.rules if rule.act.startswith(resource))
    return places.most_common(1)[0][0] if places else f"{resource}csv"
