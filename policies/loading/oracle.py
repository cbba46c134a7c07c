"""Casbin as the reference: `casbin.Enforcer` answers the same questions from the same files.

It scans every line and parses the matcher on every call, so tests and the sampling of a loaded policy use it,
never a request.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
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
from ..syntax.durations import ago, seconds_of
from ..syntax.expression import GROUPS
from ..syntax.model import MODEL_FILE
from ..syntax.vocabulary import Function
from ..wording.finding import Finding
from .sample import sample_questions

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
    """Hands the lines of every CSV file with rules to Casbin's own loader, and then further lines."""

    def __init__(self, files: Mapping[str, bytes], further: Iterable[str]) -> None:
        self._files, self._further = files, tuple(further)

    def load_policy(self, model: Any) -> None:
        for name, content in sorted(self._files.items()):
            if name not in (MODEL_FILE, INVARIANTS_FILE):
                for line in content.decode().splitlines():
                    load_policy_line(line.strip(), model)
        for line in self._further:
            load_policy_line(line, model)


class Oracle:
    """`casbin.Enforcer` over the files of a policy."""

    @classmethod
    def of(cls, policy: Policy) -> Oracle:
        """Returns the oracle of a policy, with the lines that its fallbacks mean."""
        return cls(policy.files, policy.vocabulary.functions.values(), map(str, policy.fallback_lines()),
                   policy.vocabulary.login)

    def __init__(self, files: Mapping[str, bytes], functions: Iterable[Function] = (), further: Iterable[str] = (),
                 login: Iterable[str] = ()) -> None:
        """`functions` are those of plugins, which the matcher may call; `further` are lines beside the files'. `login`
        are the attributes of the caller that features declare."""
        logging.getLogger("casbin").setLevel(logging.ERROR)
        model = Enforcer.new_model(text=files[MODEL_FILE].decode())
        self._login = tuple(login)
        self._shared: SharedWith = no_shares
        self._request: tuple[Principal, Row | None] | None = None
        self._now: str | None = None  # stock Casbin hands a function its arguments alone
        self._enforcer = Enforcer(model, _Lines(files, further))
        self._enforcer.add_function("shared", self._is_shared)
        self._enforcer.add_function("ipMatch", _ip_match)
        self._enforcer.add_function("inGroup", _in_group)
        self._enforcer.add_function("olderThan", lambda time, duration: time < self._ago(duration))
        self._enforcer.add_function("youngerThan", lambda time, duration: time > self._ago(duration))
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
        """Returns Casbin's answer to the question of Policy.decide. It is not safe for several threads at once."""
        self._request, self._shared, self._now = (principal, obj), shared, env.now
        answer = self._enforcer.enforce(
            _Facts({**{name: getattr(principal, name) for name in (*SUBJECT, GROUPS.name)},
                    **{name: principal.login[name] for name in self._login}}),
            permission,
            _Facts(obj or {}),
            _Facts({name: getattr(env, name) for name in ENVIRONMENT}),
        )
        if not answer or principal.scopes is None:
            return bool(answer)
        context = EnforceContext("r2", "p2", "e2", "m2")
        return any(self._enforcer.enforce(context, scope, permission) for scope in sorted(principal.scopes))

    def _ago(self, duration: str) -> str | _Missing:
        return ago(self._now, seconds_of(duration) or 0) or MISSING

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


def _in_group(sub: Any, *name: Any) -> bool:
    return not any(isinstance(part, _Missing) for part in name) and "".join(name) in sub.groups


def _ip_match(address: Any, network: str) -> bool:
    try:
        return not isinstance(address, _Missing) and bool(ip_match(address, network))
    except ValueError:
        return False


def sampled(policy: Policy, *, most: int = 200, seconds: float = math.inf, seed: int = 0) -> list[Finding]:
    """Ask Casbin a sample of `most` questions that the policy's own lines suggest.

    A difference is an error at the line that suggested the question. Casbin needs seconds for one question about
    tens of thousands of lines. A caller that must not wait sets `seconds`: after them no other question is asked.
    The first one always is. Casbin knows nothing of closed rules, so it is not asked about their permissions.
    """
    left_out = {permission for rule in policy.closed for permission in policy.permissions_of_line(rule)}
    until = time.monotonic() + seconds
    oracle = Oracle.of(policy)
    findings = []
    for rule, question in itertools.islice(sample_questions(policy, random.Random(seed)), most):
        if question[1] in left_out:
            continue
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
