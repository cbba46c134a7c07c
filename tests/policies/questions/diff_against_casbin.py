"""The diff against Casbin and chance: `python -m tests.policies.questions.diff_against_casbin --pairs 100`.

For each pair of generated policies: Casbin answers the example of every change differently under the two policies, and
no random request has another answer unless the diff lists its change.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from datetime import date
from typing import Any

from policies import Policy
from policies.comparison.candidates import REQUESTS
from policies.evaluation.compiled import Row
from policies.evaluation.principal import FixedEnvironment, Principal
from policies.evaluation.rights import rights_for
from policies.loading.oracle import Oracle
from policies.loading.sample import PEOPLE, TIMES
from policies.questions.changes import Changes
from policies.questions.diff import diff
from policies.syntax.vocabulary import Column, Resource
from tests.policies.generated import MODELS, assembled, lines
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

QUESTIONS = 2000  # random requests a pair of policies
# Its rules for article.* are true for every permission, also of resources that lack the columns: undecided.
LOOSE = "permissions without patterns"


@dataclass(slots=True)
class Tally:
    """Counts of the comparison."""

    pairs: int = 0
    changes: int = 0
    undecided: int = 0
    asked: int = 0

    def __str__(self) -> str:
        return (f"{self.pairs} pairs of policies: {self.changes} changes, {self.undecided} undecided ones, "
                f"{self.asked} random requests")


def tried(name: str, number: int, tally: Tally, questions: int = QUESTIONS) -> None:
    """Diffs one pair of policies with that model, and tries to refute the diff. Raises AssertionError."""
    seed = f"{name} {number}"
    old, new = pair(seed, name)
    found = diff(old, new)
    assert not found.undecided or name == LOOSE, seed
    assert unproved(found, old, new) == [], seed
    assert unlisted(found, old, new, random.Random(seed), questions) == [], seed
    tally.pairs += 1
    tally.changes += len(found.proved)
    tally.undecided += len(found.undecided)
    tally.asked += questions


def pair(seed: str, name: str) -> tuple[Policy, Policy]:
    """Draws a policy, and the same policy with a few lines removed, added, or moved."""
    chance = random.Random(seed)
    text, conditions = MODELS[name]
    roles, rules = lines(chance, conditions, 12)
    edited_roles, edited = list(roles), list(rules)
    for _ in range(chance.randint(1, 3)):
        edit = chance.random()
        if edit < 0.4:
            edited[chance.randrange(12)] = chance.choice(lines(chance, conditions, 12)[1][:12])
        elif edit < 0.7:
            edited.pop(chance.randrange(len(edited) - 6))
        elif edited_roles:
            edited_roles.pop(chance.randrange(len(edited_roles)))
    chance.shuffle(edited)
    return assembled(rules, roles, text), assembled(edited, edited_roles, text)


def unproved(found: Changes, old: Policy, new: Policy) -> list[str]:
    """Returns the listed changes that Casbin does not confirm. No request shows changes of scopes."""
    before, after = Oracle.of(old), Oracle.of(new)
    wrong = []
    for change in found.proved:
        if change.who[0].startswith("scope "):
            continue
        examples = ((change.gained, (False, True)), (change.lost, (True, False)))
        for example, answers in examples:
            if example is not None:
                asked = (example.principal, example.ground.permission, example.row, example.environment, example.shared)
                if (before.decide(*asked), after.decide(*asked)) != answers:
                    wrong.append(f"{change}: {example}")
        if not change.gained and not change.lost:
            wrong.append(f"{change}: no example")
    return wrong


def unlisted(found: Changes, old: Policy, new: Policy, chance: random.Random, count: int) -> list[str]:
    """Returns those of `count` random requests whose answer changes although the diff lists no such change.

    A change for a user is listed for their role, or for the user with that role.
    """
    told = {(who, role, change.permission) for change in found for who in change.who
            for role in (change.having or (None,))}
    wrong = []
    for _ in range(count):
        principal, permission, row, environment = request(chance)
        given = (chance.random() < 0.5 and principal.role != "guest"
                 and bool(rights_for(permission.partition(".")[2])))
        answers = [policy.decide(principal, permission, row, environment, lambda *_, given=given: given)
                   for policy in (old, new)]
        role = principal.role
        about = {(role, None, permission), (principal.key, None, permission), (principal.key, role, permission)}
        if answers[0] is not answers[1] and not about & told:
            wrong.append(f"{principal} {permission} {row} {environment}")
    return wrong


def request(chance: random.Random) -> tuple[Principal, str, Row | None, FixedEnvironment]:
    """Draws a possible request: columns have valid values, and day and weekday agree."""
    permission = chance.choice([one for one in sorted(VOCABULARY.by_permission) if one.split(".")[0] in (
        "article", "product", "order", "comment", "page", "user")])
    resource, role = VOCABULARY.by_permission[permission], chance.choice(ROLES)
    me = chance.choice((*PEOPLE, "01920000-0000-7000-8000-00000000000a"))
    department = chance.choice((None, "sales", "press"))
    principal = (Principal(None, "guest", "guest", "t", None, "guest") if role == "guest"
                 else Principal(me, f"user:{me}", role, "t", department, chance.choice(("user", "service")),
                                tuple(chance.sample(("sales", "press", "draft"), chance.choice((0, 1, 2))))))
    day, hour = date(2026, chance.choice((1, 2, 11)), chance.randint(1, 28)), chance.choice((0, 7, 8, 12, 17, 18, 23))
    method = chance.choice(sorted(REQUESTS))
    environment = FixedEnvironment().having({
        "hour": hour, "date": day.isoformat(), "weekday": day.isoweekday(),
        "now": f"{day.isoformat()}T{hour:02}:30:00.000000Z",
        "ip": chance.choice(("10.1.2.3", "192.168.0.9", "::1", "203.0.113.7")),
        "device": chance.choice(("desktop", "mobile", "bot")), "method": method, "request": REQUESTS[method],
    })
    return principal, permission, row_of(resource, me, chance), environment


def row_of(resource: Resource, me: str, chance: random.Random) -> Row:
    def value(name: str, column: Column) -> Any:
        if column.nullable and chance.random() < 0.25:
            return None
        if column.values:
            return chance.choice(column.values)
        if column.type is not str:
            return chance.choice((-6, -5, -4, 0, 1, 2, 3, 4)) if column.type is int else chance.random() < 0.5
        if column.format == "uuid":
            return chance.choice((me, me, *PEOPLE, "01920000-0000-7000-8000-00000000000b"))
        if column.format == "date-time":
            return chance.choice(TIMES)
        return chance.choice(("de", "pt-BR") if name == "language" else ("sales", "press", "draft", "published"))

    row = {name: "t" if name == "tenant_id" else value(name, column) for name, column in resource.columns.items()}
    return {name: row[column.same_as or name] for name, column in resource.columns.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=100, help="of each model")
    tally = Tally()
    for number in range(parser.parse_args().pairs):
        for name in MODELS:
            tried(name, number, tally)
    print(tally)


if __name__ == "__main__":
    main()
