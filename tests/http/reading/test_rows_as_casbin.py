"""A list, its total, its export and its items are the rows that `casbin.Enforcer` allows, on both databases.

The rules are put together at random from the conditions of the grown grammar: truth values, lists, groups, times, and
parameters. `make proofs` takes more of them, and others: POLICIES and SEED.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections import Counter

import pytest

from gatepost.http.pipeline import stages
from gatepost.http.request.access import Access
from gatepost.http.request.identity import guest, principal_of
from models.tables.article import Article
from models.tables.order import Order
from models.tables.user import User
from policies.evaluation.principal import FixedEnvironment
from policies.loading.loader import from_files
from policies.loading.oracle import Oracle
from policies.loading.sample import TIMES
from policies.syntax.expression import columns
from policies.syntax.model import read_model
from tests.policies.generated import FILES, GROWN_CONDITIONS, GROWN_MODEL
from tests.samples import sampled

pytestmark = pytest.mark.both_databases

POLICIES, SEED = int(os.environ.get("POLICIES", "5")), int(os.environ.get("SEED", "1"))
NOW = FixedEnvironment(hour=12, now=TIMES[2], device="other")
LATER, YESTERDAY = "2026-11-21T10:00:00.000002Z", "2026-11-20T10:00:00.000001Z"
LISTS = {"article": ("/api/articles", Article), "order": ("/api/orders", Order), "user": ("/api/users", User)}
CONDITIONS = read_model(GROWN_MODEL.encode())[0].conditions


@pytest.fixture(scope="module")
def callers(as_role, as_user):
    return {
        "guest": as_role("guest"),
        "me": as_user("user", department="sales", groups=["press", "head-sales"]),
        "you": as_user("user", department="press"),
        "editor": as_user("editor", department="press", groups=["sales", "press", "nobody's", "head-draft"]),
    }


@pytest.fixture(scope="module")
def rows(given, elsewhere, callers):
    """Articles, orders and users with and without every value that a condition reads, as stored."""
    me, you, chance = callers["me"].id, callers["you"].id, random.Random(7)
    turns = {"version": itertools.cycle((1, -5, 0, 3, -4, 2)), "active": itertools.cycle((True, False, True)),
             "created_at": itertools.cycle((*TIMES, LATER, YESTERDAY, TIMES[0])),
             "updated_at": itertools.cycle((LATER, *TIMES, TIMES[2], YESTERDAY)),
             "language": itertools.cycle(("de", "en", "pt-BR"))}

    def more(*names):
        return {name: next(turns[name]) for name in ("version", "created_at", "updated_at", *names)}

    shared = []
    for owner, department in itertools.product((None, me, you), (None, "sales", "press")):
        shared += [("article", given.article(status, owner_id=owner, department=department, **more("language")))
                   for status in ("draft", "in_review", "published")]
        shared += [("order", given.order("pending", owner_id=owner, department=department, **more()))]
        shared += [("user", given.user(department=department, **more("active")))]
    for resource, row in chance.sample(shared, 20):
        given.share(resource, row, chance.choice((f"user:{me}", f"user:{you}", "group:press", "role:editor")))
    assert elsewhere.article() and elsewhere.order(), "no caller of this tenant may ever see these"
    with given.database.connected():
        return {resource: [row.__data__ for row in model.select().where(model.tenant_id == given.tenant_id)]
                for resource, (_, model) in LISTS.items()}


@pytest.fixture
def now(monkeypatch):
    monkeypatch.setattr(stages, "RequestEnvironment", lambda *_: NOW)


class Rules:
    """Rules in the grown grammar, about the vocabulary of an app."""

    def __init__(self, app):
        self.vocabulary = app.extensions["gatepost"].registry.vocabulary

    def words(self, resource):
        """The conditions that this resource has the columns for."""
        known = self.vocabulary.resources[resource].columns.keys()
        return [word for word in GROWN_CONDITIONS if columns(CONDITIONS[word].expression) <= known]

    def policy(self, *lines):
        files = {"model.conf": GROWN_MODEL.encode(), "roles.csv": FILES["roles.csv"],
                 "rules.csv": "\n".join((*lines, "# end\n")).encode()}
        return from_files(files, self.vocabulary)

    def random(self, chance):
        """Draws a few allow rules and fewer deny rules, for views, exports, or both."""
        lines = []
        for resource in LISTS:
            for effect in ["allow"] * chance.randint(1, 4) + ["deny"] * chance.randint(0, 2):
                who, what = chance.choice(("guest", "guest", "user", "editor")), chance.choice(("view", "*", "export"))
                lines.append(f"p, {who}, {resource}.{what}, {chance.choice(self.words(resource))}, {effect}")
        return self.policy(*chance.sample(lines, len(lines)))


@pytest.fixture(scope="module")
def rules(app):
    return Rules(app)


class Asked:
    """One caller, one list, and what Casbin allows on its rows."""

    def __init__(self, app, given, caller, resource, rows):
        policy = app.extensions["gatepost"].policy.current
        self.caller, self.path, self.rows = caller, LISTS[resource][0], rows[resource]
        who = guest(given.tenant_id) if caller.user is None else principal_of(caller.user)
        access, oracle = Access(policy, who, NOW), Oracle.of(policy)

        def allowed(verb, row):
            return oracle.decide(who, f"{resource}.{verb}", row, NOW, access.shared)

        with given.database.connected():
            self.visible = {row["id"] for row in self.rows if allowed("view", row)}
            self.exported = {row["id"] for row in self.rows if row["id"] in self.visible and allowed("export", row)}

    def check(self, chance, asked):
        """Checks that the list, its total, its export and a few items have exactly the rows that Casbin allows."""
        assert self.listed() == self.visible, asked
        answer = self.caller.get(f"{self.path}/export")
        if answer.status_code in (401, 403):
            assert self.exported == set(), asked
        else:
            lines = [json.loads(line) for line in answer.get_data(as_text=True).splitlines()]
            assert sorted(line["id"] for line in lines) == sorted(self.exported), asked
        for row in chance.sample(self.rows, 5):
            status = self.caller.get(f"{self.path}/{row['id']}").status_code
            assert (status == 200) is (row["id"] in self.visible), (asked, row)

    def listed(self):
        """Returns the ids of the list, read by cursor. Checks that their number is the total."""
        found, query = [], "limit=7"
        while query:
            answer = self.caller.get(f"{self.path}?{query}")
            if answer.status_code in (401, 403):
                return set()
            page = answer.get_json()
            assert answer.status_code == 200, page
            found += [item["id"] for item in page["items"]]
            query = page["next_cursor"] and f"limit=7&cursor={page['next_cursor']}"
        counted = self.caller.get(f"{self.path}?page=1", headers={"Prefer": "count=exact"}).get_json()
        assert counted["total"] == len(found) == len(set(found))
        return set(found)


@pytest.mark.parametrize("seed", [
    pytest.param(1000 * SEED + number, marks=[pytest.mark.slow] if number > 1 else []) for number in range(POLICIES)])
def test_a_row_is_listed_counted_exported_and_shown_exactly_when_casbin_allows_it(
    app, given, callers, rows, rules, now, seed
):
    chance = random.Random(seed)
    app.extensions["gatepost"].policy.current = policy = rules.random(chance)
    for (name, caller), resource in itertools.product(callers.items(), LISTS):
        Asked(app, given, caller, resource, rows).check(
            chance, f"{name} asks for {resource}s under\n{policy.files['rules.csv'].decode()}")


@pytest.mark.parametrize("condition", sampled(GROWN_CONDITIONS, 4))
def test_each_condition_alone_lists_what_casbin_allows(app, given, callers, rows, rules, now, condition):
    resource = next(resource for resource in LISTS if condition in rules.words(resource))
    app.extensions["gatepost"].policy.current = rules.policy(f"p, guest, {resource}.view, {condition}, allow")
    listed = Counter()
    for caller in callers.values():
        asked = Asked(app, given, caller, resource, rows)
        assert asked.listed() == asked.visible
        listed[bool(asked.visible)] += 1
    assert listed[True] or condition == "by:bot", "somebody sees something, but for a device that nobody has"
