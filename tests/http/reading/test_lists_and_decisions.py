"""A list has exactly the rows that single decisions allow, under any rules, on both databases.

The rules are random combinations of hostile parts, and the requests use HTTP. Casbin decides what is right.
"""

from __future__ import annotations

import random

import pytest

from gatepost.http.pipeline import stages
from gatepost.http.request.access import Access
from gatepost.http.request.identity import guest, principal_of
from models.tables.article import Article
from models.tables.order import Order
from policies import SHIPPED, PolicyError
from policies.evaluation.principal import FixedEnvironment
from policies.loading.loader import from_files
from policies.loading.oracle import Oracle
from tests.samples import sampled

pytestmark = pytest.mark.both_databases

NOON = FixedEnvironment(hour=12, ip="10.1.2.3")
# Parts of careless or hostile queries; {me} is one caller's id, {row} one row's.
BRANCHES = {
    "by_id": "r.obj.id == '{row}'",
    "not_id": "r.obj.id != '{row}'",
    "mine_by_literal": "r.obj.owner_id == '{me}'",
    "not_mine": "r.obj.owner_id != r.sub.id",
    "not_dept": "r.obj.department != r.sub.department",
    "home": "r.obj.tenant_id == r.sub.tenant_id",
    "self_equal": "r.obj.department == r.obj.department",
    "id_is_owner": "r.obj.id == r.obj.owner_id",
    "newer": "r.obj.created_at >= '2026-01-01T00:00:00.000000Z'",
    "stamped": "r.obj.updated_at >= r.obj.created_at",
    "young": "r.obj.version <= 1",
    "huge": "r.obj.version < 9007199254740991",
    "negative": "0 > r.obj.version",
    "noon_draft": "(r.env.hour >= 12 && r.obj.status == 'draft' || "
                  "r.env.ip == '10.1.2.3' && r.obj.status == 'pending')",
    "night": "r.env.hour < 6 && r.obj.status == 'draft'",
    "outside": "!ipMatch(r.env.ip, '10.0.0.0/8') && r.obj.status != 'draft'",
    "device_dept": "r.obj.department == r.env.device",
    "contradiction": "r.obj.status == 'draft' && r.obj.status == 'pending'",
    "lent_or_mine": "(shared(r.sub, r.obj, r.act) || r.obj.owner_id == r.sub.id) && r.obj.status != 'archived'",
    "lent_and_sales": "shared(r.sub, r.obj, r.act) && r.obj.department == 'sales'",
    "editors_drafts": "g(r.sub.role, 'editor') && r.obj.status == 'draft'",
    "key_is": "r.sub.key == 'user:{me}' && r.obj.status == 'pending'",
    "states": "(r.obj.status in['draft', 'pending', 'archived'])",
    "more_than_minus_one": "r.obj.version > -1",
    "of_press": "inGroup(r.sub, 'press')",
    "not_of_press": "!inGroup(r.sub, 'press') && r.obj.status == 'draft'",
    "my_groups": "inGroup(r.sub, r.obj.department)",
    "my_groups_states": "inGroup(r.sub, r.obj.department) && (r.obj.status in['draft', 'pending'])",
    "since": "r.obj.created_at > r.env.now",
    "before": "(r.obj.created_at <= r.env.now || r.obj.status == 'draft' && "
              "r.env.now > '2026-01-01T00:00:00.000000Z')",
    "wide": "(r.obj.status == 'draft' || r.obj.status == 'pending' || r.obj.department == 'sales') && "
            "(r.obj.owner_id == r.sub.id || r.obj.version > 0) && (r.obj.status != 'x' || r.obj.status == 'x')",
}
SHIPPED_CONDITIONS = ("always", "own", "own_draft", "published", "anonymous", "same_department", "office_hours",
                      "intranet", "shared", "shared_draft")
LISTS = (("/api/articles", "article.view", Article), ("/api/orders", "order.view", Order))
WHO = ("guest", "user", "support", "editor", "moderator", "manager", "user:{me}", "user:{you}")
WHAT = ("article.view", "order.view", "*.view", "article.*", "order.*", "*r*.view", "*e.v*")


@pytest.fixture(scope="module")
def rows(given, callers):
    """Articles and orders of every kind: with an owner or none, of a department or of none, shared or not."""
    me, you, chance = callers["me"].id, callers["you"].id, random.Random(7)
    made = {Article: [], Order: []}
    for owner in (None, me, you):
        for department in (None, "sales", "press"):
            made[Article] += [given.article(status, owner_id=owner, department=department)
                              for status in ("draft", "published", "archived")]
            made[Order] += [given.order(status, owner_id=owner, department=department)
                            for status in ("pending", "approved")]
    for resource, found in (("article", made[Article]), ("order", made[Order])):
        for row in chance.sample(found, 9):
            for grantee in chance.sample((f"user:{me}", f"user:{you}", "group:press", "role:user", "role:guest"), 2):
                given.share(resource, row, grantee, chance.choice(("read", "write", "manage")))
    return made


@pytest.fixture(scope="module")
def callers(as_role, as_user, elsewhere):
    for_all = elsewhere.article(), elsewhere.order()  # no caller of this tenant may ever see these
    assert all(for_all)
    return {
        "guest": as_role("guest"),
        "me": as_user("user", department="sales", groups=["press"]),
        "you": as_user("user"),
        "editor": as_user("editor", department="press"),
        "manager": as_user("manager", department="sales", groups=["press", "sales"]),
    }


@pytest.fixture
def noon(monkeypatch):
    monkeypatch.setattr(stages, "RequestEnvironment", lambda *_: NOON)


class Rules:
    """Random rules about articles and orders, and the policies that they make."""

    def __init__(self, seed, vocabulary, me, you, row):
        self.chance, self.vocabulary = random.Random(seed), vocabulary
        self.names = {"me": me, "you": you, "row": row}
        self.conditions = (*SHIPPED_CONDITIONS, *self.chance.sample(sorted(BRANCHES), 8))
        added = "".join(f"    p.when == '{name}' && {BRANCHES[name]} || \\\n"
                        for name in self.conditions[len(SHIPPED_CONDITIONS):]).replace("{", "{{").replace("}", "}}")
        for name in self.names:
            added = added.replace("{{" + name + "}}", "{" + name + "}")
        always = "    p.when == 'always' || \\\n"
        model = (SHIPPED / "model.conf").read_text()
        self.model = model.replace(always, always + added.format(**self.names))
        self.roles = (SHIPPED / "roles.csv").read_text()
        if self.chance.random() < 0.5:
            self.roles = f"g, user:{me}, {self.chance.choice(('editor', 'support', 'guest'))}\n" + self.roles

    def line(self, effect):
        who = self.chance.choice(WHO).format(**self.names)
        return f"p, {who}, {self.chance.choice(WHAT)}, {self.chance.choice(self.conditions)}, {effect}"

    def lines(self):
        return ["p, admin, *, always, allow", *(self.line("allow") for _ in range(self.chance.randint(1, 7))),
                *(self.line("deny") for _ in range(self.chance.randint(0, 3)))]

    def policy(self, lines):
        files = {"model.conf": self.model, "roles.csv": self.roles, "rules.csv": "\n".join([*lines, "# end\n"])}
        return from_files({name: text.encode() for name, text in files.items()}, self.vocabulary)

    def any(self):
        """Draws some lines and their policy. Draws again if they are refused at load (wrong columns for `*.view`)."""
        while True:
            lines = self.lines()
            try:
                return lines, self.policy(lines)
            except PolicyError as refused:
                assert not any(found.file == "model.conf" for found in refused.findings), refused

    def with_one_more(self, lines, effect):
        while True:
            try:
                return self.policy([*lines, self.line(effect)])
            except PolicyError:
                continue


@pytest.fixture
def rules(app, rows, callers, request):
    vocabulary = app.extensions["gatepost"].registry.vocabulary
    return Rules(request.param, vocabulary, callers["me"].id, callers["you"].id, rows[Article][4].id)


def listed(caller, path):
    """Returns the ids of a list, read in small pages. Checks that the service counts as many rows."""
    found, cursor = [], ""
    while cursor is not None:
        answer = caller.get(f"{path}?limit=7" + (f"&cursor={cursor}" if cursor else ""))
        if answer.status_code in (401, 403):
            return set()
        page = answer.get_json()
        assert answer.status_code == 200, page
        found += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert len(found) == len(set(found))
    assert caller.get(f"{path}?page=1", headers={"Prefer": "count=exact"}).get_json()["total"] == len(found)
    return set(found)


def principal(given, caller):
    return guest(given.tenant_id) if caller.user is None else principal_of(caller.user)


@pytest.mark.parametrize("rules", sampled(range(10), 2), indirect=True)
def test_a_row_is_listed_exactly_when_it_is_decided_and_counted(app, given, callers, rows, rules, noon):
    services = app.extensions["gatepost"]
    _, services.policy.current = rules.any()
    oracle, chance = Oracle.of(services.policy.current), random.Random(1)
    for name, caller in callers.items():
        who = principal(given, caller)
        access = Access(services.policy.current, who, NOON)
        for path, permission, model in LISTS:
            found = listed(caller, path)
            with given.database.connected():
                decided = {row.id for row in rows[model] if access.allows(permission, row.__data__)}
                for row in chance.sample(rows[model], 4):
                    asked = (who, permission, row.__data__, NOON, access.shared)
                    assert oracle.decide(*asked) is (row.id in decided), (name, row.__data__)
            assert found == decided, name
            row = chance.choice(rows[model])
            assert (caller.get(f"{path}/{row.id}").status_code == 200) is (row.id in decided), name


@pytest.mark.parametrize("rules", range(100, 105), indirect=True)
def test_one_more_allow_takes_nothing_away_and_one_more_deny_adds_nothing(app, callers, rows, rules, noon):
    services = app.extensions["gatepost"]
    lines, policy = rules.any()
    for effect in ("allow", "deny"):
        other = rules.with_one_more(lines, effect)
        for name, caller in callers.items():
            for path in ("/api/articles", "/api/orders"):
                services.policy.current = policy
                before = listed(caller, path)
                services.policy.current = other
                after = listed(caller, path)
                assert before <= after if effect == "allow" else after <= before, (name, effect)


@pytest.mark.parametrize("rules", [200], indirect=True)
def test_no_rule_reaches_another_tenant(app, callers, elsewhere, rules, noon):
    article = elsewhere.article("published")
    elsewhere.share("article", article, f"user:{callers['me'].id}", "manage")
    services = app.extensions["gatepost"]
    services.policy.current = rules.policy([
        "p, guest, *.view, always, allow", "p, guest, article.*, always, allow",
        f"p, user:{callers['me'].id}, article.*, shared, allow"])
    for caller in callers.values():
        assert caller.get(f"/api/articles/{article.id}").status_code == 404
        assert caller.patch(f"/api/articles/{article.id}", {"title": "Mine"}).status_code == 404
        assert article.id not in listed(caller, "/api/articles")


@pytest.mark.parametrize("rules", [201], indirect=True)
def test_an_import_is_allowed_line_by_line(app, callers, rules, noon):
    services, me = app.extensions["gatepost"], callers["me"]
    services.policy.current = rules.policy([
        "p, user, article.view, always, allow", "p, user, article.create, own, allow",
        "p, user, article.import, own, allow", f"p, user:{callers['you'].id}, article.import, own, deny"])
    line = b'{"title": "Carried in", "slug": "%s", "body": "Words."}'
    statuses = [caller.client.post("/api/articles/import", data=line % name.encode(), headers={
        **caller.headers, "Content-Type": "application/x-ndjson"}).status_code
        for name, caller in (("carried-by-me", me), ("carried-by-you", callers["you"]))]
    assert statuses == [200, 400], "the rule is about rows, so the second fails by its lines"
