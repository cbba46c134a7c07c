"""The prover covers every question that the service asks the policy.

Requests create callers, rows, shares and tokens, with any accepted values, and use them afterwards. Each question is
compared with the description of possible requests. The prover is checked with each question: if a condition is true of
it, the prover must find an example for the condition.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from gatepost.testing import Caller, log_in
from policies import Policy, Principal
from policies.comparison.prover import Prover
from policies.comparison.subjects import Subject
from policies.evaluation.compiled import NO_OBJECT, compiled
from policies.evaluation.principal import Environment
from policies.syntax.attributes import ENVIRONMENT, SUBJECT
from policies.syntax.expression import Attribute, Comparison, Expression, InGroup, Negation, Shared, conjunction
from tests.apps import PASSWORD, ROLES
from tests.databases import on_sqlite  # noqa: F401 - the same on each database
from tests.http.resources.test_collections import EXAMPLES
from tests.policies.comparison.possible import impossibilities

# Addresses as a socket or a proxy writes them; None for a Unix socket, which has no address.
ADDRESSES = (None, "", "203.0.113.7", "10.1.2.3", "2001:DB8::1", "::ffff:203.0.113.7", "::FFFF:10.1.2.3",
             "203.0.113.7:443", "[2001:db8::1]:443", "[::ffff:10.1.2.3]", "fe80::1%eth0", "unknown", "_hidden", "1.2.3")
GRANTEES = ("role:guest", *(f"role:{role}" for role in ROLES[1:]), "group:press", "group:Köln", "group:R&D")
AGENTS = ("", "curl/8", "Mozilla/5.0 (iPhone; Mobile)", "Googlebot/2.1", "Mozilla/5.0 (X11)", "iPad")


@dataclass(frozen=True)
class Question:
    """A question to a policy."""

    principal: Principal
    permission: str
    row: Mapping[str, Any] | None
    env: Environment
    shared: bool

    def is_shared(self, *_: object) -> bool:
        """The `SharedWith` of this question."""
        return self.shared


class Asked:
    """Records every question to any policy, while it is patched in."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.questions: list[Question] = []
        for name in ("decide", "settle"):
            patch.setattr(Policy, name, self._noting(getattr(Policy, name)))

    def _noting(self, method: Callable[..., bool]) -> Callable[..., bool]:
        def noted(policy: Policy, principal: Principal, permission: str, obj: Any, env: Any, shared: Any) -> bool:
            given = obj is not None and "id" in obj and shared(principal, obj, permission)
            self.questions.append(Question(principal, permission, None if obj is None else dict(obj), env, given))
            return method(policy, principal, permission, obj, env, shared)
        return noted


@pytest.fixture
def asked() -> Iterator[Asked]:
    with pytest.MonkeyPatch.context() as patch:
        yield Asked(patch)


def callers(app, admin: Caller, chance: random.Random) -> Iterator[Caller]:
    """A guest, and users and tokens created by the service."""
    yield Caller(app.test_client())
    for number, role in enumerate(ROLES):
        made = admin.post("/api/users", json={
            "name": f"A {role}", "email": f"possible{number}@example.org", "password": PASSWORD, "role": role,
            "department": chance.choice(["press", "Köln", None]), "groups": chance.choice([[], ["press"], ["R&D"]])})
        if made.status_code != 201:
            continue
        login = app.test_client().post("/api/login", json={"email": f"possible{number}@example.org",
                                                           "password": PASSWORD})
        person = Caller(app.test_client(), token=login.get_json()["access_token"])
        yield person
        token = person.post("/api/tokens", json={"name": "A program", "scopes": ["read:articles", "write:orders"],
                                                 "current_password": PASSWORD})
        if token.status_code == 201:
            yield Caller(app.test_client(), token=token.get_json()["token"])


def traffic(everybody: list[Caller], admin: Caller, chance: random.Random) -> None:
    """Lets each caller create, read, share, change and delete rows of each collection, from any address."""
    numbers = itertools.count(2000)
    rows = [(example, admin.post(f"/api/{example.collection.name}", json=example.body(admin, next(numbers))))
            for example in EXAMPLES]
    for example, made in rows:
        assert made.status_code == 201, made.get_json()
        for grantee in GRANTEES:
            admin.call("PUT", f"/api/{example.collection.name}/{made.get_json()['id']}/shares",
                       json={"grantee": grantee, "right": chance.choice(["read", "write"])})
    for caller in everybody:
        for example, made in rows:
            name, row = example.collection.name, made.get_json()
            body = example.body(admin, next(numbers))
            path = f"/api/{name}/{row['id']}"
            requests: list[tuple[str, str, Any]] = [
                ("POST", f"/api/{name}", body), ("GET", path, None), ("GET", f"/api/{name}", None),
                ("PATCH", path, example.changes), ("PUT", path, body), ("GET", f"/api/{name}/export", None),
                ("POST", f"/api/{name}/import", [body])]
            for method, path, sent in requests:
                headers = {"User-Agent": chance.choice(AGENTS)}
                answer = caller.call(method, path, json=sent, headers=headers,
                                     environ_overrides={"REMOTE_ADDR": chance.choice(ADDRESSES)})
                assert answer.status_code < 500, (method, path, answer.get_data(as_text=True))


def conditions(question: Question, resource: Any, chance: random.Random) -> Expression:
    """Draws a condition that is true of a question, from some of its values."""
    parts: list[Expression] = []
    for root, columns, values in (("sub", SUBJECT, question.principal), ("env", ENVIRONMENT, question.env)):
        parts += [_is(Attribute(root, name), getattr(values, name)) for name in columns]
    parts += [_is(Attribute("obj", name), value) for name, value in (question.row or {}).items()
              if name in resource.columns]
    parts += [InGroup(name) if name in question.principal.groups else Negation(InGroup(name))
              for name in ("press", "R&D")]
    parts.append(Shared() if question.shared else Negation(Shared()))
    return conjunction(chance.sample(parts, chance.randint(1, 6)))


def _is(attribute: Attribute, value: Any) -> Expression:
    """Returns the condition that the attribute has this value; for None, that the attribute is missing."""
    literal = int(value) if isinstance(value, bool) else value
    return Negation(Comparison("!=", attribute, "")) if value is None else Comparison("==", attribute, literal)


def test_the_prover_thinks_of_every_question(app, asked):
    chance = random.Random(1)
    admin = log_in(app, "admin")
    everybody = list(callers(app, admin, chance))
    asked.questions.clear()
    traffic(everybody, admin, chance)
    policy = app.extensions["gatepost"].policy.current
    prover, wrong = Prover(policy), set[str]()
    assert len(asked.questions) > 1000
    for question in asked.questions:
        resource = policy.vocabulary.by_permission[question.permission]
        for impossible in impossibilities(question.principal, question.permission, resource, question.row, question.env,
                                          question.shared):
            wrong.add(f"{question.permission} of {question.principal.role}: {impossible}")
        goal = conditions(question, resource, chance)
        row = NO_OBJECT if question.row is None else question.row
        holds = compiled(goal, question.permission)
        assert holds(question.principal, row, question.env, question.is_shared), goal
        if not prover.possible(goal, Subject(question.principal.role), question.permission):
            wrong.add(f"{question.permission} of {question.principal.role}: no example of {goal}")
    assert not wrong, "\n".join(sorted(wrong))
