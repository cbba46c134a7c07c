"""A grantee who loses the right to share an object loses their invitations to that object at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import quote

import psycopg
import pytest

from models.base import Rows
from models.tables.share import Share
from tests.running import wait_until

pytestmark = pytest.mark.both_databases

# (grantor, grantee, right), in this order
Grants = tuple[tuple[str, str, str], ...]

INVITED: Grants = (("ann", "bob", "manage"), ("bob", "cy", "manage"), ("cy", "dan", "read"))
THROUGH_A_GROUP: Grants = (("ed", "group:press", "manage"), ("bob", "cy", "read"))


def path(row):
    return f"/api/articles/{row.id}/shares"


@dataclass(frozen=True)
class World:
    """An article of Ann's; Bob is of the group press, Ed an editor, who may share every article."""

    callers: dict
    row: object

    def name(self, grantee):
        return next((name for name, caller in self.callers.items() if grantee == f"user:{caller.id}"), grantee)

    def grantee(self, name):
        return f"user:{self.callers[name].id}" if name in self.callers else name

    def grant(self, by, to, right):
        answer = self.callers[by].put(path(self.row), {"grantee": self.grantee(to), "right": right})
        assert answer.status_code == 200, answer.get_data(as_text=True)

    def withdraw(self, by, of):
        return self.callers[by].delete(f"{path(self.row)}?grantee={quote(self.grantee(of))}")

    def shares(self):
        """Returns grantee → (right, grantor; None for the owner), all by name."""
        people = {caller.id: name for name, caller in self.callers.items()}
        items = self.callers["ed"].get(path(self.row)).get_json()["items"]
        return {self.name(one["grantee"]): (one["right"], people.get(one["granted_by"])) for one in items}

    def sees(self, who):
        return self.callers[who].get(f"/api/articles/{self.row.id}").status_code == 200


@pytest.fixture
def world(as_user, given):
    callers = {name: as_user("user") for name in ("ann", "cy", "dan", "eve")}
    callers |= {"bob": as_user("user", groups=["press"]), "ed": as_user("editor")}
    return World(callers, given.article("draft", owner_id=callers["ann"].id))


# What a withdrawal takes

@pytest.mark.parametrize(("grants", "of", "left"), [
    pytest.param(INVITED, "bob", {}, id="whom a grantee invited goes with them, and whom those invited"),
    pytest.param(INVITED, "cy", {"bob"}, id="what was granted before stays"),
    pytest.param((*INVITED, ("ann", "eve", "read")), "bob", {"eve"}, id="what others granted stays"),
    pytest.param((*INVITED, ("ann", "cy", "manage")), "bob", {"cy", "dan"}, id="the owner repeats a right: it is hers"),
    pytest.param((("ann", "cy", "read"), ("ann", "bob", "manage"), ("bob", "cy", "read")), "bob", {"cy"},
                 id="another repeats the owner's: it stays hers"),
    pytest.param((("ann", "cy", "read"), ("ann", "bob", "manage"), ("bob", "cy", "write")), "bob", set(),
                 id="who adds to a right is its granter"),
    pytest.param((("ann", "ed", "manage"), ("ed", "cy", "read")), "ed", {"cy"}, id="what the policy lets them share"),
    pytest.param((("ann", "bob", "manage"), *THROUGH_A_GROUP), "bob", {"group:press", "cy"},
                 id="another share still covers the granter"),
    pytest.param(THROUGH_A_GROUP, "group:press", {}, id="what was granted through a group goes with the group's right"),
    pytest.param((("ann", "bob", "manage"), *THROUGH_A_GROUP), "group:press", {"bob", "cy"},
                 id="a right of their own covers a member of the group"),
    pytest.param((*INVITED, ("cy", "eve", "manage"), ("eve", "dan", "manage")), "bob", {},
                 id="what two of the invited granted to one"),
    pytest.param((("ann", "bob", "write"), ("ann", "cy", "read")), "bob", {"cy"}, id="a right without share"),
])
def test_a_withdrawal_takes_what_nobody_else_stands_for(world, grants, of, left):
    for one in grants:
        world.grant(*one)
    assert world.withdraw("ann", of).status_code == 204
    assert set(world.shares()) == set(left)
    assert {name for name in ("bob", "cy", "dan") if world.sees(name)} == {
        name for name in ("bob", "cy", "dan") if name in left or (name == "bob" and "group:press" in left)}


def test_a_lower_right_takes_the_invited_too_and_a_right_that_still_shares_does_not(world):
    for one in INVITED:
        world.grant(*one)
    world.grant("ann", "bob", "manage")
    assert set(world.shares()) == {"bob", "cy", "dan"}
    world.grant("ann", "bob", "write")
    assert world.shares() == {"bob": ("write", None)}


def test_who_lowers_their_own_right_keeps_it_and_loses_whom_they_invited(world):
    for one in INVITED:
        world.grant(*one)
    world.grant("bob", "bob", "read")
    assert world.shares() == {"bob": ("read", None)}


def test_who_lowers_the_right_of_their_own_granter_goes_with_it(world):
    for one in INVITED:
        world.grant(*one)
    world.grant("cy", "bob", "read")
    assert world.shares() == {"bob": ("read", None)}, "what is left of it is still the owner's"


def test_a_share_of_their_own_making_holds_nobody_up(world, as_role):
    world.grant("ann", "ed", "manage")
    for grantee in ("group:press", "cy"):
        world.grant("ed", grantee, "manage")
    lowered = as_role("admin").patch(f"/api/users/{world.callers['ed'].id}", {"role": "user", "groups": ["press"]})
    assert lowered.status_code == 200
    assert world.withdraw("ann", "ed").status_code == 204
    assert world.callers["ann"].get(path(world.row)).get_json()["items"] == []


def test_an_owner_keeps_what_they_granted_before_they_were_the_owner(world):
    for one in INVITED:
        world.grant(*one)
    moved = world.callers["ed"].patch(f"/api/articles/{world.row.id}", {"owner_id": world.callers["bob"].id})
    assert moved.status_code == 200
    assert world.withdraw("ed", "bob").status_code == 204
    assert world.shares() == {"cy": ("manage", "bob"), "dan": ("read", "cy")}


def test_other_objects_are_not_touched(world, given):
    other = World(world.callers, given.article("draft", owner_id=world.callers["ann"].id))
    for one in INVITED:
        world.grant(*one)
        other.grant(*one)
    world.withdraw("ann", "bob")
    assert set(other.shares()) == {"bob", "cy", "dan"}


def test_a_deleted_user_takes_whom_they_invited_along_on_every_object(world, given, as_role):
    other = World(world.callers, given.article("draft", owner_id=world.callers["ann"].id))
    for one in INVITED:
        world.grant(*one)
    other.grant("ann", "bob", "manage")
    other.grant("bob", "dan", "write")
    other.grant("ann", "cy", "read")
    assert as_role("admin").delete(f"/api/users/{world.callers['bob'].id}").status_code == 204
    assert world.shares() == {}
    assert other.shares() == {"cy": ("read", None)}


def test_the_trail_says_how_many_went_along(world, as_role):
    for one in INVITED:
        world.grant(*one)
    world.withdraw("ann", "bob")
    [row] = as_role("owner").get(
        f"/api/audit?resource_id={world.row.id}&limit=1&sort=-time").get_json()["items"]
    assert row["principal"] == f"user:{world.callers['ann'].id}"
    assert "2 more shares withdrawn" in row["reason"]


# At the same time

def test_in_either_order_nobody_is_left_whom_the_withdrawn_one_invited(world, app):
    for _ in range(10):
        world.grant("ann", "bob", "manage")
        together = threading.Barrier(2)

        def invite(together=together):
            together.wait()
            return world.callers["bob"].put(path(world.row), {"grantee": world.grantee("cy"), "right": "manage"})

        def revoke(together=together):
            together.wait()
            return world.withdraw("ann", "bob")

        with ThreadPoolExecutor(2) as pool:
            invited, revoked = pool.submit(invite), pool.submit(revoke)
        assert revoked.result().status_code == 204
        assert invited.result().status_code in (200, 403, 404)
        assert world.shares() == {} and not world.sees("cy")


@pytest.mark.parametrize(("first", "answers"), [("revoke", [204, 404]), ("invite", [200, 204])])
def test_on_postgres_each_waits_for_the_other_at_the_object(world, given, database_url, first, answers):
    if given.database.dialect != "postgres":
        pytest.skip("SQLite has one writer at a time")
    world.grant("ann", "bob", "manage")
    work = {"revoke": lambda: world.withdraw("ann", "bob"), "invite": lambda: world.callers["bob"].put(
        path(world.row), {"grantee": world.grantee("cy"), "right": "manage"})}
    second = "invite" if first == "revoke" else "revoke"
    with psycopg.connect(database_url) as holder, psycopg.connect(database_url, autocommit=True) as watcher:
        holder.execute("SELECT 1 FROM articles WHERE id = %s FOR UPDATE", (world.row.id,))

        def waiting():
            found = watcher.execute("SELECT count(*) FROM pg_stat_activity "
                                    "WHERE datname = current_database() AND wait_event_type = 'Lock'").fetchone()
            return found[0]

        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(work[first])
            wait_until(lambda: waiting() == 1)
            other = pool.submit(work[second])
            wait_until(lambda: waiting() == 2)
            holder.rollback()
    assert [one.result().status_code, other.result().status_code] == answers
    with given.database.connected():
        assert Rows(Share, given.tenant_id).select().where(Share.object_id == world.row.id).count() == 0
