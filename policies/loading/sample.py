"""Questions at random near the lines of a policy, for two that should answer them alike; and what functions of plugins
are asked before they are relied on."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from ..evaluation.compiled import FunctionFailed, Row, SharedWith, held
from ..evaluation.policy import Policy
from ..evaluation.principal import LoggedIn, Login, Principal
from ..evaluation.sql import of_function
from ..syntax.attributes import ENVIRONMENT, SUBJECT
from ..syntax.durations import ago, later
from ..syntax.expression import (
    Ago,
    Attribute,
    Comparison,
    InGroup,
    PluginCall,
    Prefixed,
    atoms,
    attributes,
    columns,
    groups,
)
from ..syntax.model import MODEL_FILE, Model
from ..syntax.roles import GUEST
from ..syntax.rules import Rule
from ..syntax.vocabulary import Column, Resource, Vocabulary, is_of
from ..wording.finding import Finding

PEOPLE = ("01920000-0000-7000-8000-000000000001", "01920000-0000-7000-8000-000000000002")
DEPARTMENTS = ("press", "sales")
TIMES = ("2026-01-01T00:00:00.000000Z", "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:00.000001Z")
_FORMS = {"uuid": PEOPLE, "date-time": TIMES, "date": ("2026-11-18", "2027-01-01"), "role": (GUEST, "user", "admin")}
_NO_NAMES = ("undefined", "null", "None")  # what languages put behind a text in the place of a missing value
_MOST_ASKED = 60  # combinations of values, of each call of a function

Arguments = tuple[Principal, str, Row | None, Any, SharedWith]  # of `Policy.decide`


def sample_questions(policy: Policy, chance: random.Random) -> Iterator[tuple[Rule, Arguments]]:
    """Endless random questions near the rules, which come round one after the other; each the arguments of `decide`."""
    roles, permissions = sorted(policy.roles.names), sorted(policy.vocabulary.by_permission)
    covered: dict[str, list[str]] = {}
    every, groups, prefixed = _literals(policy, policy.rules), _groups(policy), _prefixed_groups(policy)
    read_columns = {name for one in policy.vocabulary.functions.values() for root, name in one.reads if root == "obj"}
    scopes = sorted(policy.scope_names) or ["none"]
    rounds = (chance.sample(policy.rules, len(policy.rules)) for _ in itertools.count())
    for rule in itertools.chain.from_iterable(rounds):
        if rule.act not in covered:
            covered[rule.act] = sorted(policy.patterns.covered(rule.act))
        permission = chance.choice(covered[rule.act] if chance.random() < 0.8 else permissions)
        role = rule.sub if rule.sub in policy.roles and chance.random() < 0.6 else chance.choice(roles)
        person = rule.sub if rule.sub not in policy.roles else f"user:{PEOPLE[0]}"
        identity = None if role == GUEST else person.removeprefix("user:")
        principal = LoggedIn(
            identity,
            person if identity else GUEST,
            role,
            "t",
            chance.choice((None, *DEPARTMENTS)),
            "user" if identity else "guest",
            tuple(one for some in (groups, prefixed) if identity and some
                  for one in chance.sample(some, chance.choice((0, 1, 2)))),
            frozenset(chance.sample(scopes, min(2, len(scopes)))) if chance.random() < 0.2 else None,
            _login(policy, chance) if identity else Login(),
        )
        resource = policy.vocabulary.by_permission[permission]
        literals = _literals(policy, (rule,)) if chance.random() < 0.7 else every
        # A plugin's function may count on the form that a column promises.
        row = _formed(_row(resource, principal, literals, chance), resource, read_columns) if resource.columns else None
        env = environment(chance)
        yield rule, (principal, permission, row and _near(row, principal, env.now, literals, chance), env, _odd)


def _login(policy: Policy, chance: random.Random) -> Login:
    """Random values of the attributes of the caller that features declare, near those that conditions name."""
    values = Login()
    for name, column in policy.vocabulary.login.items():
        if column.type is bool:
            near: list[Any] = [True, False]
        else:
            near = [*column.values, *(each for atom in atoms(policy.model.matcher) if isinstance(atom, Comparison)
                                      and atom.left == Attribute("sub", name) and isinstance(atom.right, str | int)
                                      for each in _beside(atom.right))]
        values[name] = chance.choice([None, *near])
    return values


def _beside(literal: str | int) -> tuple[str | int, ...]:
    return (literal,) if isinstance(literal, str) else (literal - 1, literal, literal + 1)


def environment(chance: random.Random) -> SimpleNamespace:
    """Random circumstances, some of them missing."""
    return SimpleNamespace(
        hour=chance.choice((None, 0, 7, 8, 12, 17, 18, 23)),
        weekday=chance.choice((None, 1, 5, 6, 7)),
        date=chance.choice((None, "2026-01-01", "2026-11-21")),
        now=chance.choice((None, *TIMES)),
        ip=chance.choice(("10.1.2.3", "192.168.0.9", "::1")),  # Casbin's own ipMatch fails without one
        device=chance.choice(("desktop", "bot", "other")),
        method=chance.choice(("GET", "POST")),
        request=chance.choice(("read", "write")),
    )


def _literals(policy: Policy, rules: Iterable[Rule]) -> dict[str, list[Any]]:
    """Returns for each column the literals that the conditions of these rules use with it.

    A condition compares the column with a literal or a parameter, or passes a literal to a function that reads it.
    """
    by_column: dict[str, list[Any]] = {}
    for word in dict.fromkeys(rule.when for rule in rules):
        for atom in atoms(policy.conditions[word].expression):
            match atom:
                case Comparison(_, Attribute("obj", name), right):
                    by_column.setdefault(name, []).append(right)
                case Comparison(_, _, Prefixed(prefix, Attribute("obj", name))):
                    by_column.setdefault(name, []).append(word.removeprefix(prefix))
                case InGroup(Prefixed(_, Attribute("obj", name)) as group):
                    by_column.setdefault(name, []).append(group)
                case PluginCall():
                    for name in columns(atom):
                        by_column.setdefault(name, []).extend(atom.literals)
    return by_column


def _groups(policy: Policy) -> list[str]:
    """Groups that callers may be in: those of conditions, and what columns hold that name a group."""
    return sorted(frozenset(DEPARTMENTS).union(*(groups(one.expression) for one in policy.conditions.values())))


def _prefixed_groups(policy: Policy) -> list[str]:
    """Groups that a condition makes of a text and a column, also of a missing one."""
    prefixes = {atom.prefix for one in policy.conditions.values() for atom in atoms(one.expression)
                if isinstance(atom, InGroup) and atom.prefix}
    return sorted(f"{prefix}{end}" for prefix in prefixes for end in (*DEPARTMENTS, *_NO_NAMES))


def _row(
    resource: Resource, principal: Principal, literals: Mapping[str, list[Any]], chance: random.Random
) -> Row:
    row: dict[str, Any] = {}
    for name, column in resource.columns.items():
        if column.type is str:
            texts = [value for value in literals.get(name, ()) if isinstance(value, str)]
            near = TIMES if column.format == "date-time" else (
                principal.id, principal.department, *principal.groups[:1], *PEOPLE)
            row[name] = chance.choice(texts if texts and chance.random() < 0.6 else (None, *near))
        elif column.type is int:
            numbers = [value for value in literals.get(name, ()) if isinstance(value, int)]
            row[name] = chance.choice((None, 0, *(number + step for number in numbers for step in (-1, 0, 1))))
        else:
            row[name] = chance.choice((None, True, False))
    return row


def _near(row: Row, principal: Principal, now: str | None, literals: Mapping[str, list[Any]],
          chance: random.Random) -> Row:
    """The row with times as old as the durations that a condition names, or just older or younger; and with ends of
    the caller's groups."""
    ends = {name: [group.removeprefix(one.prefix) for one in values if isinstance(one, Prefixed)
                   for group in principal.groups if group.startswith(one.prefix)] for name, values in literals.items()}
    row = {**row, **{name: chance.choice(some) for name, some in ends.items() if some and row.get(name) is not None}}
    by_column = {name: [one for one in values if isinstance(one, Ago)] for name, values in literals.items()}
    steps = [timedelta(microseconds=step) for step in (-1, 0, 1)]
    aged = {name: later(time, chance.choice(steps)) for name, ages in by_column.items()
            if ages and row.get(name) is not None and (time := ago(now, chance.choice(ages).seconds)) is not None}
    return {**row, **aged} if aged else row


def _formed(row: Row, resource: Resource, names: Iterable[str]) -> Row:
    """The row with None for a text that is not of its column's format, in these columns."""
    formats = {name: resource.columns[name].format for name in names if name in resource.columns}
    return {**row, **{name: None for name, format in formats.items()
                      if format is not None and row[name] is not None and not is_of(format, row[name])}}


def _odd(principal: Principal, row: Row, permission: str) -> bool:
    """A `SharedWith` that gives an arbitrary but fixed half of what can be asked."""
    return len(f"{row.get('owner_id')}{row.get('status')}{permission}") % 2 == 1


def failing_functions(model: Model, vocabulary: Vocabulary) -> list[Finding]:
    """A finding for each call in the matcher of a function that fails about values which it could meet, in one half or
    the other: a service that went on with it would answer requests with an error.

    What a function reads of objects is tried as missing, too, whatever the column says: it is so where nothing is.
    """
    findings = []
    for call in dict.fromkeys(atom for atom in atoms(model.matcher) if isinstance(atom, PluginCall)):
        having = [one for one in vocabulary.described if columns(call) <= one.columns.keys()]
        for resource in having if columns(call) else having[:1]:
            try:
                _ask(call, resource)
            except FunctionFailed as error:
                findings.append(Finding(MODEL_FILE, model.line(call), f"{error} ({call.function.place})"))
                break
    return findings


def _ask(call: PluginCall, resource: Resource) -> None:
    """Ask both halves of a function about rows of a resource. Raises FunctionFailed."""
    tried = [_tried(one, resource, call.literals) for one in attributes(call)]
    chance = random.Random(0)
    argument_lists = itertools.product(*tried) if math.prod(map(len, tried)) <= _MOST_ASKED else itertools.chain(
        [tuple(one[0] for one in tried)], (tuple(map(chance.choice, tried)) for _ in range(_MOST_ASKED)))
    for values in argument_lists:
        try:
            held(call.function, values, call.literals)
        except FunctionFailed as error:
            raise FunctionFailed(f"{error}, asked about {', '.join(map(repr, (*values, *call.literals)))}") from error
    if columns(call) and columns(call) <= resource.fields.keys():
        of_function(call, resource.fields)


def _tried(attribute: Attribute, resource: Resource, literals: tuple[str | int, ...]) -> list[Any]:
    """Values of what a function reads, near the literals that it is called with; None first where it may be missing."""
    by_name = {"sub": SUBJECT, "env": ENVIRONMENT}.get(attribute.root, resource.columns)
    column: Column = by_name[attribute.name]
    values: Iterable[Any]
    if column.values:
        values = column.values[:8]
    elif column.type is bool:
        values = (True, False)
    elif column.type is int:
        values = (0, 1, -1, *(one + step for one in literals if isinstance(one, int) for step in (-1, 1)))
    elif column.format is not None:
        values = _FORMS[column.format]
    else:
        near = (text for one in literals if isinstance(one, str) for text in (one, f"{one}x"))
        values = ("", *near, *DEPARTMENTS)
    missing = (None,) if column.nullable or attribute.root == "obj" else ()
    return list(dict.fromkeys((*missing, *values)))
