"""Sessions, service tokens, shares and stored answers."""

from __future__ import annotations

import threading

import pytest

from models.base import Rows, later, new_id, now
from models.engine.database import Database
from models.engine.errors import AlreadyExists
from models.tables import share
from models.tables.deprecated_use import DeprecatedUse, note_use
from models.tables.idempotency import IdempotencyKey, claim, stored
from models.tables.order import Order, OrderItem, items_of, quantities
from models.tables.product import Product
from models.tables.service_token import ServiceToken
from models.tables.session import KEPT, Session, keep_newest, revoke
from models.tables.tenant import Tenant
from models.tables.user import User


@pytest.fixture
def tenant(database: Database) -> str:
    return Tenant.add(f"tenant {new_id()}").id


@pytest.fixture
def user(tenant: str) -> User:
    return Rows(User, tenant).insert(User(name="Ada", email=f"{new_id()}@example.org", password_hash="-"))


def session(user: User, **values: object) -> Session:
    return Rows(Session, user.tenant_id).insert(Session(**{
        "owner_id": user.id, "family": new_id(), "token_hash": new_id(), "expires_at": later(60),
        "absolute_expires_at": later(600), **values}))


def test_a_session_is_found_by_its_id_and_remembers_which_tokens_were_used(user: User, database: Database) -> None:
    made = session(user, recent=["a hash and a time"])
    assert Session.by_id(made.id).recent == ["a hash and a time"]
    assert database.transact(lambda: Session.by_id(made.id, lock=True)).id == made.id
    assert Session.by_id(new_id()) is None


def test_the_owner_of_a_token_stands_in_one_row(user: User, database: Database) -> None:
    token = Rows(ServiceToken, user.tenant_id).insert(
        ServiceToken(owner_id=user.id, name="ci", token_hash=new_id(), scopes=["read:articles"]))
    bearer = ServiceToken.bearer(database, token.id)
    assert (bearer.user_id, bearer.role, bearer.active, bearer.scopes) == (
        user.id, "user", True, frozenset(["read:articles"]))
    assert ServiceToken.bearer(database, new_id()) is None


def test_revoking_ends_a_session_once(user: User) -> None:
    mine, spared = session(user), session(user)
    assert revoke(user.tenant_id, Session.owner_id == user.id, Session.id != spared.id) == 1
    assert revoke(user.tenant_id, Session.owner_id == user.id, Session.id != spared.id) == 0
    assert Session.by_id(mine.id).revoked_at is not None and Session.by_id(spared.id).revoked_at is None


@pytest.mark.both_databases
def test_sessions_go_an_hour_after_they_ended_however_they_did(user: User) -> None:
    Session.purge(later(2 * KEPT), 1000)
    idle, just_now = session(user, expires_at=later(-KEPT - 1)), session(user, expires_at=later(-1))
    running, revoked = session(user), session(user)
    revoke(user.tenant_id, Session.id == revoked.id)
    assert Session.purge(now(), 100) == 1
    assert Session.by_id(idle.id) is None
    assert Session.purge(later(KEPT), 100) == 2
    assert Session.by_id(just_now.id) is None and Session.by_id(revoked.id) is None
    assert Session.by_id(running.id) is not None


@pytest.mark.both_databases
def test_of_the_live_sessions_of_a_user_those_used_last_are_kept(user: User) -> None:
    unused, old, new = session(user), session(user, last_used_at=later(10)), session(user, last_used_at=later(20))
    ended = session(user, expires_at=later(-1), last_used_at=later(30))
    assert keep_newest(new, 3) == 0
    assert keep_newest(new, 2) == 1
    assert Session.by_id(unused.id).revoked_at is not None
    assert [Session.by_id(one.id).revoked_at for one in (old, new, ended)] == [None, None, None]


def test_the_session_for_which_others_are_ended_stays(user: User) -> None:
    others = [session(user, last_used_at=later(seconds)) for seconds in (10, 20)]
    just_made = session(user)
    assert keep_newest(just_made, 1) == 2
    assert Session.by_id(just_made.id).revoked_at is None
    assert None not in [Session.by_id(one.id).revoked_at for one in others]


@pytest.mark.both_databases
def test_the_credentials_of_a_user_go_with_the_user(user: User) -> None:
    kept = session(user)
    token = Rows(ServiceToken, user.tenant_id).insert(
        ServiceToken(owner_id=user.id, name="ci", token_hash=new_id(), scopes=["read:articles"]))
    assert ServiceToken.by_id(token.id).scopes == ["read:articles"]
    Rows(User, user.tenant_id).delete(user)
    assert Session.by_id(kept.id) is None and ServiceToken.by_id(token.id) is None


def test_using_a_token_is_noted_and_is_no_change(user: User) -> None:
    token = Rows(ServiceToken, user.tenant_id).insert(
        ServiceToken(owner_id=user.id, name="ci", token_hash=new_id(), scopes=[]))
    at = now()
    ServiceToken.touch(token.id, at)
    found = ServiceToken.by_id(token.id)
    assert (found.last_used_at, found.version) == (at, 1)


@pytest.mark.both_databases
def test_a_grantee_has_one_right_on_an_object(tenant: str) -> None:
    thing, grantee = new_id(), f"user:{new_id()}"
    share.grant(tenant, "article", thing, grantee, "read")
    share.grant(tenant, "article", thing, grantee, "write")
    rights = [(one.grantee, one.right) for one in share.of_object(tenant, "article", thing)]
    assert rights == [(grantee, "write")]
    assert share.has_right(tenant, "article", thing, [grantee], ["write", "manage"])
    assert not share.has_right(tenant, "article", thing, [grantee], ["read"])
    assert share.withdraw(tenant, "article", thing, grantee) == 1
    assert share.withdraw(tenant, "article", thing, grantee) == 0


@pytest.mark.parametrize(("place", "value"), [(0, None), (1, "order"), (2, None), (3, "user:nobody")])
def test_a_right_holds_for_its_tenant_resource_object_and_grantee_alone(
        place: int, value: str | None, tenant: str) -> None:
    exact = [tenant, "article", new_id(), "user:somebody"]
    share.grant(*exact, right="read")
    other = [*exact[:place], value or new_id(), *exact[place + 1:]]
    for where, expected in ((exact, True), (other, False)):
        assert share.has_right(where[0], where[1], where[2], [where[3]], ["read"]) is expected
        ids = [one.object_id for one in share.shared_ids(where[0], where[1], [where[3]], ["read"])]
        assert (exact[2] in ids and where[2] in ids) is expected


def key(**values: object) -> IdempotencyKey:
    return IdempotencyKey(**{"principal": "user:1", "credential": "c", "method": "POST", "path": "/api/articles",
                             "key": "k", "fingerprint": "f", "expires_at": later(60), **values})


@pytest.mark.both_databases
def test_a_key_is_claimed_once_and_again_after_it_expired(tenant: str, database: Database) -> None:
    database.transact(lambda: claim(tenant, key(expires_at=later(-1))))
    assert stored(tenant, key()) is None
    made = database.transact(lambda: claim(tenant, key(body=b"\x00\xff", status=201)))
    found = stored(tenant, key())
    assert (found.id, bytes(found.body), found.status) == (made.id, b"\x00\xff", 201)
    with pytest.raises(AlreadyExists):
        database.transact(lambda: claim(tenant, key()))


@pytest.mark.parametrize("other", [
    {"principal": "user:2"}, {"credential": "d"}, {"method": "PATCH"}, {"path": "/api/x"}, {"key": "K"}])
def test_a_key_belongs_to_one_caller_method_and_path(other: dict, tenant: str, database: Database) -> None:
    for wanted in (key(), key(**other)):
        database.transact(lambda wanted=wanted: claim(tenant, wanted))


@pytest.mark.both_databases
def test_of_two_claims_at_once_the_second_waits_and_finds_the_first(tenant: str, opened: Database) -> None:
    effects, outcomes, barrier = [], [], threading.Barrier(4)

    def work() -> str:
        claim(tenant, key(key="twin"))
        effects.append(1)
        return "did it"

    def run() -> None:
        barrier.wait()
        try:
            outcomes.append(opened.transact(work))
        except AlreadyExists:
            with opened.connected():
                outcomes.append(stored(tenant, key(key="twin")).fingerprint)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(effects) == 1 and sorted(outcomes) == ["did it", "f", "f", "f"]


def test_items_come_with_their_orders_and_go_with_them(tenant: str, user: User) -> None:
    product = Rows(Product, tenant).insert(Product(name="P", sku=new_id(), price=5, currency="EUR"))
    orders = [Rows(Order, tenant).insert(Order(owner_id=user.id, total=10, currency="EUR")) for _ in range(3)]
    for order in orders[:2]:
        for position in (1, 0):
            Rows(OrderItem, tenant).insert(OrderItem(
                order_id=order.id, position=position, product_id=product.id, quantity=2, unit_price=5))
    found = items_of(tenant, [order.id for order in orders])
    assert [[item.position for item in found[order.id]] for order in orders] == [[0, 1], [0, 1], []]
    assert quantities(found[orders[0].id]) == {product.id: 4}
    Rows(Order, tenant).delete(orders[0])
    assert items_of(tenant, [orders[0].id]) == {orders[0].id: []}
    assert items_of(tenant, []) == {}


@pytest.mark.both_databases
def test_uses_of_what_is_deprecated_are_counted_per_client(tenant: str) -> None:
    for client, times in (("user:1", 1), ("user:2", 1), ("user:1", 4)):
        note_use(tenant, "GET /api/ping", client, times)
    rows = Rows(DeprecatedUse, tenant).select().order_by(DeprecatedUse.client)
    assert [(row.client, row.count) for row in rows] == [("user:1", 5), ("user:2", 1)]
