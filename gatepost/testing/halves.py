"""The contract of a plugin's function: its half for one object and its half for a table give the same answers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import peewee as pw
import pytest

from gatepost.collections.registry import column_of
from models import ddl
from models.base import Record
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.prepared import prepare
from policies.evaluation.compiled import compiled, no_shares
from policies.evaluation.plan import IF, Plan
from policies.evaluation.principal import FixedEnvironment, Principal
from policies.evaluation.sql import where
from policies.syntax.attributes import ENVIRONMENT, SUBJECT
from policies.syntax.expression import Attribute, Parameter, PluginCall, reads_object
from policies.syntax.roles import ADMIN, GUEST, USER
from policies.syntax.vocabulary import Column, Function

MOST = 300  # most rows, and most combinations of callers and environments
IDS = ("01930000-0000-7000-8000-000000000001", "01930000-0000-7000-8000-00000000000a")
TIMES = ("2026-11-18T10:00:00.000000Z", "2026-11-18T10:00:00.000001Z", "2027-01-01T00:00:00.000000Z")
DATES = ("2026-11-18", "2027-01-01")
TEXTS = ("", " ", "a", "A", "ä", "Ä", "a%", "a_", "'", "\\", "\N{PILE OF POO}")
ROLES = (GUEST, USER, ADMIN)
ADDRESSES = ("", "203.0.113.7", "10.1.2.3", "2001:db8::1")
_SPELLED = {"uuid": "{id}", "date-time": "{time}", "int": "{money}", "bool": "{bool}"}

OBJECT = "obj"
Read = tuple[str, str]
Values = Mapping[Read, Any]
Samples = Mapping[str, Sequence[Any]]


def halves_agree(function: Function, model: type[Record], *given: tuple[str | int, ...],
                 **samples: Sequence[Any]) -> Callable[..., None]:
    """Returns a test that both halves of `function` give the same answer for generated rows of `model` and callers.

    The rows have null and values of each column's type, near the literals. `given` are tuples of literals to try.
    `samples` are further values by attribute: `text=("Public: milk",)`.
    """

    @pytest.mark.parametrize("literals", given or [()], ids=repr)
    def test_halves(literals: tuple[str | int, ...], tmp_path: Path) -> None:
        database = open_database(f"sqlite:///{tmp_path / 'halves.db'}", synchronous="normal")
        database.create()
        try:
            differences = disagreements(database, function, model, literals, samples)
            assert not differences, "\n".join(differences)
        finally:
            database.close_all()

    return test_halves


def disagreements(database: Database, function: Function, model: type[Record], literals: tuple[str | int, ...],
                  samples: Samples) -> list[str]:
    """Returns a sentence for each combination of values on which the halves differ. Creates the table of `model`."""
    def combined(of: Callable[[str], bool]) -> list[Values]:
        return _combined({(root, name): _values(_kind(model, root, name), literals, samples.get(name, ()))
                          for root, name in function.reads if of(root)})

    call, rows, callers = PluginCall(function, literals), combined(OBJECT.__eq__), combined(OBJECT.__ne__)
    test, sentences = compiled(call, ""), []
    stored = reads_object(call)
    if stored:
        with database.migrating():
            _fill(database, model, rows)
    for values in callers:
        principal, environment = _caller_of(values)
        by_object = {number for number, row in enumerate(rows)
                     if test(principal, {name: value for (_, name), value in row.items()}, environment, no_shares)}
        # A function that reads no column has no SQL half.
        by_table = _rows_in_table(database, model, call, values) if stored else by_object
        sentences += [f"{_as_text(call, {**rows[number], **values})}: `holds` says {number in by_object}, `where` "
                      f"{number in by_table}" for number in sorted(by_object ^ by_table)]
    return sentences


def _as_text(call: PluginCall, values: Values) -> str:
    """Returns a call with its values as text: `begins with 'For all', r.obj.text is 'for all'`."""
    literals = f" with {', '.join(map(repr, call.literals))}" if call.literals else ""
    return ", ".join((f"{call.function.name}{literals}", *(f"r.{root}.{name} is {value!r}"
                                                           for (root, name), value in values.items())))


def _caller_of(values: Values) -> tuple[Principal, FixedEnvironment]:
    sub = {name: value for (root, name), value in values.items() if root == "sub"}
    env = {name: value for (root, name), value in values.items() if root == "env"}
    ordinary: dict[str, Any] = {"id": IDS[0], "key": f"user:{IDS[0]}", "role": "user", "tenant_id": IDS[0]}
    return Principal(**{**ordinary, **sub}), FixedEnvironment().having(env)


def _fill(database: Database, model: type[Record], rows: Sequence[Values]) -> None:
    fields: list[Any] = [model._meta.fields[name] for _, name in rows[0]]
    kinds = (_kind(model, *read) for read in rows[0])
    spelled = ", ".join(f'"{field.column_name}" {_SPELLED.get(kind.format or kind.type.__name__, "{key}")}'
                        for field, kind in zip(fields, kinds, strict=True))
    ddl.run(database, f'CREATE TABLE "{model._meta.table_name}" (number INTEGER NOT NULL, {spelled})')
    marks = ", ".join(["?" if database.dialect == "sqlite" else "%s"] * (len(fields) + 1))
    for number, row in enumerate(rows):
        values = (None if value is None else field.db_value(value)
                  for field, value in zip(fields, row.values(), strict=True))
        database.execute_sql(f'INSERT INTO "{model._meta.table_name}" VALUES ({marks})', (number, *values))


def _rows_in_table(database: Database, model: type[Record], call: PluginCall, values: Values) -> set[int]:
    """Returns the numbers of the rows that the SQL half selects."""
    def parameter(attribute: Parameter) -> pw.Node:
        assert isinstance(attribute, Attribute)
        return pw.Value(values[attribute.root, attribute.name], converter=False)

    def unshared() -> pw.Node:
        raise TypeError("no share is asked for")

    fields = {field.name: field for field in model._meta.sorted_fields}
    conditions = where(Plan("", IF, (call,), ()), fields, parameter, unshared).allows or ()
    query = model.select(pw.SQL("number")).where(*conditions)
    with database.connected():
        return {number for (number,) in prepare(database, query).run(database, {})}


def _kind(model: type[Record], root: str, name: str) -> Column:
    if root != OBJECT:
        return (SUBJECT if root == "sub" else ENVIRONMENT)[name]
    return column_of(model._meta.fields[name])


def _values(kind: Column, literals: Iterable[str | int], samples: Sequence[Any]) -> list[Any]:
    """Returns sample values of one type, values near the literals, and None."""
    whole = [number for number in literals if isinstance(number, int)]
    texts = [text for text in literals if isinstance(text, str)]
    values: Iterable[Any]
    if kind.values:
        values = kind.values
    elif kind.type is bool:
        values = (True, False)
    elif kind.type is int:
        values = (0, 1, -1, *(number + step for number in whole for step in (-1, 0, 1)))
    elif kind.format is not None:
        values = {"uuid": IDS, "date-time": TIMES, "date": DATES, "role": (*ROLES, *texts)}[kind.format]
    else:
        values = (*TEXTS, *ADDRESSES, *(near for text in texts for near in (
            text, f"{text}x", f"x{text}", text.upper(), text.lower(), text[:-1])))
    return list(dict.fromkeys((None, *values, *samples)))


def _combined(values: Mapping[Read, Sequence[Any]]) -> list[Values]:
    """Returns every combination; `MOST` random ones if there are more."""
    if prod(map(len, values.values())) <= MOST:
        return [dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())]
    chance = random.Random(0)
    return [{read: chance.choice(choices) for read, choices in values.items()} for _ in range(MOST)]
