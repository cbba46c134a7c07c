"""Conditions that never hold, or always: for a literal that there is none of, because their parts say so, or because
the time has come. And those that compare what does not belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from ..comparison.candidates import DATE, WEST
from ..comparison.prover import Undecided
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..evaluation.rights import RIGHTS, rights_to
from ..syntax.addresses import network
from ..syntax.attributes import ENVIRONMENT, SUBJECT, subject_of
from ..syntax.conditions import Branch
from ..syntax.expression import (
    COMPARE,
    KIND,
    NOW,
    Ago,
    Atom,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    InGroup,
    Shared,
    atoms,
    columns,
    rebuild,
    text,
)
from ..syntax.model import MODEL_FILE
from ..syntax.rules import Rule
from ..syntax.vocabulary import Column, Resource, date_time
from ..wording.finding import Finding, single_person
from ..wording.suggestions import did_you_mean, hint
from .matches import ALLOW, DENY, Matches, Place
from .words import listed

NOT_ALWAYS = (f"`{ALWAYS_WORD}` has a condition here; give that condition another word, and keep `{ALWAYS_WORD}` "
              f"without one")
CONTRADICTION = "its parts contradict each other"


class Conditions:
    """Findings about the conditions of model.conf, and about those of single rules.

    findings  findings at lines of model.conf
    reported  words that have a finding about the whole condition
    """

    def __init__(self, matches: Matches) -> None:
        self._matches, self._policy = matches, matches.policy
        self._reported: set[str] = set()
        self._reasons: dict[tuple[str, str, frozenset[str]], str] = {}
        self._misread: dict[tuple[str, str], str | None] = {}  # word and permission column → the message at a rule
        self.findings = (*self._about_model(), *self._about_columns())

    @property
    def reported(self) -> frozenset[str]:
        return frozenset(self._reported)

    def never(self, rule: Rule) -> str | None:
        """Says why no caller of a rule can meet its condition; None if model.conf has a finding about it."""
        if rule.when in self._reported:
            return None
        lent = self._policy.roles.closure(rule.sub)
        # For users, only the lent roles matter.
        alike = rule.act, rule.when, lent - {rule.sub} if rule.sub in self._matches.persons else lent
        if alike not in self._reasons:
            self._reasons[alike] = self._reason(rule)
        return f"nobody to whom this rule applies can ever meet `{rule.when}`: {self._reasons[alike]}"

    def always(self, rule: Rule) -> str | None:
        """Says that the condition of a rule holds for every caller whom it can match, and on every object."""
        has_condition = False
        for place, number in self._matches.asking(rule) if rule.when not in self._reported else ():
            if not self._matches.holds(place, number):
                return None
            has_condition = has_condition or self._matches.expressions[number] is not True
        if not has_condition:
            return None
        return (f"`{rule.when}` holds for everybody to whom this rule applies, on every object; write `always` if "
                f"that is meant")

    def misread(self, rule: Rule) -> str | None:
        """Returns what is wrong with how a condition reads a column of the objects that a rule can match."""
        condition = self._policy.conditions.get(rule.when)
        if condition is None or condition.name in self._reported:
            return None
        key = (condition.name, rule.act)
        if key not in self._misread:
            self._misread[key] = self._of_columns(condition, self._resources(self._policy.patterns.covered(rule.act)))
        return self._misread[key]

    def _about_columns(self) -> Iterator[Finding]:
        """Yields, once at the condition, the message that `misread` has for every rule that names it."""
        reached: dict[str, set[str]] = {}
        for rule in self._policy.rules:
            if (condition := self._policy.conditions.get(rule.when)) is not None:
                reached.setdefault(condition.name, set()).update(self._policy.patterns.covered(rule.act))
        for word, condition in self._policy.conditions.items():
            resources = self._resources(reached[word]) if word in reached else self._policy.vocabulary.described
            message = None if word in self._reported else self._of_columns(condition, resources)
            if message:
                self._reported.add(word)
                yield Finding(MODEL_FILE, condition.line, message, "warning")

    def _resources(self, permissions: Iterable[str]) -> list[Resource]:
        of = self._policy.vocabulary.by_permission
        return list({of[name].name: of[name] for name in sorted(permissions)}.values())

    @staticmethod
    def _of_columns(condition: Branch, resources: Sequence[Resource]) -> str | None:
        for atom in dict.fromkeys(atoms(condition.expression)):
            having = [resource for resource in resources if columns(atom) <= resource.columns.keys()]
            if columns(atom) and having and (message := _misread(atom, having)):
                return message
        return None

    def _about_model(self) -> Iterator[Finding]:
        model = self._policy.model
        for atom in dict.fromkeys(atoms(model.matcher)):
            message = self._literal(atom, self._policy.vocabulary.described)
            if message:
                self._reported |= {word for word, condition in self._policy.conditions.items()
                               if atom in atoms(condition.expression)}
                yield Finding(MODEL_FILE, model.line(atom), message, "warning")
        always = self._policy.conditions.get(ALWAYS_WORD)
        if always is not None and always.expression is not True:
            self._reported.add(ALWAYS_WORD)
            yield Finding(MODEL_FILE, always.line, NOT_ALWAYS, "warning")
        for word, condition in self._policy.conditions.items():
            # Warnings that depend on a parameter are at the rules that use it.
            is_reported = word in self._reported or word.endswith(":") or isinstance(condition.expression, bool)
            message = None if is_reported else self._whole(condition)
            if message:
                self._reported.add(word)
                yield Finding(MODEL_FILE, condition.line, message, "warning")

    def _whole(self, condition: Branch) -> str | None:
        """Says that a condition never holds, or that it always does."""
        if lacking := self._lacking(condition):
            return lacking
        if self._awaits_left_out(condition):
            return None
        try:
            if not any(self._matches.meets(*case) for case in self._cases(condition)):
                return f"nobody can ever meet `{condition.name}`: {CONTRADICTION}"
            if all(self._matches.holds(*case) for case in self._cases(condition)):
                return f"`{condition.name}` always holds; write `always` if that is meant, or correct it"
        except Undecided:
            return f"whether `{condition.name}` can hold cannot be decided: simplify it"
        return None

    def _awaits_left_out(self, condition: Branch) -> bool:
        """True if no rule in force asks for a condition, and it may be written for a resource that is left out."""
        named = columns(condition.expression)
        return not any(self._policy.conditions.get(rule.when) is condition for rule in self._policy.rules) and any(
            named <= resource.columns.keys() for resource in self._policy.vocabulary.left_out.values())

    def _lacking(self, condition: Branch) -> str:
        """Says that no collection has the columns of a condition, such as one of a plugin that is not installed."""
        named, resources = columns(condition.expression), self._policy.vocabulary.described
        if any(named <= resource.columns.keys() for resource in resources):
            return ""
        existing = {name for resource in resources for name in resource.columns}
        if unknown := sorted(named - existing):
            return f"no collection has a column {', '.join(unknown)}{did_you_mean(unknown[0], existing)}"
        return f"no collection has all the columns that `{condition.name}` reads: {', '.join(sorted(named))}"

    def _cases(self, condition: Branch) -> Iterator[tuple[Place, int]]:
        """The condition as each caller meets it with each permission whose resource has the columns that it reads; of
        permissions that are alike to it, one."""
        named, alike = columns(condition.expression), set()
        for name, resource in self._policy.vocabulary.by_permission.items():
            if not named <= resource.columns.keys():
                continue
            like = (bool(resource.columns), bool(rights_to(name, self._policy.vocabulary.fallbacks)),
                    *(resource.columns[column] for column in sorted(named)))
            for one in self._matches.callers(condition.expression) if like not in alike else ():
                for effect in (ALLOW, DENY):
                    rule = Rule(MODEL_FILE, condition.line, one.role, name, condition.name, effect)
                    expression = self._policy.condition_for(rule, name, one.role, one.key)
                    yield Place(one, name), self._matches.number(expression)
            alike.add(like)

    def _reason(self, rule: Rule) -> str:
        covered = self._policy.patterns.covered(rule.act)
        condition = self._policy.conditions.get(rule.when)
        leaves = [] if condition is None else list(dict.fromkeys(
            atom for name in sorted(covered) for atom in atoms(self._policy.meant(condition, rule, name))))
        if Shared() in leaves and not any(rights_to(name, self._policy.vocabulary.fallbacks) for name in covered):
            verbs = sorted({verb for given in RIGHTS.values() for verb in given})
            return f"no share gives `{rule.act}`, only {', '.join(verbs)}"
        resources = {self._policy.vocabulary.by_permission[name].name: self._policy.vocabulary.by_permission[name]
                     for name in covered}
        for atom in leaves:
            message = self._literal(atom, resources.values())
            if message:
                return message
        if any(isinstance(atom, Comparison) and atom.left == KIND and atom.right == "guest" for atom in leaves):
            return "only callers without credentials are guests"
        return CONTRADICTION

    def _literal(self, atom: Atom, resources: Iterable[Resource]) -> str | None:
        """Says what is wrong with the literal of a comparison, for all of these resources."""
        if isinstance(atom, FunctionCall):
            return _of_network(atom)
        if not isinstance(atom, Comparison) or isinstance(atom.right, Attribute | Ago):
            return None
        if not isinstance(atom.left, Attribute) or atom.left.root not in ("sub", "env", "obj"):
            return None
        name = atom.left.name
        if atom.left.root != "obj":
            return _settled(atom, str(atom.left), (
                subject_of(self._policy.vocabulary) if atom.left.root == "sub" else ENVIRONMENT)[name])
        having = [resource for resource in resources if name in resource.columns]
        messages = [_settled(atom, f"{resource.name}.{name}", resource.columns[name]) for resource in having]
        if len(having) > 1 and messages and all(messages):
            values = sorted({value for resource in having for value in resource.columns[name].values}, key=str)
            near = hint(str(atom.right), map(str, values))
            return f"`{text(atom)}` {_outcome(atom, values)}: no {name} is {atom.right}{near}"
        return messages[0] if messages and all(messages) else None


def _of_network(atom: FunctionCall) -> str | None:
    """Says that a network contains every address."""
    match atom:
        case FunctionCall("ipMatch", (_, str(name))) if (every := network(name)).prefixlen == 0:
            return f"`{text(atom)}` holds for every IPv{every.version} address; name a network, or leave it out"
    return None


def _settled(atom: Comparison, called: str, column: Column) -> str | None:
    """Says that a comparison has the same answer for every value of its column."""
    if not column.values:
        return _beyond(atom, called, column)
    if not (outcome := _outcome(atom, column.values)):
        return None
    if isinstance(column.values[0], int):
        return f"`{text(atom)}` {outcome}: {called} is {column.values[0]} to {column.values[-1]}"
    values = map(str, column.values)
    return f"`{text(atom)}` {outcome}: {called} is never {atom.right}{hint(str(atom.right), values)}"


def _beyond(atom: Comparison, called: str, column: Column) -> str | None:
    """Says that a comparison has the same answer for every number within the bounds of its column."""
    bound, least, most = atom.right, column.least, column.most
    if type(bound) is not int or column.type is not int or (least is None and most is None):
        return None
    low, high = (bound - 1 if least is None else least), (bound + 1 if most is None else most)
    outcome = _outcome(atom, {low, high, *(one for one in (bound - 1, bound, bound + 1) if low <= one <= high)})
    if not outcome:
        return None
    limits = f"at least {least}" if most is None or (least is not None and bound <= least) else f"at most {most}"
    return f"`{text(atom)}` {outcome}: {called} is {limits}"


def _outcome(atom: Comparison, values: Iterable[str | int]) -> str:
    answers = {COMPARE[atom.operator](value, atom.right) for value in values}
    return "" if len(answers) != 1 else "always holds" if answers == {True} else "never holds"


# What does not belong together


def _misread(atom: Atom, having: Sequence[Resource]) -> str | None:
    """Returns what is wrong with an atom for every one of these resources, which have the columns that it reads."""
    match atom:
        case InGroup(Attribute("obj", name)) if all(resource.columns[name].values for resource in having):
            states = sorted({str(value) for resource in having for value in resource.columns[name].values})
            return (f"`{text(atom)}` takes {listed(states)} for names of groups; name a column that holds a group, or "
                    f"the group itself: inGroup(r.sub, 'name')")
        case Comparison(operator, Attribute() as left, Attribute() as right):
            kinds = [(_row_of(left, resource), _row_of(right, resource)) for resource in having]
            if all(None not in pair and pair[0] != pair[1] for pair in kinds):
                outcome = "never holds" if operator == "==" else "always holds"
                ids = [_id(side, {str(pair[place]) for pair in kinds}) for place, side in enumerate((left, right))]
                return f"`{text(atom)}` {outcome}: {ids[0]}, and {ids[1]}{_meant(left, right, having)}"
        case Comparison(_, Attribute("obj", name), int()):
            messages = [_beyond(atom, f"{resource.name}.{name}", resource.columns[name]) for resource in having]
            return messages[0] if all(messages) else None
        case Comparison(operator, Attribute("obj", name), str(literal)):
            spelled = {column.spelled(literal) if column.spelled else literal
                       for column in (resource.columns[name] for resource in having)}
            if literal not in spelled:
                return (f"`{text(atom)}` {'never' if operator == '==' else 'always'} holds: it is stored as "
                        f"'{min(spelled)}'; write that")
    return None


def _row_of(side: Attribute, resource: Resource) -> str | None:
    """The resource whose rows an attribute names, if it is known to name any."""
    by_root: Mapping[str, Mapping[str, Column]] = {"sub": SUBJECT, "env": ENVIRONMENT, "obj": resource.columns}
    column = by_root.get(side.root, {}).get(side.name)
    return None if column is None else column.row_of


def _id(side: Attribute, kinds: Collection[str]) -> str:
    if side == Attribute("obj", "id"):
        return f"{side} is the object's own id"
    return f"{side} is the id of {' or '.join(f'{_a(kind)} {kind}' for kind in sorted(kinds))}"


def _a(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"  # "a user"


def _meant(left: Attribute, right: Attribute, having: Sequence[Resource]) -> str:
    """Suggests the columns that name the same rows as the other side, in every one of these resources."""
    for side, other in ((left, right), (right, left)):
        if side.root == "obj" and other.root != "obj":
            names = [{name for name, column in resource.columns.items() if column.row_of == _row_of(other, resource)}
                     for resource in having]
            if fitting := sorted(set.intersection(*names)):
                return f"; did you mean {' or '.join(f'r.obj.{name}' for name in fitting)}?"
    return "; compare ids of one table"


# What the time has settled


def passed(policy: Policy, moment: datetime, reported: Collection[str]) -> Iterator[Finding]:
    """Yields a warning for each condition whose times have all passed at `moment`, which has a zone.

    `reported` are the conditions that already have a warning. The start of a sale is no such time while its end
    is to come.
    """
    with_parameter = set()
    for word, condition in policy.conditions.items():
        if word in reported:
            continue
        if message := _passed(word, condition.expression, moment):
            yield Finding(MODEL_FILE, condition.line, message, "warning")
        elif word.endswith(":"):
            with_parameter.add(word)
    for rule in policy.rules if with_parameter else ():
        condition = policy.conditions[rule.when]
        if condition.name in with_parameter and (message := _passed(
                rule.when, policy.meant(condition, rule, min(policy.patterns.covered(rule.act))), moment)):
            yield Finding(rule.file, rule.line, message, "warning", single_person(rule.sub))


def _passed(word: str, expression: Expression, moment: datetime) -> str | None:
    comparisons = [atom for atom in dict.fromkeys(atoms(expression)) if isinstance(atom, Comparison)
             and atom.left in (NOW, DATE) and isinstance(atom.right, str)]
    settled: dict[Atom, bool] = {atom: holds for atom in comparisons if (holds := _since(atom, moment)) is not None}
    if not settled:
        return None
    expired = next((atom for atom, holds in settled.items() if not holds), None)
    if expired is not None and rebuild(expression, lambda atom: settled.get(atom, atom)) is False:
        return (f"`{word}` has expired: `{text(expired)}` never holds again; take it out with the rules that name it, "
                f"or set a later time")
    if len(settled) < len(comparisons):
        return None
    if expired is not None:
        return f"`{text(expired)}` has expired and never holds again; take it out, or set a later time"
    return f"`{text(comparisons[0])}` was reached and always holds from now on; take it out"


def _since(atom: Comparison, moment: datetime) -> bool | None:
    """Returns the answer of a comparison with a time from a moment on, in any time zone; None where it may change."""
    now, named = date_time(moment), str(atom.right)
    # The date is the last one that it still is somewhere.
    first = now if atom.left == NOW else (moment + WEST).date().isoformat()
    if named < first or (named == first and atom.operator in ("<", ">=")):
        return COMPARE[atom.operator](first, named)
    return None
