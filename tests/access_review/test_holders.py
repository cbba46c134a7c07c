"""The users whom one query finds for a permission are those whom `decide` allows in some environment."""

from __future__ import annotations

import itertools
import os
import random
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

import pytest

from blueprints.access_review.holders import Holders, ranks
from gatepost.http.request.access import Access
from gatepost.http.request.identity import guest, principal_of
from models import paging
from models.paging import Key, sort_order
from models.tables.share import Share, of_object
from models.tables.user import User
from policies import NEVER, Policy, Principal
from policies.evaluation.principal import FixedEnvironment
from policies.evaluation.rights import rights_for
from policies.questions.holders import HolderQuestion, Undetermined
from policies.syntax.vocabulary import Function
from tests.http.worlds import METHODS, World, of_plugin, under

pytestmark = pytest.mark.both_databases

POLICIES, SEED = int(os.environ.get("POLICIES", "2")), int(os.environ.get("SEED", "1"))
BY_NAME = sort_order(Key(User.name))
MOMENTS = [datetime.fromisoformat(text) for text in (
    "2025-06-01T09:00:00Z", "2026-01-01T00:00:00Z", "2026-01-31T23:59:59.999999Z", "2026-02-01T00:00:00Z",
    "2026-11-21T10:00:00Z", "2026-11-21T10:00:00.000001Z", "2026-11-23T12:00:00Z", "2027-01-01T00:00:00Z",
    "2027-06-01T09:00:00Z",
    # As old as the ages of conditions, from each time of a row on.
    "2026-01-01T15:00:00Z", "2026-04-11T00:00:00Z", "2026-11-22T00:00:00Z", "2027-01-01T15:00:00Z",
    "2027-03-01T10:00:00Z", "2027-04-11T00:00:00Z", "2027-10-12T10:00:00Z", "2027-11-22T00:00:00Z")]


@pytest.fixture(scope="module")
def world(app, given, elsewhere) -> World:
    return World(app, given, elsewhere)


@cache
def environments(verb: str) -> list[FixedEnvironment]:
    """Returns environments such that every satisfiable condition of these policies is true in one."""
    method, request = METHODS[verb]
    found = []
    for moment, offset, device in itertools.product(MOMENTS, range(-12, 15), ("desktop", "bot", "other")):
        zone = timezone(timedelta(hours=offset))
        here = FixedEnvironment(ip=None).at(moment, zone)
        found.append(here.having({"device": device, "method": method, "request": request}))
    return found


def asked(world: World, permission: str, row: Any = None, **environment: Any) -> HolderQuestion:
    resource, _, verb = permission.partition(".")
    method, request = METHODS[verb]
    shares = [] if row is None else of_object(row.tenant_id, resource, row.id)
    return HolderQuestion(
        permissions=(permission,) if row is None else tuple(dict.fromkeys((f"{resource}.view", permission))),
        tenant_id=world.given.tenant_id, row=None if row is None else row.__data__,
        shares=[(share.grantee, share.right) for share in shares],
        environment={"method": method, "request": request, **environment})


def found(world: World, holders: Holders, size: int = 100) -> list[dict[str, Any]]:
    """Returns the users, read page by page."""
    if holders.narrowing is None:
        return []
    columns = (User.id, User.role, User.department, User.groups)
    shape = paging.Shape(User, columns, BY_NAME, (User.tenant_id == world.given.tenant_id,),
                         holders.narrowing.where.allows, holders.narrowing.where.denies)
    rows: list[dict[str, Any]] = []
    position = None
    while True:
        page = paging.walk(world.given.database, shape, holders.narrowing.values, size=size, position=position)
        for row in page.rows:
            id, role, department, groups = row[:4]
            rows.append({"id": User.id.python_value(id), "role": role, "department": department,
                         "groups": User.groups.python_value(groups)})
        if not page.has_next:
            return rows
        position = page.last


def expected(world: World, policy: Policy, permission: str, row: Any, shares: list[Share]) -> set[str]:
    """Returns the keys of the permitted users, from a decision for each user in each environment."""
    resource, _, verb = permission.partition(".")
    asked_for = (permission,) if row is None else tuple(dict.fromkeys((f"{resource}.view", permission)))

    def shared(who: Principal, _: Any, one: str) -> bool:
        access = Access(policy, who, FixedEnvironment())
        return any(share.grantee in access.grantees and share.right in rights_for(one.partition(".")[2])
                   for share in shares)

    def may(who: Principal) -> bool:
        for environment in environments(verb):
            if row is None:
                if policy.plan(who, permission, environment).outcome is not NEVER:
                    return True
            elif all(policy.decide(who, one, row.__data__, environment, shared) for one in asked_for):
                return True
        return False

    mine = [principal_of(user) for user in world.users if user.tenant_id == world.given.tenant_id]
    return {who.key for who in (guest(world.given.tenant_id), *mine) if may(who)}


def keys(world: World, holders: Holders, size: int = 100) -> set[str]:
    listed = [f"user:{row['id']}" for row in found(world, holders, size)]
    assert len(listed) == len(set(listed)), "each once"
    return {*listed, *(["guest"] if holders.guests else [])}


@pytest.mark.parametrize("seed", [SEED, *(pytest.param(seed, marks=pytest.mark.slow)
                                          for seed in range(SEED + 1, SEED + POLICIES))])
def test_those_who_are_found_are_those_whom_decide_allows_in_some_environment(world: World, seed: int) -> None:
    chance = random.Random(seed)
    with world.given.database.connected():
        for policy in world.edited(seed):
            for permission in ("article.view", "article.update", "order.view", "user.view", "article.delete"):
                resource = permission.partition(".")[0]
                mine = [row for row in world.rows[resource] if row.tenant_id == world.given.tenant_id]
                for row in (None, *chance.sample(mine, 1)):
                    shares = [] if row is None else of_object(row.tenant_id, resource, row.id)
                    holders = Holders(world.given.database, policy, asked(world, permission, row))
                    assert keys(world, holders, size=chance.choice((1, 3, 100))) == expected(
                        world, policy, permission, row, shares), (permission, row)


def who(world: World, policy: Policy, permission: str, row: Any = None, **more: Any) -> Holders:
    environment = more.pop("environment", {})
    return Holders(world.given.database, policy, asked(world, permission, row, **environment), **more)


def test_the_number_of_statements_is_the_same_for_one_user_and_for_all(world: World, monkeypatch) -> None:
    persons = [f"user:{user.id}" for user in world.users]
    policy = under(world, "user, article.view, same_department, allow", "editor, article.view, always, allow",
                   *(f"{key}, article.view, at_work, allow" for key in persons))
    database, statements = world.given.database, []
    query = database.query
    with database.connected():
        row = world.rows["article"][0]
        for size in (1, 100):
            statements.append(0)
            holders = who(world, policy, "article.view", row)

            def counted(*args: Any) -> Any:
                statements[-1] += 1
                return query(*args)

            monkeypatch.setattr(database, "query", counted)
            shape = paging.Shape(User, (User.id,), BY_NAME, (User.tenant_id == world.given.tenant_id,),
                                 holders.narrowing.where.allows, holders.narrowing.where.denies)
            assert paging.walk(database, shape, holders.narrowing.values, size=size).rows
            monkeypatch.undo()
    assert statements[0] == statements[1] <= 2


def test_a_condition_on_the_time_is_named_and_can_be_fixed(world: World) -> None:
    policy = under(world, "user, article.view, at_work, allow")
    with world.given.database.connected():
        holders = who(world, policy, "article.view")
        [first, *_] = found(world, holders)
        assert holders.reason(first).when == "r.env.hour == 8 || r.env.hour == 12 || r.env.hour == 17"
        for hour, expected_number in ((12, True), (13, False)):
            assert bool(found(world, who(world, policy, "article.view", environment={"hour": hour}))) is expected_number


def test_the_line_is_one_without_a_condition_where_there_is_one(world: World) -> None:
    policy = under(world, "user, article.view, own, allow", "editor, article.view, always, allow")
    with world.given.database.connected():
        holders = who(world, policy, "article.view")
        lines = {row["role"]: holders.reason(row).line.line for row in found(world, holders)}
    assert (lines["user"], lines["editor"], lines["manager"]) == (1, 2, 2)


def test_a_viewer_is_told_of_nobody_by_what_they_may_not_see_of_them(world: World) -> None:
    """The result must not reveal a user's department or group, which the viewer may not see."""
    policy = under(world, "user, user.view, always, allow", "user, user.view_private, own, allow",
                   "user, article.view, desk:press, allow", "user, order.view, own, allow")
    viewer = next(user for user in world.users if user.role == "user" and user.tenant_id == world.given.tenant_id)
    guards = world.services.collections["users"].guards
    with world.given.database.connected():
        access = Access(policy, principal_of(viewer), FixedEnvironment())
        everybody = keys(world, who(world, policy, "article.view"))
        assert everybody and keys(world, who(world, policy, "article.view", viewer=access, guards=guards)) <= {
            f"user:{viewer.id}"}
        # Nor does the result reveal which users are disabled: those count like the active ones.
        disabled = {f"user:{user.id}" for user in world.rows["user"] if user.role in policy.roles.of_users
                    and not user.active and user.tenant_id == world.given.tenant_id}
        seen = keys(world, who(world, policy, "order.view", viewer=access, guards=guards))
        assert disabled and seen == keys(world, who(world, policy, "order.view")) | disabled
        certain = who(world, policy, "order.view", viewer=access, guards=guards, certain=True)
        assert keys(world, certain) == {f"user:{viewer.id}"}


def test_rank_counts_beside_the_policy(world: World) -> None:
    policy = under(world, "user, user.delete, always, allow", "user, user.view, always, allow")
    with world.given.database.connected():
        row = next(user for user in world.users if user.role == "editor" and user.tenant_id == world.given.tenant_id)
        roles = ranks(policy, "user.delete", world.services.collections["users"], row)
        assert roles == {"editor", "manager", "admin"}
        assert {one["role"] for one in found(world, who(world, policy, "user.delete", row, ranks=roles))} == {
            "editor", "manager"}
        assert ranks(policy, "user.view", world.services.collections["users"], row) is None


def test_a_function_of_a_plugin_that_asks_who_calls_is_not_told(world: World) -> None:
    near = Function("trusted", (("sub", "department"),), (), lambda mine: mine == "press")
    policy = of_plugin(world, near, b"p, user, article.view, trusted, allow")
    with world.given.database.connected(), pytest.raises(Undetermined) as told:
        assert who(world, policy, "article.view").narrowing
    assert told.value.function == "trusted"
