"""The affected rows of a change, counted in SQL, equal the decisions of `decide` for each user and each row."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from blueprints.policy_changes import affected_rows
from blueprints.policy_changes.affected_rows import RowChange
from gatepost.http.request.access import Access
from gatepost.http.request.identity import principal_of
from models.base import Rows
from models.engine.errors import TimedOut
from models.tables.audience import Audience, Counts
from models.tables.session import Session
from policies.evaluation.principal import FixedEnvironment
from policies.loading.sample import TIMES
from policies.syntax.expression import columns
from policies.syntax.vocabulary import Function
from tests.apps import Given
from tests.http.worlds import CONDITIONS, LINKS, MODELS, NAMES, WORDS, World, of_plugin, under
from tests.samples import sampled

pytestmark = pytest.mark.both_databases

CHANGES, SEED = int(os.environ.get("POLICIES", "6")), int(os.environ.get("SEED", "1"))


@pytest.fixture(scope="module")
def world(app: Flask, given: Given, elsewhere: Given) -> World:
    return World(app, given, elsewhere)



@pytest.mark.parametrize("seed", range(1000 * SEED, 1000 * SEED + CHANGES))
def test_what_is_counted_is_what_each_user_loses_and_gains_row_by_row(world: World, seed: int) -> None:
    world.check(*world.edited(seed))


@pytest.mark.parametrize("word", sampled(WORDS, 4))
def test_each_condition_picks_for_all_users_at_once_what_it_picks_for_each(world: World, word: str) -> None:
    resource = next(one for one in MODELS if columns(CONDITIONS[word].expression)
                    <= world.services.registry.vocabulary.resources[one].columns.keys())
    rules = f"guest, {resource}.view, always, allow", f"guest, {resource}.view, {word}, deny"
    denied = world.check(under(world), under(world, *rules), [resource])
    assert world.check(under(world, f"guest, {resource}.*, {word}, allow"), under(world), [resource]) + denied > 0


def test_a_policy_that_is_not_changed_asks_the_database_nothing(world: World) -> None:
    old, _ = world.edited(1)
    assert world.changes(old, old).statements == 0


def test_one_statement_answers_for_a_role_whatever_changes_however_many_users_it_has(world: World) -> None:
    changes = world.changes(under(world), under(world, *(f"user, {one}.view, own, allow" for one in MODELS)))
    assert changes.statements == len(NAMES) * len(("user", "editor", "manager", "admin"))


def test_a_role_that_the_new_policy_lost_loses_what_it_saw(world: World) -> None:
    line = "p, guest, article.view, always, allow"
    old, new = world.policy([line], (*LINKS, "g, support, guest")), world.policy([line], LINKS)
    world.check(old, new)
    assert [one.role for one in world.changes(old, new).all] == ["support"]


def test_a_person_who_is_lent_a_role_gains_what_is_shared_with_it(world: World) -> None:
    person = next(f"user:{user.id}" for user in world.users if user.role == "user")
    line = "p, user, article.view, shared, allow"
    old, new = world.policy([line], LINKS), world.policy([line], (*LINKS, f"g, {person}, manager"))
    world.check(old, new)
    [change] = world.changes(old, new).all
    assert change.persons == (person,) and change.gained.rows > 0


def test_persons_whom_lines_of_many_kinds_name_are_said_where_they_are_not_counted(
        world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affected_rows, "MOST_OF_PERSONS", 1)
    first, second = sorted(f"user:{user.id}" for user in world.users if user.role == "editor")[:2]
    changes = world.changes(under(world), under(world, f"{first}, article.view, always, allow",
                                                f"{second}, article.view, state:draft, allow"))
    assert [one.persons for one in changes.all] == [(first,)]
    assert [str(one) for one in changes.not_counted] == [
        "article.view is not counted for 1 more users whom rules name: their rules differ in more than 1 ways"]


def test_a_viewer_is_told_of_the_rows_and_users_that_they_may_view_alone(world: World) -> None:
    rules = "guest, article.view, own, allow", "guest, user.view, same_department, allow"
    viewer = next(user for user in world.users if user.role == "user" and user.department == "sales")
    old, new = under(world), under(world, "user, article.view, always, allow")
    access = Access(under(world, *rules), principal_of(viewer), FixedEnvironment())
    mine = {row.id for row in world.rows["article"] if row.owner_id == viewer.id}
    near = [user for user in world.users if (user.tenant_id, user.department) == (viewer.tenant_id, "sales")]
    assert mine and 0 < len(near) < len(world.users)
    said = {one.role: one.gained for one in world.changes(old, new, viewer=access).all}
    assert said == {role: Counts(len(mine), 1, number) for role in ("user", "editor", "manager")
                    if (number := sum(user.role == role for user in near))}


def test_a_viewer_who_may_view_no_users_is_told_of_guests_alone(world: World) -> None:
    access = Access(under(world, "guest, article.view, always, allow"), principal_of(world.users[0]),
                    FixedEnvironment())
    said = world.changes(under(world), under(world, "guest, article.view, always, allow"), viewer=access).all
    assert [(one.role, one.gained.users) for one in said] == [("guest", None)]


def test_a_row_that_is_over_is_not_counted(world: World) -> None:
    owner = next(user for user in world.users if user.tenant_id == world.given.tenant_id and user.role == "user")
    world.given.session(owner)
    over = world.given.session(owner)
    over.expires_at = TIMES[0]
    with world.given.database.connected():
        world.given.database.transact(lambda: Rows(Session, world.given.tenant_id).save(over))
    changes = world.changes(under(world), under(world, "user, session.view, own, allow"), names=["sessions"])
    assert [(one.role, one.gained.rows) for one in changes.all] == [("user", 1)]


def test_the_hour_that_counts_is_said_where_a_condition_asks_for_it(world: World) -> None:
    old, by_day = under(world), under(world, "user, article.view, at_work, allow")
    assert world.changes(old, by_day).as_lines()[-1] == (
        "Counted as of 2026-11-23 12:00. Conditions on the address or the device count as not met.")
    assert world.changes(old, under(world, "user, article.view, own, allow")).assumes == ""


def test_a_statement_that_takes_too_long_is_said_and_the_others_are_answered(
        world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Audience.counts

    def slow(self: Audience, which: Any, who: Any, *several: Any, values: Any) -> Any:
        if who is not None:
            raise TimedOut("canceled")
        return counts(self, which, who, *several, values=values)

    monkeypatch.setattr(Audience, "counts", slow)
    changes = world.changes(under(world), under(world, "guest, article.view, always, allow"))
    assert [one.role for one in changes.all] == ["guest"]
    assert "? article.view is not counted for role user: the statement took longer than GATEPOST_STATEMENT_TIMEOUT" \
        in changes.as_lines()


def test_a_condition_of_a_plugin_is_asked_by_its_half_for_a_table(world: World) -> None:
    near = Function("trusted", (("obj", "department"), ("sub", "department")), (),
                    lambda there, here: there is not None and there == here, lambda there, here: there == here)
    old, new = (of_plugin(world, near, f"p, user, article.view, {word}, allow".encode())
                for word in ("always", "trusted"))
    assert world.check(old, new, ["article"]) > 0


def test_a_condition_of_a_plugin_without_such_a_half_is_said(world: World) -> None:
    of_caller = Function("trusted", (("sub", "department"),), (), lambda department: department == "sales")
    old, new = (of_plugin(world, of_caller, f"p, user, article.view, {word}, allow".encode())
                for word in ("always", "trusted"))
    changes = world.changes(old, new)
    assert changes.all == () and "asks who calls, and has no SQL" in str(changes.not_counted[0])


@pytest.mark.parametrize("persons, who", [
    ((), "2 users of role user"), (("user:1",), "user:1 of role user"),
    (("user:1", "user:2", "user:3", "user:4"), "2 of user:1, user:2, user:3 and 1 more, of role user")])
def test_a_change_is_a_sentence(persons: tuple[str, ...], who: str) -> None:
    change = RowChange("user", persons, "article.view", "articles", Counts(312, 14, 2), Counts(1, 0, 2))
    assert list(change.as_lines()) == [f"hides 312 articles of 14 owners from {who}", f"shows 1 article to {who}"]
    change = replace(change, permission="article.update")
    assert next(change.as_lines()) == f"takes article.update on 312 articles of 14 owners from {who}"
