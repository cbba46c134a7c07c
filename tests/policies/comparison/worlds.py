"""Random pairs of policies, and random requests that are independent of the comparison."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import cached_property, partial
from typing import Any

from policies import SHIPPED, Column, Policy, PolicyError, Resource, Vocabulary
from policies.comparison.candidates import parsed
from policies.comparison.prover import Witness
from policies.comparison.subjects import Subject, persons
from policies.evaluation.principal import FixedEnvironment, LoggedIn, Login
from policies.evaluation.rights import rights_for
from policies.loading.loader import from_files
from policies.syntax.durations import later
from policies.syntax.expression import PluginCall
from policies.syntax.roles import GUEST
from policies.syntax.vocabulary import Function, date_time

ROLES = ("guest", "user", "support", "manager", "admin")
STATES = ("draft", "published", "archived")
PEOPLE = tuple(f"01920000-0000-7000-8000-00000000000{number}" for number in range(1, 5))
NAMED = f"user:{PEOPLE[0]}"
DAYS = ("2026-11-20", "2026-11-21", "2027-01-01")
TIMES = ("2026-11-20T12:00:00.000000Z", "2026-11-20T12:00:00.000001Z", "2027-01-01T00:00:00.000000Z")
TEXT, ID = Column(str, True), Column(str, True, "uuid")
COLUMNS = {
    "id": Column(str, False, "uuid"), "tenant_id": Column(str, False, "uuid"), "owner_id": ID, "reviewer_id": ID,
    "status": Column(str, False, values=STATES), "department": TEXT, "team": TEXT, "key": TEXT, "address": TEXT,
    "total": Column(int, False), "limit": Column(int, True), "due": Column(str, True, "date"),
    "created_at": Column(str, False, "date-time"), "closed_at": Column(str, True, "date-time"),
    "active": Column(bool, False), "paid": Column(bool, True), "language": TEXT,
}
VERBS = ("view", "update", "refund")  # shares give the first two
VOCABULARY = Vocabulary(
    {
        "thing": Resource("thing", frozenset(f"thing.{verb}" for verb in VERBS), COLUMNS),
        "account": Resource("account", frozenset(("account.view",)),
                            {**COLUMNS, "owner_id": Column(str, True, "uuid", same_as="id")}),
        "door": Resource("door", frozenset(("door.open",))),
    },
    login={"mfa": Column(bool, True), "auth_age": Column(int, True, least=0)},
)
_CIRCUMSTANCES = (
    "r.env.hour >= 8", "r.env.hour < 18", "r.env.hour == 7", "r.env.hour < 6", "r.env.hour >= 20", "r.env.weekday < 6",
    "r.env.weekday == 6", "r.env.date > '2026-11-20'", "r.env.date == '2026-11-21'", "r.env.date <= '2027-01-01'",
    "ipMatch(r.env.ip, '10.0.0.0/8')", "ipMatch(r.env.ip, '10.1.0.0/16')", "ipMatch(r.env.ip, '::1/128')",
    "r.env.ip == '10.1.2.3'", "r.env.device == 'mobile'", "r.env.device != 'bot'", "r.env.request == 'read'",
    "r.env.method == 'GET'", "r.env.method != 'DELETE'", "r.sub.kind == 'guest'", "r.sub.kind != 'service'",
    "r.sub.department == 'sales'", "r.sub.department != 'sales'", f"r.sub.id == '{PEOPLE[1]}'",
    f"r.sub.key == '{NAMED}'", "inGroup(r.sub, 'atlas')", "inGroup(r.sub, 'sales')", "inGroup(r.sub, 'board')",
    "r.env.now < '2026-11-20T12:00:00.000001Z'", "r.env.now >= '2027-01-01T00:00:00.000000Z'",
    "r.env.now > '2026-11-20T12:00:00.000000Z'", "(r.env.device in['mobile', 'tablet'])", "(r.env.hour in[7, 8])",
    "busy(r.sub, r.obj, r.env)", "r.sub.mfa == 1", "r.sub.mfa == 0", "r.sub.auth_age < 600", "r.sub.auth_age >= 60",
    "(r.sub.mfa == 1 || r.sub.kind == 'service')",
)
_OF_ROWS = (
    "r.obj.owner_id == r.sub.id", "r.obj.owner_id != r.sub.id", "r.obj.reviewer_id == r.sub.id",
    "r.obj.owner_id == r.obj.reviewer_id", "r.obj.owner_id != r.obj.reviewer_id", f"r.obj.owner_id == '{PEOPLE[2]}'",
    "r.obj.department == r.sub.department", "r.obj.team == r.obj.department", "r.obj.team == 'sales'",
    "r.obj.team != r.sub.department", "r.obj.key == r.sub.key", "r.obj.tenant_id == r.sub.tenant_id",
    "r.obj.status == 'draft'", "r.obj.status != 'draft'", "r.obj.status == 'published'", "r.obj.status == 'archived'",
    "r.obj.total < 100", "r.obj.total <= 99", "r.obj.total > 100", "r.obj.total == 100", "r.obj.total < r.obj.limit",
    "r.obj.limit != 100", "r.obj.due == r.env.date", "r.obj.due < r.env.date", "r.obj.due >= '2026-11-21'",
    "r.obj.created_at < '2026-11-20T12:00:00.000001Z'", "r.obj.created_at <= '2026-11-20T12:00:00.000000Z'",
    "r.obj.closed_at > r.obj.created_at", "r.obj.address == r.env.ip", "shared(r.sub, r.obj, r.act)",
    "r.obj.active == 1", "r.obj.active == 0", "r.obj.paid == 1", "r.obj.paid == 0", "r.obj.active != r.obj.paid",
    "(r.obj.status in['draft', 'archived'])", "(r.obj.total in[-1, 99, 100])", "r.obj.total > -1", "r.obj.limit < -1",
    "inGroup(r.sub, 'at', r.obj.team)", "inGroup(r.sub, 'sal', r.obj.team)", "inGroup(r.sub, r.obj.team)",
    "inGroup(r.sub, r.obj.department)", "r.obj.closed_at <= r.env.now",
    "r.obj.created_at > r.env.now", "r.obj.due == r.env.date && r.obj.closed_at < r.env.now",
    "olderThan(r.obj.created_at, 'P30D')", "youngerThan(r.obj.created_at, 'P30D')", "olderThan(r.obj.closed_at, 'P2W')",
    "olderThan(r.obj.created_at, 'P90D')", "youngerThan(r.obj.closed_at, 'PT12H')",
    "near(r.sub, r.obj, r.env, 'sea')", "near(r.sub, r.obj, r.env, 'town')",
)
# The conditions with a parameter: the text behind the colon is compared with a column.
_PARAMETERS = {"language": ("language", ("de", "en")), "team": ("team", ("sales", "atlas"))}
_HEAD = (SHIPPED / "model.conf").read_text().partition("[matchers]")[0]
_WHO = "(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && globMatch(r.act, p.act)"
_CHAIN = ["g, user, guest", "g, support, user", "g, manager, support", "g, admin, manager"]


# Functions of plugins: the attributes that each reads, and its literals.
_FUNCTIONS = {"near": ((("obj", "team"), ("sub", "department")), (("sea",), ("town",))),
              "busy": ((("env", "hour"),), ((),))}


class World:
    """A policy before and after a change, as lines that a failure can show.

    vocabulary  VOCABULARY, with functions of plugins that return the values of the last drawn request
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._answers: dict[tuple[Any, ...], bool] = {}
        self.vocabulary = replace(VOCABULARY, functions={
            name: Function(name, reads, tuple(map(type, calls[0])), partial(self._answer, name, len(reads)))
            for name, (reads, calls) in _FUNCTIONS.items()})
        old = self._policy()
        while old is None:
            old = self._policy()
        self.old = old
        new = self._changed()
        while new is None:
            new = self._changed()
        self.new = new

    def subject(self) -> Subject:
        """Draws one of the callers that the comparison distinguishes."""
        role = self.chance.choice(ROLES)
        return Subject(role, NAMED if role != "guest" and self.chance.random() < 0.3 else None)

    def example(self, witness: Witness) -> tuple[Any, ...]:
        """Returns the request of an example: the arguments of `decide`. Functions of plugins return its facts."""
        self._answers = {(one.function.name, *one.literals): bool(value) for one, value in witness.facts.items()
                         if isinstance(one, PluginCall)}
        return witness.principal, witness.ground.permission, witness.row, witness.environment, witness.shared

    def _answer(self, name: str, count: int, *given: object) -> bool:
        return self._answers.get((name, *given[count:]), False)

    def request(self, subject: Subject, permission: str) -> tuple[Any, ...]:
        """Draws a possible request of this subject: the arguments of `decide`."""
        pick = self.chance.choice
        self._answers = {(name, *call): pick((True, False))
                         for name, (_, calls) in _FUNCTIONS.items() for call in calls}
        guest = subject.is_guest
        id = None if guest else (subject.key or "").removeprefix("user:") or pick(PEOPLE[1:])
        tenant = pick(PEOPLE)
        kind = "guest" if guest else pick(("user", "service"))
        login = {"mfa": pick((True, False)), "auth_age": pick((0, 1, 59, 60, 61, 599, 600, 601))}
        principal = LoggedIn(
            id, "guest" if guest else f"user:{id}", subject.role, tenant,
            None if guest else pick((None, "sales", "press", "other")), kind,
            () if guest else tuple(self.chance.sample(("atlas", "sales", "press", "other"), pick((0, 1, 2)))),
            login=Login(login if kind == "user" else {}),
        )
        wall = self._wall()
        method = pick(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
        env = FixedEnvironment(
            hour=wall.hour, weekday=wall.isoweekday(), date=wall.date().isoformat(), now=date_time(wall),
            method=method,
            ip=pick((None, "10.0.0.0", "10.1.2.3", "10.1.255.255", "10.2.0.0", "11.0.0.0", "9.9.9.9", "::1", "::2")),
            device=pick(("desktop", "mobile", "tablet", "bot", "other")),
            request="read" if method in ("GET", "HEAD") else "write",
        )
        resource = VOCABULARY.by_permission[permission]
        row = self._row(principal, env, resource) if resource.columns and self.chance.random() < 0.9 else None
        is_shared = not guest and bool(rights_for(permission.partition(".")[2])) and pick((True, False))
        return principal, permission, row, env, lambda *_: row is not None and is_shared

    def _wall(self) -> datetime:
        """Draws a local time, usually near the times in conditions."""
        pick = self.chance.choice
        if pick((True, False)):
            near = parsed(pick(TIMES)) + timedelta(microseconds=pick((-1, 0, 1)), hours=pick((0, 0, 0, 9, -30)))
        else:
            day = date.fromisoformat(pick(DAYS)) + timedelta(pick(range(-9, 10)))
            near = datetime.combine(day, time(pick(range(24)), pick((0, 59))), UTC)
        return near.astimezone(timezone(timedelta(hours=pick((-12, -5, 0, 0, 1, 14)))))

    def _row(self, principal: LoggedIn, env: FixedEnvironment, resource: Resource) -> dict[str, Any]:
        pick = self.chance.choice
        people = (*PEOPLE, principal.id or PEOPLE[0])
        row = {
            "id": pick(people), "tenant_id": principal.tenant_id, "owner_id": pick((None, *people)),
            "reviewer_id": pick((None, *people)), "status": pick(STATES),
            "department": pick((None, "sales", "press", "atlas", principal.department)),
            "team": pick((None, "sales", "press", "atlas", "las", "es", principal.department)),
            "key": pick((None, NAMED, principal.key, "x")),
            "address": pick((None, env.ip, "10.1.2.3", "x")), "total": pick((-2, -1, 0, 98, 99, 100, 101, 102)),
            "limit": pick((None, -2, -1, 98, 99, 100, 101, 102)), "due": pick((None, env.date, *DAYS)),
            "created_at": pick((env.now, *self._ago(env.now), *TIMES)),
            "closed_at": pick((None, env.now, *self._ago(env.now), *TIMES)),
            "active": pick((True, False)), "paid": pick((None, True, False)),
            "language": pick((None, "de", "en", "fr")),
        }
        if resource.columns["owner_id"].same_as is not None:
            row["owner_id"] = row["id"]
        return row

    def _ago(self, now: str) -> list[str]:
        """Draws times around those that lie a duration of a condition before now."""
        step = timedelta(microseconds=self.chance.choice((-1, 0, 1)))
        return [later(now, step - timedelta(days)) for days in (0.5, 14, 30, 90)]

    def __str__(self) -> str:
        return f"{self.old.files['model.conf'].decode()}\n{self.old.files['rules.csv'].decode()}\n--- after\n" \
               f"{self.new.files['model.conf'].decode()}\n{self.new.files['rules.csv'].decode()}"

    @cached_property
    def _conditions(self) -> dict[str, str]:
        words = {"always": ""}
        words |= {f"row{number}": self._expression(2, (*_OF_ROWS, *_CIRCUMSTANCES)) for number in range(5)}
        words |= {f"time{number}": self._expression(2, _CIRCUMSTANCES) for number in range(3)}
        return words | {word: self._expression(1, _OF_ROWS) for word in _PARAMETERS}

    def _expression(self, depth: int, atoms: tuple[str, ...]) -> str:
        kind = self.chance.random()
        if depth == 0 or kind < 0.3:
            return self.chance.choice(atoms)
        if kind > 0.9:
            return f"!({self._expression(depth - 1, _CIRCUMSTANCES)})"
        sign = " && " if kind < 0.65 else " || "
        return f"({sign.join(self._expression(depth - 1, atoms) for _ in range(self.chance.choice((2, 3))))})"

    def _policy(self) -> Policy | None:
        self._lines = [self._line() for _ in range(self.chance.randrange(4, 14))]
        if self.chance.random() < 0.3:
            self._lines.append(f"g, {NAMED}, {self.chance.choice(ROLES[2:])}")
        return self._loaded()

    def _line(self) -> str:
        who = NAMED if self.chance.random() < 0.15 else self.chance.choice(ROLES)
        act = self.chance.choice(("thing.view", "thing.update", "thing.refund", "account.view", "door.open", "thing.*",
                                  "*.view", "*"))
        when = self.chance.choice([*self._conditions])
        if when in _PARAMETERS:
            when = f"{when}:{self.chance.choice(_PARAMETERS[when][1])}"
        return f"p, {who}, {act}, {when}, {'deny' if self.chance.random() < 0.2 else 'allow'}"

    def _changed(self) -> Policy | None:
        lines, words = list(self._lines), dict(self._conditions)
        for _ in range(self.chance.choice((1, 1, 2))):
            rules = [line for line in self._lines if line.startswith("p")]
            line, kind = self.chance.choice(rules), self.chance.randrange(7)
            word = self.chance.choice([word for word in self._conditions if word != "always"])
            if kind == 0 and len(rules) > 1:
                self._lines.remove(line)
            elif kind == 1:
                self._lines.append(self._line())
            elif kind == 2:
                self._lines[self._lines.index(line)] = self._line()
            elif kind == 3:
                self.chance.shuffle(self._lines)
            elif kind == 4:  # the same in other words
                self._conditions[word] = f"({self._conditions[word]} || {self._conditions[word]} && r.env.hour < 12)"
            elif kind == 5:
                for before, after in (("< 100", "<= 99"), ("hour < 18", "hour <= 17"), (">= 8", "> 7")):
                    self._conditions[word] = self._conditions[word].replace(before, after)
            else:
                self._conditions[word] = self._expression(2, (*_OF_ROWS, *_CIRCUMSTANCES))
        found = self._loaded()
        if found is None:
            self._lines, self.__dict__["_conditions"] = lines, words
        return found

    def _loaded(self) -> Policy | None:
        branches = (_named(word) + (f" && ({said})" if said else "") for word, said in self._conditions.items())
        model = f"{_HEAD}[matchers]\nm = {_WHO} && ( \\\n" + " || \\\n".join(branches) + " )\n" \
                "m2 = r2.scope == p2.scope && globMatch(r2.act, p2.act)\n# end\n"
        files = {"model.conf": model.encode(), "roles.csv": "\n".join([*_CHAIN, "# end", ""]).encode(),
                 "rules.csv": "\n".join([*self._lines, "p2, read:rules, thing.view", "# end", ""]).encode()}
        try:
            return from_files(files, self.vocabulary)
        except PolicyError as error:
            reasons = ("has no column", "could be shared")
            assert all(any(reason in one.message for reason in reasons) for one in error.findings), error
            return None


def _named(word: str) -> str:
    if word in _PARAMETERS:
        return f"p.when == '{word}:' + r.obj.{_PARAMETERS[word][0]}"
    return f"p.when == '{word}'"


def subjects(*policies: Policy) -> list[Subject]:
    """Returns each role alone, and each user whom rules name with each role except guest."""
    roles = sorted(frozenset().union(*(policy.roles.names for policy in policies)))
    found = [Subject(role) for role in roles]
    return [*found, *(Subject(role, key) for key in persons(*policies) for role in roles if role != GUEST)]


def worlds(first: int, count: int) -> Iterator[World]:
    """Worlds by consecutive seeds."""
    return (World(seed) for seed in range(first, first + count))
