"""Generated pairs of policies: a diff lists what Casbin answers differently, and nothing that it answers alike."""

from __future__ import annotations

import random
from datetime import date
from typing import Any

import pytest

import policies
from policies import Policy
from policies.comparison.candidates import REQUESTS
from policies.evaluation.compiled import Row
from policies.evaluation.principal import FixedEnvironment, Principal
from policies.evaluation.rights import rights_for
from policies.loading.loader import from_files
from policies.loading.oracle import PEOPLE, Oracle
from policies.questions.changes import Changes
from policies.questions.diff import diff
from policies.syntax.vocabulary import Column, Resource
from tests.policies.generated import FILES, MODELS, assembled, lines
from tests.policies.shipped_vocabulary import VOCABULARY

PAIRS, QUESTIONS = 3, 150  # of each model
# Its lines about article.* hold for every permission, also of resources that lack the columns: undecided.
LOOSE = "permissions without patterns"


def pair(seed: str, name: str) -> tuple[Policy, Policy]:
    """A generated policy, and the same with a few lines taken away, added, or moved."""
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
    """The listed changes that Casbin does not confirm; those of scopes have no request that shows them."""
    before, after = Oracle(old.files), Oracle(new.files)
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
    """The random requests, of `count`, that are answered otherwise though the diff lists nothing of the kind.

    A person changes with their role, or by what is listed for the person with that role.
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
    """A request that there can be: columns hold what they can, and day and weekday agree."""
    permission = chance.choice([one for one in sorted(VOCABULARY.by_permission) if one.split(".")[0] in (
        "article", "product", "order", "comment", "page")])
    resource, role = VOCABULARY.by_permission[permission], chance.choice(sorted(VOCABULARY.roles))
    me = chance.choice((*PEOPLE, "01920000-0000-7000-8000-00000000000a"))
    department = chance.choice((None, "sales", "press"))
    principal = (Principal(None, "guest", "guest", "t", None, "guest") if role == "guest"
                 else Principal(me, f"user:{me}", role, "t", department, chance.choice(("user", "service"))))
    day = date(2026, chance.choice((1, 2, 11)), chance.randint(1, 28))
    method = chance.choice(sorted(REQUESTS))
    environment = FixedEnvironment().having({
        "hour": chance.choice((0, 7, 8, 12, 17, 18, 23)), "date": day.isoformat(), "weekday": day.isoweekday(),
        "ip": chance.choice((None, "10.1.2.3", "192.168.0.9", "::1", "203.0.113.7")),
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
            return chance.choice((0, 1, 2, 3, 4)) if column.type is int else chance.random() < 0.5
        if column.format == "uuid":
            return chance.choice((me, me, *PEOPLE, "01920000-0000-7000-8000-00000000000b"))
        return chance.choice(("sales", "press", "draft", "published"))

    return {name: "t" if name == "tenant_id" else value(name, column) for name, column in resource.columns.items()}


@pytest.mark.parametrize("name", MODELS)
def test_each_change_is_confirmed_by_casbin_and_none_is_missing(name: str) -> None:
    listed = 0
    for number in range(PAIRS):
        seed = f"{name} {number}"
        old, new = pair(seed, name)
        found = diff(old, new)
        assert not found.undecided or name == LOOSE
        assert unproved(found, old, new) == [], seed
        assert unlisted(found, old, new, random.Random(seed), QUESTIONS) == [], seed
        listed += len(found.all)
    assert listed, "of several edits some change something"


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return policies.load(policies.SHIPPED, VOCABULARY)


@pytest.mark.parametrize("name", sorted(name for name in FILES if name.endswith(".csv")))
def test_each_shipped_line_that_is_taken_away_is_found_unless_others_give_the_same(shipped: Policy, name: str) -> None:
    content = FILES[name].decode()
    for number, line in enumerate(content.splitlines(), 1):
        if not line.startswith(("p,", "p2,", "g,")):
            continue
        new = from_files({**FILES, name: content.replace(f"{line}\n", "", 1).encode()}, VOCABULARY)
        found = diff(shipped, new)
        assert not found.undecided
        if found:
            assert all(f"{name}:{number}" in change.gone for change in found), f"{line}: the line itself is named"
            assert unproved(found, shipped, new) == []
        else:
            assert unlisted(found, shipped, new, random.Random(line), 10 * QUESTIONS) == []
