"""Rules that an older version accepted and this one refuses: the service cannot apply them.

A change that contains such a rule is refused like any other mistake. A service that starts with one runs: the rule
is *closed*. An `allow` that is closed never matches, and a `deny` matches every object of its role and permission.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from ..evaluation.partial import PartialEvaluator
from ..syntax.addresses import network, normalized, unmapped
from ..syntax.expression import (
    ADDRESS,
    Atom,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    InGroup,
    Prefixed,
    atoms,
    attributes,
    columns,
)
from ..syntax.model import MODEL_FILE, Model
from ..syntax.roles import Roles
from ..syntax.rules import Rule
from ..syntax.vocabulary import Patterns, Resource, Vocabulary
from ..wording.finding import Finding, quoted, single_person

UNTIL_CHANGED = ("an allow among them never matches, a deny matches every object, and a promise (always) that they "
                 "break is not kept")
MOST_NAMED = 3  # rules that a finding about model.conf names


@dataclass(frozen=True)
class Outdated:
    """The closed rules, and an error for each of them; of rules that use one line of model.conf, one error."""

    rules: frozenset[Rule] = frozenset()
    findings: list[Finding] = field(default_factory=list)


def find_outdated(model: Model, rules: Iterable[Rule], patterns: Patterns, vocabulary: Vocabulary) -> Outdated:
    """The rules of a policy that are closed. A wrong line of model.conf is an error though no rule uses it."""
    wrong = {atom: message for atom in atoms(model.matcher) if (message := _wrong(atom))}
    evaluator = PartialEvaluator(model.matcher, Roles(()), patterns)
    # Otherwise only what is asked about new rows can close a rule, and nothing else is folded.
    all_asked = bool(wrong) or any(_compares_address_with_rule(atom) for atom in atoms(model.matcher))
    reasons: dict[tuple[str, ...], str | Atom | None] = {}
    users: dict[Atom, list[Rule]] = {atom: [] for atom in wrong}
    closed, findings = [], []
    for rule in rules:
        values = {f"rule.{name}": getattr(rule, name) for name in model.rule_columns}
        key = (rule.act, *values.values())
        if key not in reasons:
            lefts = ((permission, evaluator.evaluate({"act": permission, **values}))
                     for permission in sorted(patterns.covered(rule.act))
                     if all_asked or vocabulary.by_permission[permission].unset(permission))
            reasons[key] = next((reason for permission, condition in lefts if (reason := _reason(
                wrong, vocabulary.by_permission[permission], permission, condition)) is not None), None)
        reason = reasons[key]
        if reason is None:
            continue
        closed.append(rule)
        if isinstance(reason, str):
            message = f"{quoted(rule.act)} with {quoted(rule.when)}: {reason}"
            findings.append(Finding(rule.file, rule.line, message, person=single_person(rule.sub), outdated=True))
        else:
            users[reason].append(rule)
    findings += [Finding(MODEL_FILE, model.line(atom), f"{wrong[atom]}{_used_by(lines)}", outdated=True)
                 for atom, lines in users.items()]
    return Outdated(frozenset(closed), findings)


def wrong_group(atom: Atom) -> str | None:
    """Returns why `inGroup` cannot take its second argument, a value of the caller or the request; None if it can."""
    if isinstance(atom, InGroup) and isinstance(atom.group, Attribute) and atom.group.root != "obj":
        return f"inGroup takes a column of the object or a group in quotes, not {atom.group}"
    return None


def wrong_address(atom: Atom) -> str | None:
    """Returns why no request can have the address that an atom names; None if one can. All addresses have one spelling
    (`syntax.addresses`)."""
    match atom:
        case FunctionCall("ipMatch", (_, str(name))) if (plain := unmapped(network(name))) is not None:
            return f"no address is in {name!r}, since IPv4 is compared as IPv4; write '{plain}'"
        case Comparison(_, _, Prefixed(_, attribute)) if attribute == ADDRESS:
            return "a parameter is no address; write ipMatch(r.env.ip, '10.0.0.0/8')"
        case Comparison(_, left, str(name)) if left == ADDRESS and (address := normalized(name)) != name:
            return f"no request has the address {name!r}; write '{address or '203.0.113.7'}'"
    return None


def _wrong(atom: Atom) -> str | None:
    return wrong_group(atom) or wrong_address(atom)


def unset_at_create(resource: Resource, permission: str, condition: Expression) -> str | None:
    """Says why a condition cannot be asked about a new row: it reads a column that is set after the decision."""
    unset = sorted(columns(condition) & resource.unset(permission))
    if not unset:
        return None
    others = ", ".join(one for one in sorted(resource.permissions) if one != permission)
    return (f"a new {resource.name} has no {' and no '.join(unset)} when {permission} is decided. Write a rule for "
            f"each permission that is meant, without {permission}: {others}")


def _compares_address_with_rule(atom: Atom) -> bool:
    compared = set(attributes(atom))
    return ADDRESS in compared and any(attribute.root == "rule" for attribute in compared)


def _reason(wrong: Container[Atom], resource: Resource, permission: str, condition: Expression) -> str | Atom | None:
    for atom in atoms(condition):
        if atom in wrong:
            return atom
        if message := _wrong(atom):  # with the parameter of a line
            return message
    return unset_at_create(resource, permission, condition)


def _used_by(rules: list[Rule]) -> str:
    if not rules:
        return ""
    more = f" and {len(rules) - MOST_NAMED} more" if len(rules) > MOST_NAMED else ""
    return f"; used by {', '.join(rule.place for rule in rules[:MOST_NAMED])}{more}"
