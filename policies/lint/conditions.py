"""Conditions that never hold, or always: for a literal that there is none of, or because their parts say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..comparison.candidates import KIND
from ..comparison.search import Undecided
from ..evaluation.fold import COMPARE
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.rights import RIGHTS, rights_for
from ..syntax.attributes import ENVIRONMENT, SUBJECT
from ..syntax.conditions import Branch
from ..syntax.expression import Atom, Attribute, Comparison, Shared, atoms, columns, text
from ..syntax.model import MODEL_FILE
from ..syntax.rules import Rule
from ..syntax.vocabulary import Column, Resource
from ..wording.finding import Finding
from ..wording.suggestions import did_you_mean, hint
from .standing import ALLOW, DENY, Cell, Standing

NOT_ALWAYS = f"`{ALWAYS_WORD}` asks something here; give that another word, and let `{ALWAYS_WORD}` stand alone"
CONTRADICTION = "its parts contradict each other"


class Conditions:
    """What is wrong with the conditions of model.conf, and with those of single lines.

    findings  those at lines of model.conf
    """

    def __init__(self, standing: Standing) -> None:
        self._standing, self._policy = standing, standing.policy
        self._told: set[str] = set()
        self.findings = tuple(self._about_model())

    def never(self, rule: Rule) -> str | None:
        """Why nobody whom a line reaches can meet its condition; None where model.conf is told already."""
        if rule.when in self._told:
            return None
        return f"nobody whom this line reaches can ever meet `{rule.when}`: {self._reason(rule)}"

    def always(self, rule: Rule) -> str | None:
        """That the condition of a line holds for everybody whom the line reaches, and on every object."""
        asked = False
        for cell, number in self._standing.reached(rule) if rule.when not in self._told else ():
            if not self._standing.holds(cell, number):
                return None
            asked = asked or self._standing.expressions[number] is not True
        if not asked:
            return None
        return (f"`{rule.when}` holds for everybody whom this line reaches, on every object; write `always` if that is "
                f"meant")

    def _about_model(self) -> Iterator[Finding]:
        model = self._policy.model
        for atom in dict.fromkeys(atoms(model.matcher)):
            message = self._literal(atom, self._policy.vocabulary.resources.values())
            if message:
                self._told |= {word for word, condition in self._policy.conditions.items()
                               if atom in atoms(condition.expression)}
                yield Finding(MODEL_FILE, model.line(atom), message, "warning")
        always = self._policy.conditions.get(ALWAYS_WORD)
        if always is not None and always.expression is not True:
            self._told.add(ALWAYS_WORD)
            yield Finding(MODEL_FILE, always.line, NOT_ALWAYS, "warning")
        for word, condition in self._policy.conditions.items():
            # What a parameter makes of a condition is told at the lines that say it.
            told = word in self._told or word.endswith(":") or isinstance(condition.expression, bool)
            message = None if told else self._whole(condition)
            if message:
                self._told.add(word)
                yield Finding(MODEL_FILE, condition.line, message, "warning")

    def _whole(self, condition: Branch) -> str | None:
        """That a condition holds for no caller, permission and object at all, or on all."""
        if lacking := self._lacking(condition):
            return lacking
        try:
            if not any(self._standing.meets(*case) for case in self._cases(condition)):
                return f"nobody can ever meet `{condition.name}`: {CONTRADICTION}"
            if all(self._standing.holds(*case) for case in self._cases(condition)):
                return f"`{condition.name}` always holds; write `always` if that is meant, or see what it should ask"
        except Undecided:
            return f"whether `{condition.name}` can hold cannot be decided: simplify it"
        return None

    def _lacking(self, condition: Branch) -> str:
        """That no collection has what a condition reads, such as one of a plugin that is not installed."""
        named, resources = columns(condition.expression), self._policy.vocabulary.resources.values()
        if any(named <= resource.columns.keys() for resource in resources):
            return ""
        known = {name for resource in resources for name in resource.columns}
        if unknown := sorted(named - known):
            return f"no collection has a column {', '.join(unknown)}{did_you_mean(unknown[0], known)}"
        return f"no collection has all the columns that `{condition.name}` reads: {', '.join(sorted(named))}"

    def _cases(self, condition: Branch) -> Iterator[tuple[Cell, int]]:
        """The condition as each caller meets it with each permission whose resource has the columns that it reads; of
        permissions that are alike to it, one."""
        named, alike = columns(condition.expression), set()
        for name, resource in self._policy.vocabulary.by_permission.items():
            if not named <= resource.columns.keys():
                continue
            like = (bool(resource.columns), bool(rights_for(name.partition(".")[2])),
                    *(resource.columns[column] for column in sorted(named)))
            for one in self._standing.callers(condition.expression) if like not in alike else ():
                for effect in (ALLOW, DENY):
                    rule = Rule(MODEL_FILE, condition.line, one.role, name, condition.name, effect)
                    left = self._policy.folded(rule, name, one.role, one.key)
                    yield Cell(one, name, {}), self._standing.number(left)
            alike.add(like)

    def _reason(self, rule: Rule) -> str:
        covered = self._policy.patterns.covered(rule.act)
        condition = self._policy.conditions.get(rule.when)
        asked = [] if condition is None else list(dict.fromkeys(
            atom for name in sorted(covered) for atom in atoms(self._policy.meant(condition, rule, name))))
        if Shared() in asked and not any(rights_for(name.partition(".")[2]) for name in covered):
            verbs = sorted({verb for given in RIGHTS.values() for verb in given})
            return f"no share gives `{rule.act}`, only {', '.join(verbs)}"
        resources = {self._policy.vocabulary.by_permission[name].name: self._policy.vocabulary.by_permission[name]
                     for name in covered}
        for atom in asked:
            message = self._literal(atom, resources.values())
            if message:
                return message
        if any(isinstance(atom, Comparison) and atom.left == KIND and atom.right == "guest" for atom in asked):
            return "only callers without credentials are guests"
        return CONTRADICTION

    def _literal(self, atom: Atom, resources: Iterable[Resource]) -> str | None:
        """What is wrong with the literal of a comparison, whichever of these resources the object is."""
        if not isinstance(atom, Comparison) or isinstance(atom.right, Attribute):
            return None
        if not isinstance(atom.left, Attribute) or atom.left.root not in ("sub", "env", "obj"):
            return None
        name = atom.left.name
        if atom.left.root != "obj":
            return _settled(atom, str(atom.left), (SUBJECT if atom.left.root == "sub" else ENVIRONMENT)[name])
        having = [resource for resource in resources if name in resource.columns]
        said = [_settled(atom, f"{resource.name}.{name}", resource.columns[name]) for resource in having]
        if len(having) > 1 and said and all(said):
            values = sorted({value for resource in having for value in resource.columns[name].values}, key=str)
            near = hint(str(atom.right), map(str, values))
            return f"`{text(atom)}` {_outcome(atom, values)}: no {name} is {atom.right}{near}"
        return said[0] if said and all(said) else None


def _settled(atom: Comparison, called: str, column: Column) -> str | None:
    """That a comparison has the same answer for every value that there is."""
    if not column.values or not (outcome := _outcome(atom, column.values)):
        return None
    if isinstance(column.values[0], int):
        return f"`{text(atom)}` {outcome}: {called} is {column.values[0]} to {column.values[-1]}"
    known = map(str, column.values)
    return f"`{text(atom)}` {outcome}: {called} is never {atom.right}{hint(str(atom.right), known)}"


def _outcome(atom: Comparison, values: Iterable[str | int]) -> str:
    answers = {COMPARE[atom.operator](value, atom.right) for value in values}
    return "" if len(answers) != 1 else "always holds" if answers == {True} else "never holds"
