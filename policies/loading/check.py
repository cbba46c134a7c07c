"""Checks of conditions: their shape, their types, and the columns of every resource that they reach."""

from __future__ import annotations

from collections.abc import Iterable

from ..evaluation.fold import Folder
from ..syntax.attributes import ENVIRONMENT, SUBJECT, TEXT
from ..syntax.expression import (
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    Negation,
    Operand,
    Shared,
    atoms,
    attributes,
    columns,
    reads_object,
)
from ..syntax.finding import Finding, single_person
from ..syntax.model import MODEL_FILE, Model
from ..syntax.patterns import Patterns
from ..syntax.roles import Roles
from ..syntax.rules import Rule
from ..syntax.vocabulary import Column, Resource, Vocabulary, is_of

NEGATED_OBJECT = "`!` over the object: a missing value would read as a match; write != instead"
LOOSE_CONDITION = (
    "part of the matcher holds whatever the condition is; put brackets around the branch: p.when == '…' && (…)"
)
LOOSE_ROLE = "part of the matcher holds for every caller; keep g(r.sub.role, p.sub) before every branch"
LOOSE_PERMISSION = "part of the matcher holds whatever is asked; keep globMatch(r.act, p.act) before every branch"
# Values that no line can hold.
NO_WORD = "\0"
KINDS = {str: "a text", int: "a number", bool: "a truth value"}
ORDERED = ("<", "<=", ">", ">=")


def matchers(model: Model, patterns: Patterns) -> list[Finding]:
    """A matcher must hold for no line whose role, permission or condition is another.

    Without this check, brackets forgotten around `a || b` in one branch would allow everything to every caller.
    """
    unbound = {"rule.sub": f"{NO_WORD}s", "role": f"{NO_WORD}r", "key": f"{NO_WORD}k"}
    cases = (
        ({"rule.when": NO_WORD}, LOOSE_CONDITION),
        (unbound, LOOSE_ROLE),
        ({"act": f"{NO_WORD}a", "rule.act": f"{NO_WORD}p"}, LOOSE_PERMISSION),
    )
    folder = Folder(model.matcher, Roles(()), patterns)
    findings = [
        Finding(MODEL_FILE, model.matcher_line, message) for known, message in cases if folder.fold(known) is not False
    ]
    scopes = Folder(model.scope_matcher, Roles(()), patterns)
    for known in ({"scope": "s", "rule.scope": NO_WORD}, {"act": "a", "rule.act": NO_WORD}):
        if scopes.fold(known) is not False:
            findings.append(Finding(MODEL_FILE, 0, "m2 must compare r2.scope with p2.scope and r2.act with p2.act"))
            break
    scope_atoms = atoms(model.scope_matcher)
    if not all(isinstance(atom, Comparison | FunctionCall) and not _reads_request(atom) for atom in scope_atoms):
        findings.append(Finding(MODEL_FILE, 0, "m2 knows r2.scope, r2.act, p2.scope and p2.act only"))
    for part in _negated(model.matcher):
        if reads_object(part):
            findings.append(Finding(MODEL_FILE, _line(model, part), NEGATED_OBJECT))
    for atom in dict.fromkeys(atoms(model.matcher)):
        wrong = _wrong_atom(atom, None)
        if wrong:
            findings.append(Finding(MODEL_FILE, _line(model, atom), wrong))
    return findings


def conditions(model: Model, rules: Iterable[Rule], patterns: Patterns, vocabulary: Vocabulary) -> list[Finding]:
    """Every rule's condition against the columns of every resource that its permission column reaches."""
    folder = Folder(model.matcher, Roles(()), patterns)
    named = {
        attribute.name for atom in atoms(model.matcher) if not isinstance(atom, FunctionCall)
        for attribute in attributes(atom) if attribute.root == "rule"
    } | {"when", "eft"}
    reached: dict[str, tuple[Resource, ...]] = {}
    seen: dict[tuple[object, ...], str | None] = {}
    findings = []
    for rule in rules:
        resources = reached.get(rule.act)
        if resources is None:
            found = (vocabulary.by_permission[permission] for permission in sorted(patterns.covered(rule.act)))
            resources = reached[rule.act] = tuple({resource.name: resource for resource in found}.values())
        for resource in resources:
            key = (resource.name, *(getattr(rule, field) for field in sorted(named)))
            if key not in seen:
                left = folder.fold({f"rule.{field}": getattr(rule, field) for field in named})
                seen[key] = _wrong_condition(left, resource)
            wrong = seen[key]
            if wrong:
                message = f"`{rule.act}` with `{rule.when}`: {wrong}"
                findings.append(Finding(rule.file, rule.line, message, person=single_person(rule.sub)))
    return findings


def _wrong_condition(expression: Expression, resource: Resource) -> str | None:
    lacking = sorted(columns(expression) - set(resource.columns))
    if lacking:
        return f"{resource.name} has no column {', '.join(lacking)}"
    for atom in atoms(expression):
        if isinstance(atom, Shared) and "id" not in resource.columns:
            return f"{resource.name} has no rows that could be shared"
        wrong = _wrong_atom(atom, resource)
        if wrong:
            return wrong
    return None


def _wrong_atom(atom: Expression, resource: Resource | None) -> str | None:
    """What is wrong with the types of an atom; columns are judged once their resource is known."""
    if not isinstance(atom, Comparison) or not isinstance(atom.left, Attribute):
        return None
    typed: list[tuple[Attribute, Column]] = []
    for attribute in attributes(atom):
        column = _column(attribute, resource)
        if column is None:
            return None
        if isinstance(column, str):
            return column
        typed.append((attribute, column))
    left = typed[0][1]
    if isinstance(atom.right, Attribute):
        if not _alike(*typed[0], *typed[1]):
            return f"{atom.left} and {atom.right} are of different types"
    elif not _fits(atom.right, left):
        return f"{atom.left} is {_type(left)}; {atom.right!r} is not"
    for attribute, column in typed if atom.operator in ORDERED else ():
        if column.type is not int and column.format not in ("date", "date-time"):
            return f"{attribute} is {_type(column)}, which has no order; only numbers and times do"
    return None


def _fits(literal: Operand, column: Column) -> bool:
    return type(literal) is column.type and (column.format is None or is_of(column.format, str(literal)))


def _alike(one: Attribute, left: Column, other: Attribute, right: Column) -> bool:
    """Whether two values compare in every database: a uuid with a uuid, a time with a time.

    A column of the object that declares no format takes any value of its type.
    """
    if left.type is not right.type:
        return False
    objects = [column for attribute, column in ((one, left), (other, right)) if attribute.root == "obj"]
    return left.format == right.format or (len(objects) == 1 and objects[0].format is None)


def _column(attribute: Attribute, resource: Resource | None) -> Column | str | None:
    """The type of an attribute, None when it is not known yet, or what is wrong with its name."""
    if attribute.root == "obj":
        return None if resource is None else resource.columns[attribute.name]
    if attribute.root in ("rule", "act", "scope"):
        return TEXT
    known = SUBJECT if attribute.root == "sub" else ENVIRONMENT
    return known.get(attribute.name) or f"{attribute} is unknown; known are {', '.join(known)}"


def _type(column: Column) -> str:
    return f"a {column.format}" if column.format else KINDS[column.type]


def _reads_request(atom: Comparison | FunctionCall) -> bool:
    return any(attribute.root in ("sub", "obj", "env") for attribute in attributes(atom))


def _negated(expression: Expression) -> Iterable[Expression]:
    match expression:
        case Negation(part):
            yield part
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _negated(part)


def _line(model: Model, part: Expression) -> int:
    """The line of the first condition that says this, or where the matcher begins."""
    wanted = set(atoms(part))
    for condition in model.conditions.values():
        if wanted & set(atoms(condition.expression)):
            return condition.line
    return model.matcher_line
