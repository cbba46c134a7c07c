"""Replays against Casbin: `python -m tests.policies.questions.recorded_weeks --decisions 100000`.

Weeks of random decisions under generated policies are recorded as in the audit log, and replayed under a policy with
a few other rules. The newly allowed and refused decisions are those that Casbin decides differently on the same facts.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from policies import Policy, Principal
from policies.evaluation.compiled import Row, SharedWith
from policies.evaluation.principal import FixedEnvironment
from policies.evaluation.rights import RIGHTS, is_read, rights_to
from policies.loading.oracle import Oracle
from policies.questions.evaluated import answer
from policies.questions.recorded import ALLOWED, HIDDEN, REFUSED, UNKNOWN, Entry, decisions
from policies.questions.replay import LET_IN, REFUSED_NOW, replay
from policies.syntax.attributes import ENVIRONMENT
from tests.policies.generated import MODELS, assembled, lines
from tests.policies.questions.diff_against_casbin import request, row_of
from tests.policies.shipped_vocabulary import VOCABULARY

AT_ONCE = 500  # decisions of one pair of policies
LINES, EDITS = 20, 6
SCOPES = ("read:rules", "write:rules")
_REASON = {REFUSED: "forbidden", HIDDEN: "not_found"}


@dataclass(frozen=True)
class Decided:
    """One request with all its facts: the permissions, on the row before and, if it changed, after the request."""

    principal: Principal
    asked: tuple[str, ...]
    row: Row | None
    after: Row | None
    environment: FixedEnvironment
    rights: frozenset[str]

    @property
    def steps(self) -> list[tuple[str, Row | None]]:
        changed = [(one, self.after) for one in self.asked if not one.endswith(".view")] if self.after else []
        return [*((one, self.row) for one in self.asked), *changed]

    def shared(self, policy: Policy) -> SharedWith:
        """The `SharedWith` of this request under a policy."""
        return lambda principal, row, permission: not self.rights.isdisjoint(rights_to(permission, policy.fallbacks))

    def answer(self, by: Policy | Oracle, policy: Policy) -> str:
        """Returns the pipeline's answer if `by` decides. `policy` decides the refusals before a row is looked up."""
        for permission, row in self.steps:
            if not by.decide(self.principal, permission, row, self.environment, self.shared(policy)):
                hides = permission.endswith(".view") and row is not None
                ever = policy.may_ever(self.principal, self.asked[-1], self.environment)
                return HIDDEN if hides and ever else REFUSED
        return ALLOWED

    def facts(self) -> dict[str, Any]:
        """All facts, as the audit log stores them."""
        texts = [value for row in (self.row, self.after) for value in (row or {}).values() if isinstance(value, str)]
        ends = [f"{prefix}{text}" for prefix in ("head-", "head-p") for text in texts]
        groups = dict.fromkeys(("sales", "press", "draft", "published", *ends), False) | dict.fromkeys(
            self.principal.groups, True)
        sub: dict[str, Any] = {"department": self.principal.department, "groups": groups}
        if self.principal.kind == "service":
            sub["kind"] = "service"
        found = {"sub": sub, "env": {name: getattr(self.environment, name) for name in ENVIRONMENT},
                 "obj": None if self.row is None else dict(self.row), "shares": sorted(self.rights),
                 "asked": list(self.asked)}
        if self.principal.scopes is not None:
            found["scopes"] = sorted(self.principal.scopes)
        if self.row is not None and self.after is not None:
            found["new"] = {name: value for name, value in self.after.items() if value != self.row[name]}
        return found

    def entry(self, number: int, answered: str, facts: Any) -> Entry:
        """Returns the audit event."""
        resource, _, action = self.asked[-1].partition(".")
        return Entry(id=f"{number}", time="2026-11-20T10:00:00.000000Z", tenant_id=self.principal.tenant_id,
                     principal=self.principal.key, role=self.principal.role, action=action, resource=resource,
                     resource_id=None, result=ALLOWED if answered == ALLOWED else REFUSED, reason=_REASON.get(answered),
                     count=1, facts=facts)


def edited(seed: str, name: str) -> tuple[Policy, Policy]:
    """Draws a policy, and the same policy with a few lines removed and others added."""
    chance = random.Random(seed)
    text, conditions = MODELS[name]
    roles, found = lines(chance, conditions, LINES + EDITS)
    rules, scopes = found[:LINES + EDITS], found[LINES + EDITS:]
    changed = rules[EDITS:]
    chance.shuffle(changed)
    links = [link for link in roles if chance.random() < 0.9]
    fewer = [scope for scope in scopes if chance.random() < 0.8]
    return assembled([*rules[:LINES], *scopes], roles, text), assembled([*changed, *fewer], links, text)


def decided(chance: random.Random, near: Collection[str]) -> Decided:
    """Draws a request that changes something, or is refused. Most are for the permissions in `near`."""
    principal, permission, row, environment = request(chance)
    while permission not in near and chance.random() < 0.95:
        principal, permission, row, environment = request(chance)
    resource = VOCABULARY.by_permission[permission]
    view, me = f"{resource.name}.view", principal.id or "01920000-0000-7000-8000-00000000000c"
    asked = tuple(dict.fromkeys((view, permission))) if chance.random() < 0.6 else (permission,)
    after = None
    if chance.random() < 0.05:
        row = None
    elif row is not None and chance.random() < 0.3:
        other = row_of(resource, me, chance)
        after = {**row, **{name: other[name] for name in chance.sample(sorted(row), 3)}}
        after = {name: after[column.same_as or name] for name, column in resource.columns.items()}
    scoped = principal.kind == "service" and chance.random() < 0.5
    principal = Principal(principal.id, principal.key, principal.role, "t", principal.department, principal.kind,
                          principal.groups, frozenset(chance.sample(SCOPES, 1)) if scoped else None)
    shared = chance.random() < 0.3 and row is not None and principal.kind != "guest"
    rights = frozenset(chance.sample(sorted(RIGHTS), chance.randint(1, 2))) if shared else frozenset[str]()
    return Decided(principal, asked, row, after, environment, rights)


def forgetful(facts: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Removes some facts, or marks some as too long."""
    left: dict[str, Any] = {}
    for key, value in facts.items():
        if key not in ("asked", "new", "scopes") and chance.random() < 0.15:
            continue
        if key == "new" and "obj" not in left:
            left[key] = "too long"
        elif isinstance(value, dict) and key != "sub":
            kept = {name: "too long" if chance.random() < 0.1 else one for name, one in value.items()
                    if key == "new" or chance.random() < 0.7}
            left[key] = kept
        elif key == "sub":
            left[key] = {**value, "groups": {name: held for name, held in value["groups"].items()
                                             if chance.random() < 0.6}}
            if chance.random() < 0.3:
                del left[key]["department"]
        else:
            left[key] = "too long" if key != "asked" and chance.random() < 0.05 else value
    return left


@dataclass
class Tally:
    """Counts of the replays."""

    decisions: int = 0
    flips: int = 0
    unknown: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (f"{self.decisions} decisions replayed ({self.decisions / self.seconds:,.0f} a second): {self.flips} "
                f"flips, as Casbin has them; of as many with facts left out {self.unknown} are unknown, none is wrong")


def tried(name: str, seed: str, tally: Tally, count: int = AT_ONCE) -> None:
    """Replays `count` decisions of a pair of generated policies, and compares with Casbin. Raises AssertionError."""
    chance = random.Random(seed)
    old, new = edited(seed, name)
    near = {one for rule in (*old.rules, *new.rules) for one in old.patterns.covered(rule.act)}
    compare(old, new, [decided(chance, near) for _ in range(count)], chance, tally)


def compare(old: Policy, new: Policy, week: list[Decided], chance: random.Random, tally: Tally) -> None:
    """Replays a week of decisions under two policies, and compares with Casbin. Raises AssertionError."""
    first, second = Oracle.of(old), Oracle.of(new)
    expected = [(one.answer(first, old), one.answer(second, new)) for one in week]
    rows = [one.entry(number, before, one.facts()) for number, (one, (before, _)) in enumerate(zip(
        week, expected, strict=True))]
    begun = time.process_time()
    found = replay(old, new, rows)
    tally.seconds += time.process_time() - begun
    wanted = Counter((LET_IN if after == ALLOWED else REFUSED_NOW, one.principal.key, one.asked[-1])
                     for one, (before, after) in zip(week, expected, strict=True)
                     if (before == ALLOWED) is not (after == ALLOWED)
                     and not (before == ALLOWED and is_read(one.asked[-1])))  # reads are not recorded
    flips: Counter[tuple[str, str, str]] = Counter()
    for (kind, who, permission, place), flip in found.flips.items():
        assert place, "each has a line"
        flips[kind, who, permission] += flip.count
    assert flips == wanted
    assert found.unknown == found.otherwise == 0
    assert not replay(old, old, rows), "the same rules change nothing"
    for number, (one, (_, after)) in enumerate(zip(week, expected, strict=True)):
        for decision in decisions(rows[number], VOCABULARY):
            full = answer(new, decision).result
            assert full == after or (full, after) == (REFUSED, HIDDEN), "whether there could be another object"
        for decision in decisions(one.entry(number, after, forgetful(one.facts(), chance)), VOCABULARY):
            told = answer(new, decision)
            assert told.result == UNKNOWN or (told.result == ALLOWED) is (after == ALLOWED), (one, told)
            assert bool(told.missing) is (told.result == UNKNOWN)
            tally.unknown += told.result == UNKNOWN
    tally.decisions += len(week)
    tally.flips += flips.total()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=100_000)
    wanted, tally = parser.parse_args().decisions, Tally()
    for number in itertools.count():
        for name in MODELS:
            if tally.decisions < wanted:
                tried(name, f"{name} {number}", tally)
        if tally.decisions >= wanted:
            break
    print(tally)


if __name__ == "__main__":
    main()
