"""Rules that an older version accepted and this one refuses: the service cannot keep what they say.

A change that contains such a line is refused like any other mistake. A service that starts with one serves: the line
is *closed*. An `allow` that is closed never matches, and a `deny` matches every object of its role and permission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..evaluation.fold import Folder
from ..syntax.expression import Atom, Attribute, Expression, InGroup, atoms, attributes
from ..syntax.model import MODEL_FILE, Model
from ..syntax.roles import Roles
from ..syntax.rules import Rule
from ..syntax.vocabulary import Patterns, Resource, Vocabulary
from ..wording.finding import Finding, quoted, single_person

# Takes the resource and the permission that are asked for, and the condition of a line about them. Returns why the
# line is refused, or None.
Reason = Callable[[Resource, str, Expression], str | None]

MOST_NAMED = 3  # rules that a finding about model.conf names


@dataclass(frozen=True)
class Outdated:
    """The closed rules, and an error for each of them; of rules that use one line of model.conf, one error."""

    rules: frozenset[Rule] = frozenset()
    findings: list[Finding] = field(default_factory=list)


def find_outdated(model: Model, rules: Iterable[Rule], patterns: Patterns, vocabulary: Vocabulary) -> Outdated:
    """The rules of a policy that are closed. A wrong line of model.conf is an error though no rule uses it."""
    wrong = {atom: message for atom in atoms(model.matcher) if (message := wrong_group(atom))}
    if not (wrong or REASONS):
        return Outdated()
    folder = Folder(model.matcher, Roles(()), patterns)
    # The columns of a rule by which its condition differs from that of another.
    named = sorted({attribute.name for atom in atoms(model.matcher) if not hasattr(atom, "function")
                    for attribute in attributes(atom) if attribute.root == "rule"} | {"when", "eft"})
    known: dict[tuple[str, ...], str | InGroup | None] = {}
    users: dict[Atom, list[Rule]] = {atom: [] for atom in wrong}
    closed, findings = [], []
    for rule in rules:
        values = tuple(getattr(rule, name) for name in named)
        for permission in sorted(patterns.covered(rule.act)):
            key = (permission, *values)
            if key not in known:
                left = folder.fold({f"rule.{name}": value for name, value in zip(named, values, strict=True)})
                known[key] = _reason(vocabulary.by_permission[permission], permission, left)
            found = known[key]
            if found is None:
                continue
            closed.append(rule)
            if isinstance(found, InGroup):
                users.setdefault(found, []).append(rule)
            else:
                message = f"{quoted(rule.act)} with {quoted(rule.when)}: {found}"
                findings.append(Finding(rule.file, rule.line, message, person=single_person(rule.sub), outdated=True))
            break
    findings += [Finding(MODEL_FILE, model.line(atom), f"{wrong.get(atom) or wrong_group(atom)}{_used_by(lines)}",
                         outdated=True) for atom, lines in users.items()]
    return Outdated(frozenset(closed), findings)


def wrong_group(atom: Atom) -> str | None:
    """Why `inGroup` cannot ask about its second argument: a group of the caller's or of the request's own."""
    if isinstance(atom, InGroup) and isinstance(atom.group, Attribute) and atom.group.root != "obj":
        return f"inGroup takes a column of the object or a group in quotes, not {atom.group}"
    return None


# Further reasons, beside a group that no object has.
REASONS: tuple[Reason, ...] = ()


def _reason(resource: Resource, permission: str, condition: Expression) -> str | InGroup | None:
    for atom in atoms(condition):
        if isinstance(atom, InGroup) and wrong_group(atom):
            return atom
    return next((message for reason in REASONS if (message := reason(resource, permission, condition))), None)


def _used_by(rules: list[Rule]) -> str:
    if not rules:
        return ""
    more = f" and {len(rules) - MOST_NAMED} more" if len(rules) > MOST_NAMED else ""
    return f"; used by {', '.join(rule.place for rule in rules[:MOST_NAMED])}{more}"
