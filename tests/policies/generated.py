"""Generated policies: the shipped files, models changed by hand, and random rules."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import policies
from policies import Policy, PolicyError
from policies.invariants.lines import INVARIANTS_FILE
from policies.loading.loader import from_files
from policies.loading.sample import PEOPLE
from policies.syntax.vocabulary import Function, Vocabulary
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

WITH_INVARIANTS = {
    place.name: place.read_bytes()
    for place in policies.SHIPPED.iterdir()
    if place.name == "model.conf" or place.suffix == ".csv"
}
# The invariants would refuse many rules of tests.
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
# The grammar beside comparisons: with and without brackets, on each attribute that it can read.
GROWN = " || \\\n    ".join((
    "p.when == 'always'",
    "p.when == 'own' && r.obj.owner_id == r.sub.id",
    "p.when == 'enabled' && r.obj.active == 1",
    "p.when == 'disabled' && r.obj.active == 0 && r.obj.owner_id != r.sub.id",
    "p.when == 'open' && (r.obj.status in['draft', 'in_review'])",
    "p.when == 'old_or_open' && (r.obj.version > 2 || (r.obj.status in['draft']) && (r.obj.version in[-5, 1, 0]))",
    "p.when == 'at_work' && (r.env.hour in[8, 12, 17]) && (r.sub.role in['editor', 'user', 'manager'])",
    "p.when == 'press' && inGroup(r.sub, 'press')",
    "p.when == 'others' && !inGroup(r.sub, 'press') && r.obj.owner_id == r.sub.id",
    "p.when == 'team' && inGroup(r.sub, r.obj.department)",
    "p.when == 'team_draft' && (inGroup(r.sub, r.obj.department) || inGroup(r.sub, 'sales')) "
    "&& r.obj.status == 'draft'",
    "p.when == 'head' && inGroup(r.sub, 'head-', r.obj.department)",
    "p.when == 'deputy' && (inGroup(r.sub, 'head-p', r.obj.department) || inGroup(r.sub, 'head-', r.obj.status)) "
    "&& r.obj.version >= 0",
    "p.when == 'member' && inGroup(r.sub, 'sales')",
    "p.when == 'planned' && r.obj.created_at > r.env.now",
    "p.when == 'past' && r.obj.updated_at <= r.env.now && !(r.env.now < '2026-02-01T00:00:00.000000Z')",
    "p.when == 'since' && r.env.now >= '2026-11-21T10:00:00.000001Z'",
    "p.when == 'aged' && olderThan(r.obj.created_at, 'P90D')",
    "p.when == 'recent' && r.obj.status == 'draft' && youngerThan(r.obj.updated_at, 'P1DT6H')",
    "p.when == 'between' && olderThan(r.obj.created_at, 'PT12H') && youngerThan(r.obj.created_at, 'P46W')",
    "p.when == 'odd_age' && (youngerThan(r.obj.created_at, 'PT1S') || olderThan(r.obj.updated_at, 'P324DT10H'))",
    "p.when == 'debt' && r.obj.version < -4",
    "p.when == 'no_debt' && -5 <= r.obj.version",
    "p.when == 'language:' + r.obj.language",
    "p.when == 'state:' + r.obj.status && r.obj.version >= -1",
    "(p.when == 'desk:' + r.sub.department && r.obj.status == 'draft' || p.when == 'by:' + r.env.device)",
    "p.when == 'lent_to:' + r.sub.department && shared(r.sub, r.obj, r.act)",
))
GROWN_MODEL = model(f"{WHO_AND_WHAT} && ({GROWN})")
GROWN_CONDITIONS = (
    "always", "own", "enabled", "disabled", "open", "old_or_open", "at_work", "press", "others", "team", "team_draft",
    "member", "head", "deputy", "planned", "past", "since", "aged", "recent", "between", "odd_age", "debt", "no_debt",
    "language:de", "language:pt-BR", "state:draft", "state:in_review", "desk:press", "by:bot", "by:other",
    "lent_to:sales",
)
# Permissions whose objects have the columns of these conditions, if not all of RESOURCES have them.
OF_USERS, OF_TEXTS = ("user.*", "user.view", "us*r.*e"), ("article.*", "page.view", "page.up*", "art*.v*")
PATTERNS_OF = {"enabled": OF_USERS, "disabled": OF_USERS, "language:de": OF_TEXTS, "language:pt-BR": OF_TEXTS}
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
    **{
        f"truth values, lists, groups, times and parameters{how}": (text, GROWN_CONDITIONS) for how, text in (
            ("", GROWN_MODEL),
            (", first", model(f"({GROWN}) && {WHO_AND_WHAT}")),
            (" in double quotes", GROWN_MODEL.replace("'", '"')),
        )
    },
}
# A model with conditions of plugins. The comparison does not need the functions beside the policy's files.
NEAR = Function("near", (("obj", "department"), ("sub", "department")), (str,),
                lambda there, here, word: there is not None and there in (here, word))
LONGER = Function("longer", (("obj", "status"), ("env", "hour")), (int, str),
                  lambda status, hour, least, word: len(f"{status or ''}{hour or ''}{word}") >= least)
WITH_FUNCTIONS = replace(VOCABULARY, functions={"near": NEAR, "longer": LONGER})
OF_PLUGINS = {
    "functions of plugins": (
        model(f"{WHO_AND_WHAT} && (p.when == 'always' || p.when == 'near' && near(r.sub, r.obj, r.env, 'press') || "
              "p.when == 'far' && !(r.sub.kind == 'guest') && near(r.sub, r.obj, r.env, 'a:b') || "
              "p.when == 'long:' + r.obj.status && longer(r.sub, r.obj, r.env, -1, 'x y') || "
              "p.when == 'longer' && longer(r.sub, r.obj, r.env, 9, '') )"),
        ("always", "near", "far", "long:draft", "longer"),
    ),
}

# The verbs of permissions with a fallback, and the verb that decides each until a rule names it.
FALLBACKS = {"set_cost": "update", "view_cost": "view", "set_owner": "manage"}


def with_fallbacks(vocabulary: Vocabulary) -> Vocabulary:
    """Returns the vocabulary with a permission for each of `FALLBACKS`, of the collections."""
    resources = dict(vocabulary.resources)
    for name in RESOURCES:
        resource = vocabulary.resources[name]
        fallbacks = {f"{name}.{verb}": f"{name}.{decides}" for verb, decides in FALLBACKS.items()}
        resources[name] = replace(resource, permissions=resource.permissions | fallbacks.keys(), fallbacks=fallbacks)
    return replace(vocabulary, resources=resources)


WITH_FALLBACKS = with_fallbacks(WITH_FUNCTIONS)


def lines(chance: random.Random, conditions: tuple[str, ...], count: int) -> tuple[list[str], list[str]]:
    """Draws rules and role lines. Roles inherit in one direction only, so that there is no cycle."""
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
    rules = []
    for _ in range(count):
        who, when = chance.choice((*roles, *roles, *people)), chance.choice(conditions)
        what = chance.choice(PATTERNS_OF.get(when, PATTERNS))
        rules.append(f"p, {who}, {what}, {when}, {'allow' if chance.random() < 0.75 else 'deny'}")
    scopes = [
        f"p2, {chance.choice(('read', 'write'))}:rules, {name}.{chance.choice(('view', '*'))}" for name in RESOURCES
    ]
    return inheritance, rules + scopes


def policy(chance: random.Random, model_name: str, count: int = 12) -> Policy:
    """Draws a policy of `count` rules under one of MODELS or OF_PLUGINS."""
    text, conditions = (MODELS | OF_PLUGINS)[model_name]
    inheritance, rules = lines(chance, conditions, count)
    return assembled(rules, inheritance, text, WITH_FUNCTIONS if model_name in OF_PLUGINS else VOCABULARY)


def policy_with_fallbacks(chance: random.Random, model_name: str) -> Policy:
    """Draws a policy whose rules also name permissions with a fallback."""
    drawn = policy(chance, model_name)
    conditions = sorted(({rule.when for rule in drawn.rules} | {"always"}) - PATTERNS_OF.keys())
    verbs = (*FALLBACKS, "view_*", "set_*")
    further = [f"p, {chance.choice((*drawn.roles.names, f'user:{PEOPLE[0]}'))}, "
               f"{chance.choice(RESOURCES)}.{chance.choice(verbs)}, {chance.choice(conditions)}, "
               f"{chance.choice(('allow', 'allow', 'deny'))}" for _ in range(chance.randint(0, 6))]
    return from_files({**drawn.files, "further.csv": "\n".join([*further, "# end\n"]).encode()}, WITH_FALLBACKS)


def assembled(rules: list[str], inheritance: list[str] | None = None, text: str = MODEL,
              vocabulary: Vocabulary = VOCABULARY) -> Policy:
    """Returns the policy of these lines, with every shipped role declared. Raises PolicyError like load."""
    links = inheritance or []
    left = {line.split(",")[1].strip() for line in links}
    links = [*links, *(f"g, {role}, guest" for role in ROLES if role not in {*left, "guest"})]
    return from_files(
        {
            "model.conf": text.encode(),
            "roles.csv": "\n".join([*links, "# end\n"]).encode(),
            "rules.csv": "\n".join([*rules, "# end\n"]).encode(),
        },
        vocabulary,
    )


def findings_of(rules: list[str], roles: list[str] | None = None, text: str = MODEL) -> list[str]:
    """Returns the findings that refuse these lines, as sentences."""
    with pytest.raises(PolicyError) as refused:
        assembled(rules, roles, text)
    return [str(finding) for finding in refused.value.findings]
