"""Mutations: every shipped line is changed in ten ways or more, and brute force checks the shipped invariants.

The check here shares no code with `policies.comparison`: it reads invariants.csv itself, and calls `Policy.decide` for
every role and user, kind of caller, object and environment that the conditions of model.conf can distinguish.

`python -m tests.policies.invariants.mutations` tries all of them: a policy that breaks an invariant is always refused,
and a policy that breaks none never.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from policies import Policy, PolicyError, Principal
from policies.evaluation.principal import FixedEnvironment
from policies.loading.loader import Broken, from_files
from tests.policies.generated import FILES, WITH_INVARIANTS
from tests.policies.shipped_vocabulary import PERMISSIONS, ROLES, VOCABULARY

ME, OTHER, TENANT = (f"01930000-0000-7000-8000-00000000000{number}" for number in (1, 2, 3))
PERSON = f"user:{ME}"
INVARIANTS = "invariants.csv"
SHIPPED = from_files(FILES, VOCABULARY)
RULES = {name: content.decode() for name, content in FILES.items() if name != "model.conf"}

Mutation = tuple[str, int, str]  # file, line, new text; empty: the line is removed
Facts = tuple[Principal, Mapping[str, Any] | None, FixedEnvironment, bool]


def _own(caller: Principal, row: Mapping[str, Any], shared: bool) -> bool:
    return caller.id is not None and row.get("owner_id") == caller.id


# The conditions that the shipped invariants name, written again by hand.
CONDITIONS: dict[str, Callable[[Principal, Mapping[str, Any], bool], bool]] = {
    "always": lambda caller, row, shared: True,
    "own": _own,
    "shared": lambda caller, row, shared: shared,
    "own_draft": lambda caller, row, shared: _own(caller, row, shared) and row["status"] == "draft",
    "shared_draft": lambda caller, row, shared: shared and row["status"] == "draft",
}


def mutations(file: str, number: int, line: str) -> Iterator[str]:
    """Yields the mutations of a line of a rule file, as a mistake or an attacker may make them."""
    kind, *columns = (column.strip() for column in line.split(","))
    if kind == "g":
        name, inherits = columns
        yield from ("", f"g, {name}, guest", f"g, {inherits}, {name}", f"g, {PERSON}, {name}",
                    f"g, {PERSON}, {inherits}")
        yield from (f"g, {name}, {role}" for role in sorted(set(ROLES) - {inherits, name}))
        return
    if kind != "p":
        scope, act = columns
        resource = act.partition(".")[0]
        yield from ("", f"p2, {scope}, *", f"p2, {scope}, {resource}.*", f"p2, manage:orders, {act}",
                    f"p2, {scope}, user.manage", f"p, guest, {act}, always, allow",
                    f"p, {PERSON}, {act}, always, allow", f"p, user, {resource}.*, always, allow",
                    f"p, guest, {act}, always, deny", f"p2, {scope}, audit.*", f"g, {PERSON}, owner")
        return
    who, act, when, effect = columns
    resource, _, verb = act.partition(".")
    yield ""
    yield f"p, {who}, {act}, {when}, {'deny' if effect == 'allow' else 'allow'}"
    yield f"p, {PERSON}, {act}, {when}, {effect}"
    yield from (f"p, {role}, {act}, {when}, {effect}" for role in ("guest", "user", "support", "developer", "owner")
                if role != who)
    yield from (f"p, {who}, {pattern}, {when}, {effect}" for pattern in (
        f"{resource}.*", f"*.{verb}", "*", "audit.view", "user.update", "contact.view", "order.view") if pattern != act)
    yield from (f"p, {who}, {act}, {word}, {effect}" for word in ("always", "own", "shared", "office_hours", "intranet")
                if word != when)


def every_mutation() -> list[Mutation]:
    """Returns all readable mutations. The others are refused for another reason."""
    return [(file, number, mutated) for file, text in sorted(RULES.items())
            for number, line in enumerate(text.splitlines(), 1) if line and not line.startswith("#")
            for mutated in dict.fromkeys(mutations(file, number, line))]


def mutated(mutation: Mutation) -> dict[str, bytes]:
    """The shipped files with one line replaced."""
    file, number, line = mutation
    lines = RULES[file].splitlines(keepends=True)
    return {**WITH_INVARIANTS, file: "".join([*lines[:number - 1], f"{line}\n", *lines[number:]]).encode()}


def wrongly_judged(mutation: Mutation) -> str | None:
    """Returns the loader's error with this mutation; None if it is right, or the files cannot be read."""
    files = mutated(mutation)
    try:
        bare = from_files({name: content for name, content in files.items() if name != INVARIANTS}, VOCABULARY)
    except PolicyError:
        return None
    breach = next(breaches(bare, changed(bare)), None)
    try:
        from_files(files, VOCABULARY)
    except Broken as error:
        if breach is None:
            return f"{mutation} breaks nothing, and is refused: {error}"
        place = f"{mutation[0]}:{mutation[1]}"
        # The effect of a removed line shows elsewhere: a role inherits nothing any more, an invariant breaks.
        gone = not mutation[2] or mutation[0] == "roles.csv"
        told = gone or place in str(error) or INVARIANTS in {finding.file for finding in error.findings}
        return None if told else f"{mutation} is refused, but {place} is not named: {error}"
    return None if breach is None else f"{mutation} is used, though it breaks {breach}"


def changed(policy: Policy) -> frozenset[str]:
    """Returns the permissions for which this policy has other rules than the shipped one; all if the roles differ."""
    if {(link.name, link.inherits) for link in policy.roles.links} != {
            (link.name, link.inherits) for link in SHIPPED.roles.links}:
        return PERMISSIONS
    old, new = ({(rule.sub, rule.act, rule.when, rule.eft) for rule in one.rules} for one in (SHIPPED, policy))
    acts = [act for _, act, _, _ in old ^ new]
    return frozenset(permission for permission in PERMISSIONS for act in acts if fnmatchcase(permission, act))


def breaches(policy: Policy, permissions: frozenset[str]) -> Iterator[str]:
    """Yields each request for one of these permissions that breaks an invariant."""
    kept = WITH_INVARIANTS[INVARIANTS].decode().splitlines()
    lines = [[column.strip() for column in line.split(",")] for line in kept if line and not line.startswith("#")]
    heirs = {role: policy.roles.closure(role) for role in (*ROLES, PERSON)}
    for permission in sorted(permissions):
        about = [line for line in lines if _covers(line, permission)]
        only = {line[1] for line in about if line[0] == "only"}
        for caller in callers(policy):
            personal = caller.key == PERSON
            listed = bool(only & (heirs[caller.role] | (heirs[PERSON] if personal else frozenset())))
            bounds = [line[3] for line in about if line[:2] == ["atmost", caller.role]]
            promised = [line[3] for line in about if line[:2] == ["always", caller.role]]
            never = any(line[:2] == ["never", caller.role] for line in about) and not personal
            if not (never or (only and not listed) or ((bounds or promised) and not personal)):
                continue
            for row, env, shared in facts(permission, caller):
                given = policy.decide(caller, permission, row, env, lambda *_, shared=shared: shared)
                known = row or {"status": None}
                said = f"{caller.role} {permission} {row} {env} {shared}"
                if given and (never or (only and not listed)):
                    yield said
                if personal:
                    continue
                if given and bounds and not any(CONDITIONS[word](caller, known, shared) for word in bounds):
                    yield said
                if not given and any(CONDITIONS[word](caller, known, shared) for word in promised):
                    yield said


def _covers(line: list[str], permission: str) -> bool:
    exceptions = line[3].split()[1:] if line[0] in ("never", "only") and len(line) > 3 else []
    return fnmatchcase(permission, line[2]) and not any(fnmatchcase(permission, one) for one in exceptions)


def callers(policy: Policy) -> Iterator[Principal]:
    """Yields each role as a user and as a program, a user whom rules name with each role, and the guest."""
    named = {rule.sub for rule in policy.rules} | set(policy.roles.parents)
    yield Principal(None, "guest", "guest", TENANT, None, "guest")
    for role, kind in itertools.product(sorted(set(ROLES) - {"guest"}), ("user", "service")):
        yield Principal(OTHER, f"user:{OTHER}", role, TENANT, "news", kind)
        if PERSON in named:
            yield Principal(ME, PERSON, role, TENANT, "news", kind)


@cache
def facts(permission: str, caller: Principal) -> list[tuple[Mapping[str, Any] | None, FixedEnvironment, bool]]:
    """Returns all objects and environments that the shipped conditions can distinguish."""
    columns = VOCABULARY.by_permission[permission].columns
    choices: dict[str, list[Any]] = {name: [None] for name in columns}
    if "status" in columns:
        choices["status"] = list(columns["status"].values)
    if "article_status" in columns:
        choices["article_status"] = ["published", "draft"]
    if "owner_id" in columns:
        choices["owner_id"] = [caller.id or ME, TENANT, *([None] if columns["owner_id"].nullable else [])]
    if "department" in columns:
        choices["department"] = ["news", "sales", None]
    rows: list[Mapping[str, Any] | None] = [None]
    if columns:
        rows += [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]
    circumstances = [FixedEnvironment(hour=hour, weekday=day, date=date, ip=address)
                     for (hour, day, date), address in itertools.product(
                         ((10, 3, "2026-11-18"), (7, 3, "2026-11-18"), (10, 6, "2026-11-21")),
                         ("10.1.2.3", "203.0.113.7", None))]
    verb = permission.partition(".")[2]
    shareable = caller.role != "guest" and verb in ("view", "update", "delete", "share")
    return [(row, env, shared) for row in rows for env in circumstances
            for shared in ((False, True) if shareable and row is not None else (False,))]


def sample(size: int, seed: int) -> list[Mutation]:
    return random.Random(seed).sample(every_mutation(), size)


def main() -> int:
    began, wrong, everything = time.monotonic(), 0, every_mutation()
    for mutation in everything:
        if said := wrongly_judged(mutation):
            wrong += 1
            print(said)
    print(f"{len(everything)} mutations of {len({one[:2] for one in everything})} lines, {wrong} wrongly judged, "
          f"{time.monotonic() - began:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
