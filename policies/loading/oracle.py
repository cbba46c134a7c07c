"""Casbin as the reference: `casbin.Enforcer` answers the same questions from the same files.

It scans every line and parses the matcher on every call, so tests and the sampling of a loaded policy use it,
never a request.
"""

from __future__ import annotations

import itertools
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import casbin
import casbin.core_enforcer
import casbin.persist.adapter
import casbin.util

from ..evaluation.compiled import FunctionFailed, Row, SharedWith, held, no_shares
from ..evaluation.policy import Policy
from ..evaluation.principal import Principal
from ..invariants.lines import INVARIANTS_FILE
from ..syntax.attributes import ENVIRONMENT, SUBJECT
from ..syntax.expression import (
    GROUPS,
    Attribute,
    Comparison,
    InGroup,
    PluginCall,
    Prefixed,
    atoms,
    columns,
)
from ..syntax.model import MODEL_FILE
from ..syntax.rules import Rule
from ..syntax.vocabulary import Function, Resource, is_of
from ..wording.finding import Finding

# Casbin carries no types.
Enforcer: Any = casbin.Enforcer
EnforceContext: Any = casbin.core_enforcer.EnforceContext
load_policy_line: Any = casbin.persist.adapter.load_policy_line
ip_match: Any = casbin.util.ip_match


class _Missing:
    """A value that is not there. Casbin would find None equal to None, and fail on None >= 8."""

    def __bool__(self) -> bool:
        return False

    def _false(self, other: object) -> bool:
        return False

    def _missing(self, other: object) -> _Missing:
        return self

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _false
    __add__ = __radd__ = _missing  # behind the word of a condition
    __hash__ = None  # type: ignore[assignment]


MISSING = _Missing()


class _Facts:
    """Attributes for Casbin to read; those without a value are MISSING."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in values.items() if value is not None})

    def __getattr__(self, name: str) -> _Missing:
        return MISSING


class _Lines(casbin.persist.adapter.Adapter):
    """Hands the lines of every CSV file with rules to Casbin's own loader."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def load_policy(self, model: Any) -> None:
        for name, content in sorted(self._files.items()):
            if name not in (MODEL_FILE, INVARIANTS_FILE):
                for line in content.decode().splitlines():
                    load_policy_line(line.strip(), model)


class Oracle:
    """`casbin.Enforcer` over the files of a policy."""

    def __init__(self, files: Mapping[str, bytes], functions: Iterable[Function] = ()) -> None:
        """`functions` are those of plugins, which the matcher may call."""
        logging.getLogger("casbin").setLevel(logging.ERROR)
        model = Enforcer.new_model(text=files[MODEL_FILE].decode())
        self._shared: SharedWith = no_shares
        self._request: tuple[Principal, Row | None] | None = None
        self._enforcer = Enforcer(model, _Lines(files))
        self._enforcer.add_function("shared", self._is_shared)
        self._enforcer.add_function("ipMatch", _ip_match)
        self._enforcer.add_function("inGroup", _in_group)
        for function in functions:
            self._enforcer.add_function(function.name, self._of_plugin(function))

    def decide(
        self,
        principal: Principal,
        permission: str,
        obj: Row | None,
        env: Any,
        shared: SharedWith = no_shares,
    ) -> bool:
        """What Casbin answers to the question that Policy.decide is asked. Not for several threads at once."""
        self._request, self._shared = (principal, obj), shared
        answer = self._enforcer.enforce(
            _Facts({name: getattr(principal, name) for name in (*SUBJECT, GROUPS.name)}),
            permission,
            _Facts(obj or {}),
            _Facts({name: getattr(env, name) for name in ENVIRONMENT}),
        )
        if not answer or principal.scopes is None:
            return bool(answer)
        context = EnforceContext("r2", "p2", "e2", "m2")
        return any(self._enforcer.enforce(context, scope, permission) for scope in sorted(principal.scopes))

    def _is_shared(self, sub: object, obj: object, act: str) -> bool:
        assert self._request is not None
        principal, row = self._request
        return row is not None and self._shared(principal, row, act)

    def _of_plugin(self, function: Function) -> Callable[..., bool]:
        asks_object = any(root == "obj" for root, _ in function.reads)

        def called(sub: Any, obj: Any, env: Any, *literals: str | int) -> bool:
            assert self._request is not None
            if asks_object and self._request[1] is None:
                return False
            roots = {"sub": sub, "obj": obj, "env": env}
            values = (getattr(roots[root], name) for root, name in function.reads)
            return held(function, (None if value is MISSING else value for value in values), literals)

        return called


def _in_group(sub: Any, name: Any) -> bool:
    return not isinstance(name, _Missing) and name in sub.groups


def _ip_match(address: Any, network: str) -> bool:
    try:
        return not isinstance(address, _Missing) and bool(ip_match(address, network))
    except ValueError:
        return False


def sampled(policy: Policy, *, seconds: float = 0.5, most: int = 200, seed: int = 0) -> list[Finding]:
    """Ask Casbin about a bounded sample of questions that the policy's own lines suggest.

    A difference is an error at the line that suggested the question. Stops after `seconds` or `most` questions.
    """
    until = time.monotonic() + seconds
    oracle = Oracle(policy.files, policy.vocabulary.functions.values())
    findings = []
    for rule, question in itertools.islice(sample_questions(policy, random.Random(seed)), most):
        try:
            expected = oracle.decide(*question)
            answered = policy.decide(*question)
        except FunctionFailed as error:
            findings.append(Finding(rule.file, rule.line, f"{question[1]}: {error}"))
            break
        except Exception as error:
            findings.append(Finding(rule.file, rule.line, f"Casbin fails about {question[1]}: {error}"))
            break
        if answered != expected:
            findings.append(Finding(rule.file, rule.line, f"Casbin answers differently about {question[1]}"))
        if time.monotonic() > until:
            break
    return findings


Arguments = tuple[Principal, str, Row | None, Any, SharedWith]


def sample_questions(policy: Policy, chance: random.Random) -> Iterator[tuple[Rule, Arguments]]:
    """Endless random questions near the rules, which come round one after the other; each the arguments of `decide`."""
    roles, permissions = sorted(policy.roles.names), sorted(policy.vocabulary.by_permission)
    covered: dict[str, list[str]] = {}
    every, groups = _literals(policy, policy.rules), _groups(policy)
    asked = {name for one in policy.vocabulary.functions.values() for root, name in one.reads if root == "obj"}
    scopes = sorted(policy.scope_names) or ["none"]
    rounds = (chance.sample(policy.rules, len(policy.rules)) for _ in itertools.count())
    for rule in itertools.chain.from_iterable(rounds):
        if rule.act not in covered:
            covered[rule.act] = sorted(policy.patterns.covered(rule.act))
        permission = chance.choice(covered[rule.act] if chance.random() < 0.8 else permissions)
        role = rule.sub if rule.sub in policy.roles and chance.random() < 0.6 else chance.choice(roles)
        person = rule.sub if rule.sub not in policy.roles else f"user:{PEOPLE[0]}"
        identity = None if role == "guest" else person.removeprefix("user:")
        principal = Principal(
            identity,
            person if identity else "guest",
            role,
            "t",
            chance.choice((None, *DEPARTMENTS)),
            "user" if identity else "guest",
            tuple(chance.sample(groups, chance.choice((0, 1, 2)))) if identity else (),
            frozenset(chance.sample(scopes, min(2, len(scopes)))) if chance.random() < 0.2 else None,
        )
        resource = policy.vocabulary.by_permission[permission]
        literals = _literals(policy, (rule,)) if chance.random() < 0.7 else every
        # A plugin's function may count on the form that a column promises.
        row = _formed(_row(resource, principal, literals, chance), resource, asked) if resource.columns else None
        yield rule, (principal, permission, row, environment(chance), _odd)


PEOPLE = ("01920000-0000-7000-8000-000000000001", "01920000-0000-7000-8000-000000000002")
DEPARTMENTS = ("press", "sales")
TIMES = ("2026-01-01T00:00:00.000000Z", "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:00.000001Z")


def environment(chance: random.Random) -> SimpleNamespace:
    """Random circumstances, some of them missing."""
    return SimpleNamespace(
        hour=chance.choice((None, 0, 7, 8, 12, 17, 18, 23)),
        weekday=chance.choice((None, 1, 5, 6, 7)),
        date=chance.choice((None, "2026-01-01", "2026-11-21")),
        now=chance.choice((None, *TIMES)),
        ip=chance.choice((None, "10.1.2.3", "192.168.0.9", "::1", "no address")),
        device=chance.choice(("desktop", "bot", "other")),
        method=chance.choice(("GET", "POST")),
        request=chance.choice(("read", "write")),
    )


def _literals(policy: Policy, rules: Iterable[Rule]) -> dict[str, list[Any]]:
    """For each column the literals that the conditions of these lines compare it with, or give to a function that reads
    it; their parameters among them."""
    found: dict[str, list[Any]] = {}
    for word in dict.fromkeys(rule.when for rule in rules):
        for atom in atoms(policy.conditions[word].expression):
            match atom:
                case Comparison(_, Attribute("obj", name), right):
                    found.setdefault(name, []).append(right)
                case Comparison(_, _, Prefixed(prefix, Attribute("obj", name))):
                    found.setdefault(name, []).append(word.removeprefix(prefix))
                case PluginCall():
                    for name in columns(atom):
                        found.setdefault(name, []).extend(atom.literals)
    return found


def _groups(policy: Policy) -> list[str]:
    """Groups that callers may be in: those of conditions, and what columns hold that name a group."""
    named = (atom.group for one in policy.conditions.values() for atom in atoms(one.expression)
             if isinstance(atom, InGroup) and isinstance(atom.group, str))
    return sorted({*named, *DEPARTMENTS})


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


def _formed(row: Row, resource: Resource, names: Iterable[str]) -> Row:
    """The row with None for a text that is not of its column's format, in these columns."""
    formats = {name: resource.columns[name].format for name in names if name in resource.columns}
    return {**row, **{name: None for name, format in formats.items()
                      if format is not None and row[name] is not None and not is_of(format, row[name])}}


def _odd(principal: Principal, row: Row, permission: str) -> bool:
    """A `SharedWith` that gives an arbitrary but fixed half of what can be asked."""
    return len(f"{row.get('owner_id')}{row.get('status')}{permission}") % 2 == 1
