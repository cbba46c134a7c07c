"""The decisions of a policy: for one object, as a plan, and as a WHERE, all with the same result."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import peewee as pw
import psycopg
import pytest

import policies
from policies import ALWAYS, IF, NEVER, Policy, Principal
from policies.evaluation.compiled import NO_OBJECT, value_of
from policies.evaluation.grants import Grants
from policies.evaluation.principal import FixedEnvironment
from policies.evaluation.residual import MOST_PLANS
from policies.evaluation.sql import Where, where
from policies.loading.oracle import Oracle
from policies.loading.sample import PEOPLE, TIMES, environment, sample_questions
from tests.databases import new_database
from tests.policies.generated import CONDITIONS, MODELS, WHO_AND_WHAT, assembled, model, policy
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import sampled

ME, OTHER = PEOPLE
NOON = FixedEnvironment(hour=12, ip="10.1.2.3")
NIGHT = replace(NOON, hour=3)
ARTICLE = VOCABULARY.resources["article"]


def caller(role: str = "user", **fields: Any) -> Principal:
    if role == "guest":
        return Principal(None, "guest", "guest", "t", kind="guest", **fields)
    return Principal(ME, f"user:{ME}", role, "t", **fields)


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return policies.load(policies.SHIPPED, VOCABULARY)


@pytest.mark.parametrize(
    ("role", "permission", "row", "allowed"),
    [
        ("guest", "article.view", {"status": "published"}, True),
        ("guest", "article.view", {"status": "draft"}, False),
        ("guest", "article.view", {"status": None}, False),
        ("guest", "article.view", {"owner_id": None, "status": "draft"}, False),
        ("user", "article.update", {"owner_id": ME, "status": "draft"}, True),
        ("user", "article.update", {"owner_id": ME, "status": "published"}, False),
        ("user", "article.update", {"owner_id": OTHER, "status": "draft"}, False),
        ("editor", "article.delete", {"owner_id": OTHER, "status": "published"}, True),
        ("moderator", "article.delete", {"owner_id": OTHER}, False),
        ("admin", "article.delete", {}, True),
        ("admin", "article.unheard_of", {}, False),
        ("stranger", "article.view", {"status": "published"}, False),
    ],
)
def test_a_decision_follows_role_permission_and_object(
    shipped: Policy, role: str, permission: str, row: dict[str, Any], allowed: bool
) -> None:
    assert shipped.decide(caller(role), permission, ARTICLE.row(**row), NOON) is allowed


def test_without_an_object_conditions_on_it_are_not_met(shipped: Policy) -> None:
    assert shipped.decide(caller("guest"), "session.create", None, NOON) is True
    assert shipped.decide(caller(), "article.update", None, NOON, lambda *asked: True) is False


def test_a_row_that_lacks_a_column_is_an_error_and_not_an_answer(shipped: Policy) -> None:
    with pytest.raises(KeyError):
        shipped.decide(caller(), "article.update", {"owner_id": ME}, NOON)


@pytest.mark.parametrize(
    ("scopes", "permission", "covered"),
    [
        (None, "article.view", True),
        ({"read:articles"}, "article.view", True),
        ({"read:articles"}, "article.delete", False),
        ({"manage:articles"}, "article.delete", True),
        ({"write:articles", "read:orders"}, "order.view", True),
        ({"read:everything"}, "article.view", False),
        (set(), "article.view", False),
    ],
)
def test_a_scoped_principal_may_do_what_its_scopes_cover(
    shipped: Policy, scopes: set[str] | None, permission: str, covered: bool
) -> None:
    scoped = caller("admin", scopes=None if scopes is None else frozenset(scopes))
    assert shipped.covers(scoped, permission) is covered
    assert shipped.decide(scoped, permission, ARTICLE.row(), NOON) is covered
    assert shipped.may_ever(scoped, permission, NOON) is covered


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (f"p, user:{ME}, article.delete, always, allow", True),
        (f"p, user:{OTHER}, article.delete, always, allow", False),
        (f"p, user:{ME}, article.delete, published, allow", False),
    ],
)
def test_one_person_can_be_granted_one_thing(rule: str, allowed: bool) -> None:
    exception = assembled([rule, "p, guest, article.view, published, allow"])
    assert exception.decide(caller(), "article.delete", ARTICLE.row(status="draft"), NOON) is allowed


def test_one_person_can_have_a_role_of_their_own() -> None:
    lent = assembled(["p, editor, article.delete, always, allow"], [f"g, user:{ME}, editor"])
    assert lent.decide(caller(), "article.delete", ARTICLE.row(), NOON)
    other = Principal(OTHER, f"user:{OTHER}", "user", "t")
    assert not lent.decide(other, "article.delete", ARTICLE.row(), NOON)


def test_nobody_with_credentials_is_a_guest() -> None:
    """Proofs about guests assume callers without id and groups."""
    lines = assembled(["p, guest, article.view, always, allow", f"p, user:{ME}, article.*, always, allow"],
                      [f"g, user:{ME}, editor"])
    for person in (ME, OTHER):
        stored = Principal(person, f"user:{person}", "guest", "t")
        assert not lines.decide(stored, "article.view", ARTICLE.row(), NOON)
        assert lines.plan(stored, "article.view", NOON).outcome is NEVER
        assert lines.matching_rules(stored.role, stored.key, "article.view") == ()
        assert lines.rule_traces(stored, "article.view", ARTICLE.row(), NOON) == []
        assert lines.deciding(stored, "article.view", ARTICLE.row(), NOON) is None
    assert lines.decide(caller("guest"), "article.view", ARTICLE.row(), NOON)


def test_nothing_is_shared_with_guests_so_that_they_can_list_nothing_by_it() -> None:
    open_to_shares = assembled(["p, guest, article.view, shared, allow", "p, guest, article.update, always, allow",
                                "p, guest, article.update, shared, deny"])
    answers = {role: [open_to_shares.plan(caller(role), f"article.{verb}", NOON).outcome for verb in ("view", "update")]
               for role in ("guest", "user")}
    assert answers == {"guest": [NEVER, ALWAYS], "user": [IF, IF]}
    assert Grants(open_to_shares).of("guest", "article.view").words == ""
    assert Grants(open_to_shares).of("user", "article.view").words == "shared"


def test_a_denial_wins_over_every_allow() -> None:
    strict = assembled(["p, user, article.*, always, allow", "p, user, article.delete, own, deny"])
    assert not strict.decide(caller(), "article.delete", ARTICLE.row(owner_id=ME), NOON)
    assert strict.decide(caller(), "article.delete", ARTICLE.row(owner_id=OTHER), NOON)
    assert strict.decide(caller(), "article.delete", ARTICLE.row(owner_id=None), NOON)


@pytest.mark.parametrize(
    ("rules", "env", "outcome", "allows", "denies"),
    [
        (["article.view, always, allow"], NOON, ALWAYS, None, 0),
        (["article.update, always, allow"], NOON, NEVER, 0, 0),
        (["article.view, own, allow", "article.view, published, allow"], NOON, IF, 2, 0),
        (["article.view, always, allow", "article.view, own, deny"], NOON, IF, None, 1),
        (["article.view, always, allow", "article.view, always, deny"], NOON, NEVER, 0, 0),
        (["article.view, office_hours, allow"], NOON, ALWAYS, None, 0),
        (["article.view, office_hours, allow"], NIGHT, NEVER, 0, 0),
        (["article.view, own, allow", "article.view, office_hours, deny"], NIGHT, IF, 1, 0),
        (["article.view, same_department, allow"], NOON, NEVER, 0, 0),
        (["article.view, own, allow", "article.view, own_draft, allow"], NOON, IF, 1, 0),
    ],
)
def test_a_plan_keeps_only_what_depends_on_the_object(
    rules: list[str], env: Any, outcome: Any, allows: int | None, denies: int
) -> None:
    plan = assembled([f"p, user, {rule}" for rule in rules]).plan(caller(), "article.view", env)
    assert plan.outcome is outcome
    assert (None if plan.allows is None else len(plan.allows)) == allows
    assert len(plan.denies) == denies


def test_an_or_inside_a_condition_becomes_branches_of_their_own() -> None:
    text, _ = MODELS["new conditions"]
    either = assembled(["p, user, article.view, either, allow"], None, text)
    plan = either.plan(caller(department="press"), "article.view", NOON)
    assert plan.allows is not None
    assert len(plan.allows) == 4


def test_equal_plans_are_one_key_and_different_permissions_are_not(shipped: Policy) -> None:
    again = policies.load(policies.SHIPPED, VOCABULARY)
    first, second = (one.plan(caller(), "article.view", NOON) for one in (shipped, again))
    assert first == second and hash(first) == hash(second)
    assert shipped.plan(caller(), "article.view", NIGHT) is first
    assert shipped.plan(caller(), "article.share", NOON) != shipped.plan(caller(), "product.share", NOON)


def test_callers_of_many_groups_do_not_fill_the_memory() -> None:
    named = [f"group{number}" for number in range(11)]
    branches = " || ".join(f"p.when == 'in:{name}' && inGroup(r.sub, '{name}') && r.obj.department == '{name}'"
                           for name in named)
    found = assembled([f"p, user, article.view, in:{name}, allow" for name in named], None,
                      model(f"{WHO_AND_WHAT} && (p.when == 'always' || {branches})"))
    plans = set()
    for number in range(1 << len(named)):
        groups = tuple(name for place, name in enumerate(named) if number >> place & 1)
        principal = Principal(PEOPLE[0], f"user:{PEOPLE[0]}", "user", "t", groups=groups)
        plan = found.plan(principal, "article.view", FixedEnvironment())
        assert len(plan.allows or ()) == len(groups)
        plans.add(plan)
    assert len(plans) == 1 << len(named)
    assert len(found.residual("user", None, "article.view")._plans) <= MOST_PLANS


def test_a_plan_says_whether_the_hour_or_the_address_decided() -> None:
    timed = assembled(["p, user, article.view, office_hours, allow", "p, user, article.update, own, allow"])
    assert timed.plan(caller(), "article.view", NOON).uses_environment
    assert not timed.plan(caller(), "article.update", NOON).uses_environment


def test_the_policy_tells_its_rules_roles_and_conditions_with_their_places(shipped: Policy) -> None:
    rule = next(rule for rule in shipped.rules if rule.act == "article.view" and rule.sub == "guest")
    assert (policies.SHIPPED / rule.file).read_text().splitlines()[rule.line - 1].startswith("p, guest,")
    condition = shipped.conditions["own_draft"]
    assert condition.source == "r.obj.owner_id == r.sub.id && r.obj.status == 'draft'"
    model = (policies.SHIPPED / "model.conf").read_text().splitlines()
    assert "'own_draft'" in model[condition.line - 1]
    chain = shipped.roles.chain("admin", "guest")
    assert chain is not None
    assert [link.inherits for link in chain][-1] == "guest"
    assert shipped.roles.chain("guest", "admin") is None
    assert shipped.version == policies.load(policies.SHIPPED, VOCABULARY).version


# --- rows in a table ---------------------------------------------------------------------------------------


class Row(pw.Model):
    """A row with only the columns that conditions name."""

    id = pw.TextField(primary_key=True)
    owner_id = pw.TextField(null=True)
    department = pw.TextField(null=True)
    status = pw.TextField(null=True)
    version = pw.IntegerField(null=True)
    language = pw.TextField(null=True)
    created_at = pw.TextField(null=True)
    updated_at = pw.TextField(null=True)


class Share(pw.Model):
    object_id = pw.TextField()


NAMES = ("id", "owner_id", "department", "status", "version", "language", "created_at", "updated_at")
VALUES = list(
    itertools.product(
        (None, ME, OTHER),
        (None, "press", "draft"),
        (None, "draft", "published", "pending", "archived"),
        (None, 3, 4, -5),
    )
)
# The other columns repeat their values.
OTHERS = zip(*map(itertools.cycle, ((None, "de", "en", "pt-BR"), (*TIMES, None), (None, *TIMES[1:]))), strict=True)
ROWS = [{"id": f"{number:04}", **dict(zip(NAMES[1:], (*values, *others), strict=True))}
        for number, (values, others) in enumerate(zip(VALUES, OTHERS, strict=False))]
# Every combination of owner, department and status: no shipped condition reads the version.
NO_VERSION = [row for row in ROWS if row["version"] is None]
SHARED = frozenset(row["id"] for row in ROWS if int(str(row["id"])) % 7 == 0)
Select = Callable[[Where], list[str]]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def select(request: pytest.FixtureRequest) -> Iterator[Select]:
    """Runs a Where over ROWS. Returns the ids, once for each branch that finds them."""
    if request.param == "sqlite":
        connection: Any = sqlite3.connect(":memory:")
        dialect: Any = pw.SqliteDatabase(None)
    else:
        connection = psycopg.connect(new_database("postgres", request, migrated=False))
        dialect = pw.PostgresqlDatabase(None)
    cursor = connection.cursor()
    cursor.execute('CREATE TABLE "row" (id text PRIMARY KEY, owner_id text, department text, status text, version int, '
                   "language text, created_at text, updated_at text)")
    cursor.execute("CREATE TABLE share (object_id text)")
    mark = "?" if request.param == "sqlite" else "%s"
    marks = ", ".join([mark] * len(NAMES))
    cursor.executemany(f'INSERT INTO "row" VALUES ({marks})', [tuple(row.values()) for row in ROWS])
    cursor.executemany(f"INSERT INTO share VALUES ({mark})", [(key,) for key in sorted(SHARED)])

    def run(condition: Where) -> list[str]:
        found = []
        with dialect.bind_ctx([Row, Share]):
            for branch in (None,) if condition.allows is None else condition.allows:
                picks = [*condition.denies, *(() if branch is None else (branch,))]
                query = Row.select(Row.id).where(*picks) if picks else Row.select(Row.id)
                cursor.execute(*query.sql())
                found += [key for (key,) in cursor.fetchall()]
        return found

    yield run
    connection.close()


def listed(select: Select, subject: Policy, principal: Principal, permission: str, env: Any,
           indexed: Collection[str] = ()) -> set[str]:
    return set(select(written(subject, principal, permission, env, indexed)))


def written(subject: Policy, principal: Principal, permission: str, env: Any, indexed: Collection[str]) -> Where:
    return where(
        subject.plan(principal, permission, env),
        {name: getattr(Row, name) for name in NAMES},
        lambda operand: pw.Value(value_of(operand)(principal, NO_OBJECT, env), converter=False),
        lambda: Row.id.in_(Share.select(Share.object_id)),
        indexed,
    )


def is_shared(principal: Principal, row: Any, permission: str) -> bool:
    return row["id"] in SHARED


def decided(subject: Policy | Oracle, principal: Principal, permission: str, env: Any,
            rows: Iterable[dict[str, Any]] = ROWS) -> set[str]:
    return {
        str(row["id"])
        for row in rows
        if subject.decide(principal, permission, {**ARTICLE.row(), **row}, env, is_shared)
    }


GROUPS = model(f"{WHO_AND_WHAT} && (p.when == 'mine' && inGroup(r.sub, r.obj.department) && r.obj.version > 3 || "
               "p.when == 'press' && inGroup(r.sub, 'press') && r.obj.status == 'draft' || p.when == 'always' || "
               "p.when == 'theirs' && inGroup(r.sub, r.obj.status))")


@pytest.mark.parametrize("groups", [(), ("press",), ("press", "draft"), ("x", "press", "y")])
@pytest.mark.parametrize("indexed", [(), ("department",)])
@pytest.mark.parametrize("rules", [["mine, allow"], ["mine, allow", "press, allow"], ["always, allow", "theirs, deny"]],
                         ids=" ".join)
def test_groups_are_listed_alike_by_an_index_and_without(
    select: Select, groups: tuple[str, ...], indexed: tuple[str, ...], rules: list[str]
) -> None:
    subject = assembled([f"p, user, article.view, {rule}" for rule in rules], None, GROUPS)
    principal = caller(groups=groups)
    found = listed(select, subject, principal, "article.view", NOON, indexed)
    assert found == decided(subject, principal, "article.view", NOON)
    assert bool(found) is (bool({"press", "draft"} & {*groups}) or "deny" in rules[-1])
    branches = written(subject, principal, "article.view", NOON, indexed).allows or ()
    assert len(branches) >= (len(groups) if indexed and "deny" not in rules[-1] else 0)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_is_listed_exactly_when_it_is_decided(select: Select, name: str) -> None:
    outcomes = set()
    for seed in range(6):
        chance = random.Random(f"list {name}{seed}")
        subject = policy(chance, name)
        asked = itertools.islice(sample_questions(subject, chance), 200)
        callers = [(q[0], q[1]) for _, q in asked if q[1].startswith("article.")][:12]
        for principal, permission in callers:
            env = environment(chance)
            found = listed(select, subject, principal, permission, env)
            assert found == decided(subject, principal, permission, env), (seed, principal, permission, env)
            assert bool(found) <= subject.may_ever(principal, permission, env)
            outcomes.add(subject.plan(principal, permission, env).outcome)
    assert IF in outcomes


@pytest.mark.both_databases
@pytest.mark.parametrize("effect", ["allow", "deny"])
@pytest.mark.parametrize("condition", sampled(CONDITIONS, 2))
def test_missing_values_are_alike_in_python_sql_and_casbin(select: Select, condition: str, effect: str) -> None:
    """Covers missing owners, departments and statuses, in the only rule and in a deny rule."""
    rules = [f"p, user, article.view, {condition}, {effect}"]
    if effect == "deny":
        rules.append("p, user, article.view, always, allow")
    subject = assembled(rules, ["g, user, guest"])
    oracle = Oracle.of(subject)
    for principal in (caller(), caller(department="press"), caller("guest")):
        answer = decided(subject, principal, "article.view", NOON)
        assert answer == listed(select, subject, principal, "article.view", NOON)
        if principal.department is None:
            some = answer & {str(row["id"]) for row in NO_VERSION}
            assert some == decided(oracle, principal, "article.view", NOON, NO_VERSION)


@pytest.mark.parametrize("seed", range(12))
def test_an_allow_never_removes_access_and_a_denial_never_adds_any(seed: int) -> None:
    chance = random.Random(seed)
    base = policy(chance, "the shipped model", 8)
    lines = base.files["rules.csv"].decode().splitlines()[:-1]
    roles = base.files["roles.csv"].decode().splitlines()[:-1]
    more = policy(chance, "the shipped model", 4).rules
    for rule in more:
        line = f"p, {rule.sub}, {rule.act}, {rule.when}"
        allowed = assembled([*lines, f"{line}, allow"], roles)
        denied = assembled([*lines, f"{line}, deny"], roles)
        for _, question in itertools.islice(sample_questions(base, chance), 60):
            before = base.decide(*question)
            assert allowed.decide(*question) >= before
            assert denied.decide(*question) <= before
