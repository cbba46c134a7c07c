"""The reason of a refusal reveals nothing beyond a GET of the row and of the profile.

Under random rules, one value of a row or of the caller changes. If the caller's GETs have the same answers and the
refusal stays, the refusal is the same byte for byte. `make proofs` uses more and other rules: POLICIES and SEED.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace

import pytest

from gatepost.http.pipeline import stages
from models.tables.article import Article
from models.tables.comment import Comment
from models.tables.user import User
from policies.evaluation.principal import FixedEnvironment
from tests.apps import log_in
from tests.databases import on_sqlite, undone  # noqa: F401 - the same on each database
from tests.policies.generated import GROWN, WHO_AND_WHAT, assembled, model

POLICIES, SEED = int(os.environ.get("POLICIES", "30")), int(os.environ.get("SEED", "1"))
CHANGES = 8  # under each set of rules
LINKS = ["g, user, guest", "g, editor, user", "g, manager, user"]
TEXT = model(f"{WHO_AND_WHAT} && ({GROWN} || p.when == 'loud' && r.obj.article_status == 'published' || "
             "p.when == 'no_loud' && r.obj.article_status != 'published' && r.obj.owner_id == r.sub.id)")
OF_EVERY_ROW = ("always", "own", "at_work", "press", "others", "team", "member", "planned", "past", "since", "debt",
                "no_debt", "by:other", "lent_to:sales")
OF_STATES = (*OF_EVERY_ROW, "open", "old_or_open", "team_draft", "state:draft", "desk:press")
CONDITIONS = {
    "article": (*OF_STATES, "language:de"), "comment": (*OF_STATES, "loud", "no_loud"),
    "user": (*OF_EVERY_ROW, "enabled", "disabled"),
}
# Conditions that read fields that are often hidden.
OF_HIDDEN = {"article": ("team", "team_draft"), "comment": ("team", "loud", "no_loud"),
             "user": ("team", "enabled", "disabled", "debt")}
TABLES = {"article": Article, "comment": Comment, "user": User}
PATHS = {"article": "/api/articles/", "comment": "/api/comments/", "user": "/api/users/"}
TIME = "2026-01-01T00:00:00.000000Z"
VALUES = {
    "department": ("press", "sales", None), "status": ("draft", "in_review", "published"), "version": (-7, -4, 1, 3),
    "created_at": (TIME, "2099-01-01T00:00:00.000000Z"), "updated_at": (TIME, "2099-01-01T00:00:00.000000Z"),
    "language": ("de", "en"), "article_status": ("draft", "published"), "active": (True, False),
}
OFTEN_HIDDEN = ("department", "article_status", "active")
OF_CALLER = {"department": ("press", "sales", None), "groups": (["press"], ["sales", "press"], []),
             "role": ("user", "editor", "manager")}


def rules(chance):
    """Draws rules for a few permissions, so that several apply. Most rows can be viewed."""
    found = []
    for resource, conditions in CONDITIONS.items():
        verbs = [*chance.sample(("view", "view_private", "*"), 1), *("update", "delete") * 2]
        if chance.random() < 0.9:
            found.append(f"p, user, {resource}.view, always, allow")
        for verb in verbs:
            when = chance.choice(conditions if chance.random() < 0.5 else OF_HIDDEN[resource])
            found.append(f"p, {chance.choice(('guest', 'user', 'user', 'editor', 'manager'))}, {resource}.{verb}, "
                         f"{when}, {'allow' if chance.random() < 0.7 else 'deny'}")
    if chance.random() < 0.7:
        found.append("p, user, profile.view, always, allow")
    return [*found, "p2, read:rules, article.view", "p2, write:rules, article.*",
            "p2, write:rules, profile.view", "p2, read:rules, user.view"]


@pytest.fixture(scope="module")
def world(app, given):
    """The app with reasons, its callers and its rows. It gets its own rules back at the end."""
    services = app.extensions["gatepost"]
    kept, settings = services.policy.current, services.settings
    services.settings = replace(settings, explain_refusals="self")
    me, you = given.user(department="press", groups=["press"]), given.user(department="sales")
    callers = [log_in(app, me), log_in(app, given.user("editor", department="sales")),
               log_in(app, me, scope="write:rules"), log_in(app, me, scope="read:rules")]
    article = given.article("draft", owner_id=me.id, department="press", language="de")
    rows = [("article", article.id), ("article", given.article(owner_id=you.id, department="sales").id),
            ("comment", given.comment("pending", owner_id=me.id, article_id=article.id).id),
            ("comment", given.comment(owner_id=you.id, department="press").id),
            ("user", me.id), ("user", you.id)]
    yield services, callers, rows
    services.policy.current, services.settings = kept, settings


@pytest.fixture
def noon(monkeypatch):
    monkeypatch.setattr(stages, "RequestEnvironment", lambda *_: FixedEnvironment(hour=12, device="other"))


def change_of(chance, caller, resource, id):
    """Draws a change of one value of the row or of the caller, as (table, id, column, value)."""
    if chance.random() < 0.3:
        column = chance.choice(list(OF_CALLER))
        return User, caller.id, column, chance.choice(OF_CALLER[column])
    columns = [name for name in (*VALUES, *OFTEN_HIDDEN * 3) if name in TABLES[resource]._meta.fields]
    column = chance.choice(columns)
    return TABLES[resource], id, column, chance.choice(VALUES[column])


def answers(caller, resource, id):
    """Returns the answers to GET of the row and of the profile, and to a change and a deletion."""
    path, headers = PATHS[resource] + id, {"X-Request-ID": "the-same"}
    got = [caller.get(one, headers=headers) for one in (path, "/api/profile")]
    tried = [caller.patch(path, {}, headers=headers), caller.delete(path, headers=headers)]
    return [told(answer) for answer in got], [told(answer) for answer in tried]


def told(answer):
    headers = [(name, value) for name, value in answer.headers.items() if name not in ("Date", "traceparent")]
    return answer.status_code, headers, answer.data


@pytest.mark.usefixtures("answers_otherwise")  # no client can store these rows
def test_what_the_caller_may_not_see_makes_no_difference_to_a_refusal(world, noon):
    services, callers, rows = world
    chance, found, told_apart = random.Random(SEED), Counter(), []
    for _ in range(POLICIES):
        services.policy.current = policy = assembled(rules(chance), LINKS, TEXT, services.policy.current.vocabulary)
        for _ in range(CHANGES):
            caller, (resource, id) = chance.choice(callers), chance.choice(rows)
            table, changed, column, value = change_of(chance, caller, resource, id)
            with undone(services.database):
                before = answers(caller, resource, id)
            with undone(services.database):
                table.update({column: value}).where(table.id == changed).execute()
                after = answers(caller, resource, id)
            if before[0] != after[0]:
                found["seen"] += 1
                continue
            for one, other in zip(before[1], after[1], strict=True):
                if one[0] == other[0] == 403:
                    found["told" if b'"meta":' in one[2] else "plain"] += 1
                    if one != other:
                        told_apart.append((column, value, one, other, policy.files["rules.csv"].decode()))
    assert not told_apart, told_apart[0]
    assert found["told"] > POLICIES and found["plain"] > POLICIES, found
