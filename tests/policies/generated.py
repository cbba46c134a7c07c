"""Policies put together: the shipped files, models changed by hand, and lines at random."""

from __future__ import annotations

import random

import pytest

import policies
from policies import Policy, PolicyError
from policies.invariants.lines import INVARIANTS_FILE
from policies.loading.loader import from_files
from policies.loading.oracle import PEOPLE
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

WITH_INVARIANTS = {
    place.name: place.read_bytes()
    for place in policies.SHIPPED.iterdir()
    if place.name == "model.conf" or place.suffix == ".csv"
}
# The invariants would refuse much of what tests write.
FILES = {name: content for name, content in WITH_INVARIANTS.items() if name != INVARIANTS_FILE}
RULE = "p, user, article.view, own, allow"  # a line without a fault
MODEL = FILES["model.conf"].decode()
MATCHER = MODEL[MODEL.index("m = ") : MODEL.index("m2 = ")]
BRANCHES = MATCHER[MATCHER.index("p.when == 'always'") : MATCHER.rindex(")")].rstrip()

# Resources that have the columns of every shipped condition.
RESOURCES = ("article", "product", "order", "comment", "page")
PATTERNS = (*(f"{name}.{end}" for name in RESOURCES for end in ("*", "view", "update", "delete")),
            "art*.v*", "*cle.view", "page.up*", "order.*e")
CONDITIONS = ("always", "own", "own_draft", "own_pending", "published", "active", "anonymous", "same_department",
              "office_hours", "intranet", "shared", "shared_draft")


def model(matcher: str) -> str:
    """The shipped model.conf with another matcher `m`."""
    return MODEL.replace(MATCHER, f"m = {matcher}\n")


WHO_AND_WHAT = "(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && globMatch(r.act, p.act)"
# name: (model.conf, the conditions that it knows)
MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "the shipped model": (MODEL, CONDITIONS),
    "Windows line ends": (MODEL.replace("\n", "\r\n"), CONDITIONS),
    "double quotes": (MODEL.replace("'", '"'), CONDITIONS),
    "on one line": (MODEL.replace("\\\n", " "), CONDITIONS),
    "conditions first": (model(f"({BRANCHES}) && {WHO_AND_WHAT}"), CONDITIONS),
    "roles without single persons": (
        model(f"g(r.sub.role, p.sub) && globMatch(r.act, p.act) && ({BRANCHES})"), CONDITIONS,
    ),
    "roles without inheritance": (
        model(f"r.sub.role == p.sub && globMatch(r.act, p.act) && ({BRANCHES})"), CONDITIONS,
    ),
    "permissions without patterns": (
        model("g(r.sub.role, p.sub) && (r.act == p.act || globMatch(r.act, p.act) && p.act == 'article.*') "
              f"&& ({BRANCHES})"),
        CONDITIONS,
    ),
    "branches repeated in full": (
        model(
            f"{WHO_AND_WHAT} && p.when == 'always' || {WHO_AND_WHAT} && p.when == 'own' && r.sub.id == r.obj.owner_id"
        ),
        ("always", "own"),
    ),
    "new conditions": (
        model(
            f"{WHO_AND_WHAT} && (p.when == 'always' || "
            "p.when == 'late' && (r.env.hour > 17 || r.env.hour <= 7) && !(r.env.weekday == 7) || "
            "p.when == 'living' && r.obj.status != 'archived' "
            "&& ('draft' != r.obj.status || r.obj.owner_id == r.sub.id) || "
            "p.when == 'either' && (r.obj.owner_id == r.sub.id || r.obj.department == r.sub.department) "
            "&& (r.obj.status == 'draft' || r.obj.status == 'published') || "
            "p.when == 'writer' && (r.sub.role == 'editor' || g(r.sub.role, 'manager')) || "
            "p.when == 'not_me' && r.obj.owner_id != r.sub.id || "
            "p.when == 'old' && 3 >= r.obj.version || "
            "p.when == 'same' && r.obj.status == r.obj.department || "
            "p.when == 'since' && r.env.date >= '2026-02-01' && !ipMatch(r.env.ip, '192.168.0.0/16') || "
            "p.when == 'read_only' && (r.env.request == 'read' || r.env.device != 'bot') "
            "&& !(r.sub.kind == 'guest') || "
            "p.when == 'lent' && (shared(r.sub, r.obj, r.act) || r.obj.status == 'published') || "
            "p.when == 'at_home' && ipMatch(r.env.ip, '::1') || "
            "p.when == 'refused' && p.eft == 'deny' && r.obj.owner_id == r.sub.id)"
        ),
        ("always", "late", "living", "either", "writer", "not_me", "old", "same", "since", "read_only", "lent",
         "at_home", "refused"),
    ),
}


def lines(chance: random.Random, conditions: tuple[str, ...], count: int) -> tuple[list[str], list[str]]:
    """Random rules and role lines; roles inherit in one direction only, so that there is no circle."""
    heirs = sorted(set(ROLES) - {"guest"})
    chance.shuffle(heirs)
    roles = [*heirs, "guest"]
    people = [f"user:{person}" for person in PEOPLE]
    inheritance = [
        f"g, {lower}, {higher}"
        for position, lower in enumerate(roles)
        for higher in roles[position + 1 :]
        if chance.random() < 0.15
    ]
    inheritance += [f"g, {person}, {chance.choice(roles)}" for person in people if chance.random() < 0.3]
    rules = [
        ", ".join((
            "p", chance.choice((*roles, *roles, *people)), chance.choice(PATTERNS), chance.choice(conditions),
            "allow" if chance.random() < 0.75 else "deny",
        ))
        for _ in range(count)
    ]
    scopes = [
        f"p2, {chance.choice(('read', 'write'))}:rules, {name}.{chance.choice(('view', '*'))}" for name in RESOURCES
    ]
    return inheritance, rules + scopes


def policy(chance: random.Random, model_name: str, count: int = 12) -> Policy:
    """A random policy of `count` rules under one of MODELS."""
    text, conditions = MODELS[model_name]
    inheritance, rules = lines(chance, conditions, count)
    return assembled(rules, inheritance, text)


def assembled(rules: list[str], inheritance: list[str] | None = None, text: str = MODEL) -> Policy:
    """The policy of these lines, with every shipped role declared. Raises PolicyError as load does."""
    links = inheritance or []
    left = {line.split(",")[1].strip() for line in links}
    links = [*links, *(f"g, {role}, guest" for role in ROLES if role not in {*left, "guest"})]
    return from_files(
        {
            "model.conf": text.encode(),
            "roles.csv": "\n".join([*links, "# end\n"]).encode(),
            "rules.csv": "\n".join([*rules, "# end\n"]).encode(),
        },
        VOCABULARY,
    )


def findings_of(rules: list[str], roles: list[str] | None = None, text: str = MODEL) -> list[str]:
    """The findings for which these lines are refused, as sentences."""
    with pytest.raises(PolicyError) as refused:
        assembled(rules, roles, text)
    return [str(finding) for finding in refused.value.findings]
