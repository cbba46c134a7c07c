"""Questions as JSON for node-casbin: the values that the matcher reads, without missing ones."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

from policies import Policy, Principal
from policies.evaluation.compiled import NO_OBJECT, value_of
from policies.loading.sample import Arguments
from policies.syntax.attributes import ENVIRONMENT
from policies.syntax.expression import Attribute, Comparison, PluginCall, atoms, attributes

NONE_FOLLOWS = "[]"  # the arguments of `shared` after the first three


@dataclass(frozen=True)
class Request:
    """One question.

    values   r.sub, r.act, r.obj, r.env; a missing value is an absent key
    scopes   of the token; None without one
    answers  function → JSON of its arguments after the first three → its result
    """

    values: tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]
    scopes: tuple[str, ...] | None
    answers: dict[str, dict[str, bool]]

    @property
    def json(self) -> dict[str, Any]:
        return asdict(self)

    def arguments(self, policy: Policy) -> Arguments:
        """Returns the arguments for `Policy.decide`. Values that the matcher does not read are missing."""
        sub, permission, obj, env = self.values
        principal = Principal(
            sub.get("id"), sub["key"], sub["role"], sub.get("tenant_id", ""), sub.get("department"),
            sub.get("kind", ""), tuple(sub["groups"]), None if self.scopes is None else frozenset(self.scopes))
        resource = policy.vocabulary.by_permission[permission]
        row = resource.row(**obj) if resource.columns else None
        shared = self.answers["shared"][NONE_FOLLOWS]
        return principal, permission, row, environment(env), lambda *_: shared


def environment(values: dict[str, Any]) -> SimpleNamespace:
    """An environment with these values. All others are missing."""
    return SimpleNamespace(**{name: values.get(name) for name in ENVIRONMENT})


def request(policy: Policy, question: Arguments) -> Request:
    """Returns the question for node-casbin."""
    principal, permission, row, env, _ = question
    named = {attribute for atom in atoms(policy.model.matcher) for attribute in attributes(atom)}
    values = {root: {attribute.name for attribute in named if attribute.root == root} for root in ("sub", "obj", "env")}
    sub = _there(principal, values["sub"] - {"groups"}) | {
        "key": principal.key, "role": principal.role, "groups": list(principal.groups)}
    obj = {name: value for name in sorted(values["obj"]) if (value := (row or NO_OBJECT).get(name)) is not None}
    return Request(
        (sub, permission, obj, _there(env, values["env"]) | {"ip": env.ip}),
        None if principal.scopes is None else tuple(sorted(principal.scopes)),
        _answers(policy, question),
    )


def _answers(policy: Policy, question: Arguments) -> dict[str, dict[str, bool]]:
    """Returns the results of `shared` and of plugins' functions, which node-casbin cannot compute."""
    principal, permission, row, env, shared = question
    found = {"shared": {NONE_FOLLOWS: row is not None and shared(principal, row, permission)}}
    for atom in atoms(policy.model.matcher):
        if isinstance(atom, PluginCall):
            there = defaultdict(lambda: None, row or {})  # some resources lack columns that others have
            read = [value_of(attribute)(principal, there, env) for attribute in attributes(atom)]
            follows = json.dumps(atom.literals, separators=(",", ":"))
            found.setdefault(atom.function.name, {})[follows] = row is not None and atom.function.holds(
                *read, *atom.literals)
    return found


def otherwise(policy: Policy, question: Arguments) -> str:
    """Returns the reason why node-casbin decides differently by design; "" if there is none.

    To node-casbin a missing value is an absent key. Two absent keys are equal, and an absent key differs from every
    value.
    """
    principal, permission, row, env, _ = question
    for _, left in policy.matching_rules(principal.role, principal.key, permission):
        for atom in atoms(left):
            if isinstance(atom, Comparison) and atom.operator in ("==", "!="):
                sides = [side for side in (atom.left, atom.right) if isinstance(side, Attribute)]
                missing = sum(value_of(side)(principal, row or NO_OBJECT, env) is None for side in sides)
                if missing and atom.operator == "!=":
                    return "!= with a missing value"
                if missing == 2:
                    return "== of two missing values"
    return ""


def _there(values: object, names: set[str]) -> dict[str, Any]:
    return {name: value for name in sorted(names) if (value := getattr(values, name)) is not None}

