"""Checks of conditions: they bind each rule, and can hold for every resource that the rules cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..evaluation.partial import PartialEvaluator
from ..syntax.expression import (
    Ago,
    Atom,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    Negation,
    PluginCall,
    Prefixed,
    asks_shares,
    atoms,
    attributes,
    columns,
    reads_object,
    walk,
)
from ..syntax.model import MODEL_FILE, Model
from ..syntax.roles import Roles
from ..syntax.rules import PERSON, Rule
from ..syntax.vocabulary import Patterns, Resource, Vocabulary
from ..wording.finding import Finding, single_person
from ..wording.suggestions import did_you_mean
from .operand_types import no_role, wrong_atom, wrong_parameter

NEGATED_OBJECT = "`!` over the object: a missing value would read as a match; write != instead"
NEGATED_AGE = "`!` over the object: a missing value would read as a match; write youngerThan for !(olderThan(…))"
LOOSE_CONDITION = (
    "part of the matcher holds whatever the condition is; put brackets around the branch: p.when == '…' && (…)"
)
LOOSE_ROLE = "part of the matcher holds for every caller; keep g(r.sub.role, p.sub) before every branch"
LOOSE_LINE = "part of the matcher holds for rules of every role; keep g(r.sub.role, p.sub) before every branch"
LOOSE_PERMISSION = "part of the matcher holds whatever is asked; keep globMatch(r.act, p.act) before every branch"
# Values that no rule can contain.
NO_WORD = "\0"


def matchers(model: Model, patterns: Patterns, vocabulary: Vocabulary, roles: frozenset[str]) -> list[Finding]:
    """A matcher must hold for no line whose role, permission or condition is another, and name known `roles` alone.

    Without this check, brackets forgotten around `a || b` in one branch would allow everything to every caller.
    """
    unbound = {"rule.sub": f"{NO_WORD}s", "role": f"{NO_WORD}r", "key": f"{NO_WORD}k"}
    cases = (
        ({"rule.when": NO_WORD}, LOOSE_CONDITION),
        (unbound, LOOSE_ROLE),
        *(({**unbound, "role": role}, LOOSE_LINE) for role in sorted(roles)),
        *(({"act": f"{NO_WORD}a", "rule.act": act}, LOOSE_PERMISSION) for act in (f"{NO_WORD}p", *_quoted_acts(model))),
    )
    evaluator = PartialEvaluator(model.matcher, Roles(()), patterns)
    findings = [
        Finding(MODEL_FILE, line, message) for constants, message in cases if evaluator.evaluate(constants) is not False
        for line in _loose(model, constants, patterns)
    ]
    for word, condition in model.conditions.items():
        other = f"{word.partition(':')[0]}:"
        if other != word and other in model.conditions:
            message = f"`{word}` is one of the words of `{other}`; keep one of both"
            findings.append(Finding(MODEL_FILE, condition.line, message))
    scopes = PartialEvaluator(model.scope_matcher, Roles(()), patterns)
    for constants in ({"scope": "s", "rule.scope": NO_WORD}, {"act": "a", "rule.act": NO_WORD}):
        if scopes.evaluate(constants) is not False:
            message = "m2 must compare r2.scope with p2.scope and r2.act with p2.act"
            findings.append(Finding(MODEL_FILE, model.scope_line, message))
            break
    scope_atoms = atoms(model.scope_matcher)
    if not all(isinstance(atom, Comparison | FunctionCall) and not _reads_request(atom) for atom in scope_atoms):
        findings.append(Finding(MODEL_FILE, model.scope_line, "m2 knows r2.scope, r2.act, p2.scope and p2.act only"))
    negations = (part for part in walk(model.matcher) if isinstance(part, Negation))
    findings += dict.fromkeys(Finding(MODEL_FILE, model.line(part), NEGATED_AGE if _asks_age(part) else NEGATED_OBJECT)
                              for part in negations if reads_object(part))
    for atom in dict.fromkeys(atoms(model.matcher)):
        wrong = wrong_atom(atom, None, roles, vocabulary) or _wrong_role(atom, roles)
        if wrong:
            findings.append(Finding(MODEL_FILE, model.line(atom), wrong))
    return findings


def conditions(model: Model, rules: Iterable[Rule], patterns: Patterns, vocabulary: Vocabulary,
               roles: frozenset[str]) -> list[Finding]:
    """Every rule's condition against the columns of every resource that its permission column reaches.

    What no resource has, or is of another type in all of them, is a finding at its line of the matcher.
    """
    evaluator = PartialEvaluator(model.matcher, Roles(()), patterns)
    named = model.rule_columns
    reached: dict[str, tuple[Resource, ...]] = {}
    seen: dict[tuple[object, ...], Finding | str | None] = {}
    by_atom: dict[Atom, Finding | None] = {}
    findings: list[Finding] = []
    for rule in rules:
        resources = reached.get(rule.act)
        if resources is None:
            covered = (vocabulary.by_permission[permission] for permission in sorted(patterns.covered(rule.act)))
            resources = reached[rule.act] = tuple({resource.name: resource for resource in covered}.values())
        for resource in resources:
            key = (resource.name, *(getattr(rule, field) for field in named))
            if key not in seen:
                condition = evaluator.evaluate({f"rule.{field}": getattr(rule, field) for field in named})
                taken = _wrong_parameter(rule, model, resource, vocabulary, roles)
                for atom in atoms(condition):
                    if atom not in by_atom:
                        by_atom[atom] = _wrong_everywhere(atom, model, vocabulary, roles)
                anywhere = next((by_atom[atom] for atom in atoms(condition) if by_atom[atom]), None)
                seen[key] = (taken or anywhere or _wrong_condition(condition, resource, roles, vocabulary)
                             or (None if vocabulary.shares else _denies_nothing(rule, condition)))
            wrong = seen[key]
            if isinstance(wrong, Finding):
                findings.append(wrong)
            elif wrong:
                message = f"`{rule.act}` with `{rule.when}`: {wrong}"
                findings.append(Finding(rule.file, rule.line, message, person=single_person(rule.sub)))
    return findings


def _denies_nothing(rule: Rule, expression: Expression) -> str | None:
    """Says why a rule denies nothing if sharing is left out."""
    if rule.eft == "deny" and asks_shares(expression):
        return "sharing is left out (setting without), so this rule would deny nothing; serve it, or deny otherwise"
    return None


def _wrong_everywhere(atom: Atom, model: Model, vocabulary: Vocabulary, roles: frozenset[str]) -> Finding | None:
    """A finding about an atom that can hold for no resource at all."""
    named = columns(atom)
    if not named:
        return None
    having = [resource for resource in vocabulary.described if named <= resource.columns.keys()]
    wrong = [message for resource in having if (message := wrong_atom(atom, resource, roles, vocabulary))]
    if not having:
        existing = {name for resource in vocabulary.described for name in resource.columns}
        unknown = sorted(named - existing) or sorted(named)
        reader = f"{atom.function.name} ({atom.function.place}) reads, and " if isinstance(atom, PluginCall) else ""
        wrong = [f"{reader}no collection has a column {', '.join(unknown)}{did_you_mean(unknown[0], existing)}"]
    return Finding(MODEL_FILE, model.line(atom), wrong[0]) if len(wrong) >= max(len(having), 1) else None


def _wrong_condition(expression: Expression, resource: Resource, roles: frozenset[str], vocabulary: Vocabulary
                     ) -> str | None:
    lacking = sorted(columns(expression) - set(resource.columns))
    if lacking:
        near = did_you_mean(lacking[0], resource.columns)
        return f"{resource.name} has no column {', '.join(lacking)}{near}"
    for atom in atoms(expression):
        if asks_shares(atom) and "id" not in resource.columns:
            return f"{resource.name} has no rows that could be shared"
        # Atoms without columns are checked with the matcher.
        wrong = wrong_atom(atom, resource, roles, vocabulary) if columns(atom) else None
        if wrong:
            return wrong
    return None


def _wrong_parameter(rule: Rule, model: Model, resource: Resource, vocabulary: Vocabulary,
                     roles: frozenset[str]) -> Finding | None:
    """Says what is wrong with the column of a parameter. With the parameter put in, the comparison is on no line.

    Where the line's own resource lacks the column, another one says its type.
    """
    condition = model.conditions.get(rule.when)
    for atom in atoms(condition.expression if condition else True):
        if not isinstance(atom, Comparison) or not isinstance(atom.right, Prefixed):
            continue
        candidates = (resource, *vocabulary.described)
        having = next((one for one in candidates if columns(atom) <= one.columns.keys()), None)
        if having is None:
            return _wrong_everywhere(atom, model, vocabulary, roles)
        if wrong := wrong_parameter(atom.right, having, vocabulary):
            return Finding(MODEL_FILE, model.line(atom), wrong)
    return None


def _reads_request(atom: Comparison | FunctionCall) -> bool:
    return any(attribute.root in ("sub", "obj", "env") for attribute in attributes(atom))


def _asks_age(expression: Expression) -> bool:
    return any(isinstance(atom, Comparison) and isinstance(atom.right, Ago) for atom in atoms(expression))


def _wrong_role(atom: Expression, roles: frozenset[str]) -> str | None:
    """A role that no user can have, as `g` names it."""
    match atom:
        case FunctionCall("g", (Attribute("sub", "key"), str() as name)) if PERSON.fullmatch(name):
            return None
        case FunctionCall("g", (_, str() as name)):
            return None if name in roles else no_role(name, roles)
    return None


def _quoted_acts(model: Model) -> list[str]:
    """The texts with which the matcher compares the permission column."""
    compared = (atom for atom in atoms(model.matcher) if isinstance(atom, Comparison))
    return [atom.right for atom in compared if atom.left == Attribute("rule", "act") and isinstance(atom.right, str)]


def _loose(model: Model, constants: Mapping[str, str], patterns: Patterns) -> list[int]:
    """The lines of those parts of an `||` that hold under `constants`, while others beside them do not."""
    lines = []
    for parts in model.places.alternatives:
        holding = [line for part, line in parts
                   if PartialEvaluator(part, Roles(()), patterns).evaluate(constants) is not False]
        lines += holding if len(holding) < len(parts) else []
    return lines or [model.matcher_line]
