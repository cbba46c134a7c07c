"""The matrix as one HTML page: self-contained, printable, light or dark as the screen is, for mouse, touch and keys.

No script and nothing from the network: the page can be mailed, kept and opened years later. It is made from
templates/matrix.html; its parts are in templates/matrix_parts.html and its look in templates/matrix.css.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..evaluation.grants import ALWAYS_WORD, Grant
from ..syntax.rules import Rule
from .matrix import Matrix

_TEMPLATES = Environment(loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined,
                         trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
_Rules = tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """The lines behind a mark: one note for all marks that come from the same lines.

    number      what stands beside the marks on paper, from 1
    resources   the numbers, from 1, of the sections that have such a mark
    conditions  the words of the lines with their meaning
    """

    number: int
    rules: _Rules
    resources: tuple[int, ...]
    conditions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PersonPart:
    """Permissions that the same lines give to, or take from, a person."""

    permissions: tuple[str, ...]
    grant: Grant
    rules: _Rules
    resources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """A person (`user:<id>`) with lines of their own, and how many permissions these speak of."""

    key: str
    permissions: int
    parts: tuple[PersonPart, ...]
    resources: tuple[int, ...]


def as_html(table: Matrix) -> str:
    """The whole page. Every text from the policy is escaped."""
    notes = _notes(table)
    persons = _persons(table)
    behind = [note.rules for note in notes.values()]
    behind += [part.rules for person in persons for part in person.parts]
    return _TEMPLATES.get_template("matrix.html").render(
        table=table, notes=notes.values(), note_of=lambda grant: notes.get(_rules(grant)), persons=persons,
        conditions=_conditions(table, chain.from_iterable(behind)),
    )


def _notes(table: Matrix) -> dict[_Rules, Note]:
    marked: dict[_Rules, dict[int, None]] = {}
    for number, section in enumerate(table.sections, 1):
        for row in section.rows:
            for grant in row.grants:
                if grant:
                    marked.setdefault(_rules(grant), {})[number] = None
    return {rules: Note(number, rules, tuple(resources), _conditions(table, rules))
            for number, (rules, resources) in enumerate(marked.items(), 1)}


def _persons(table: Matrix) -> list[Person]:
    numbers = {row.permission: number for number, section in enumerate(table.sections, 1) for row in section.rows}
    persons = []
    for key, spoken in table.persons.items():
        alike: dict[_Rules, list[str]] = {}
        for permission, grant in spoken.items():
            alike.setdefault(_rules(grant), []).append(permission)
        parts = tuple(PersonPart(tuple(permissions), spoken[permissions[0]], rules, _of(permissions, numbers))
                      for rules, permissions in alike.items())
        persons.append(Person(key, len(spoken), parts, _of(spoken, numbers)))
    return persons


def _of(permissions: Iterable[str], numbers: dict[str, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers[permission] for permission in permissions))


def _rules(grant: Grant) -> _Rules:
    return tuple(part.rule for part in (*grant.allows, *grant.denies))


def _conditions(table: Matrix, rules: Iterable[Rule]) -> tuple[tuple[str, str], ...]:
    words = dict.fromkeys(rule.when for rule in rules if rule.when != ALWAYS_WORD)
    return tuple((word, table.meanings[word]) for word in words)
