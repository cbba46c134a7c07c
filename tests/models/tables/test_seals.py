"""Seals prove rows after the erasure of a user, detect every other change, and are deleted with expired rows."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

import peewee as pw
import pytest

from models.base import later, now
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.sealer import Sealer
from models.tables import sealed_rows, seals
from models.tables.audit import Audit, Retention, Seal, append
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.tampering import disarmed, query

SECRET = "ada@example.org"


def sign(content: bytes) -> str:
    return hmac.digest(b"key", content, hashlib.sha256).hex()


SEALER = Sealer(sign, lambda content, head: hmac.compare_digest(sign(content), head))


@pytest.fixture(params=["sqlite", "postgres"])
def trail(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database whose audit log has three seals of four rows each, and two rows without a seal."""
    opened = open_database(new_database(request.param, request), pool_size=2, synchronous="normal",
                           statement_timeout=10)
    with opened.connected():
        opened.transact(lambda: Tenant.add("default"))
        for _ in range(3):
            add(4)
            assert seals.seal(opened, SEALER) == 4
        add(2)
        yield opened
    opened.close_all()


def add(number: int) -> None:
    tenant = Tenant.by_name("default")
    assert tenant is not None
    rows = [Audit(tenant_id=tenant.id, principal="user:1", role="user", action="update", resource="article",
                  resource_id=None, address="192.0.2.7", result="allowed", request_id="r-1",
                  facts=f'{{"email":"{SECRET}"}}') for _ in range(number)]
    tenant._meta.database.transact(lambda: append(rows))


def erase(trail: Database, *seqs: int) -> int:
    return trail.transact(lambda: sealed_rows.erase(seqs))


def of_form_1(trail: Database) -> None:
    """Seals the audit log again in the form before commitments, as the migration leaves it."""
    head, after = "", 0
    statements = []
    for one in Seal.select().order_by(Seal.seq):
        rows = sealed_rows.between(after, one.last_seq, 100)
        old = sign(sealed_rows.content(head, rows, 1))
        committed = sign(sealed_rows.content(old, rows))
        statements.append(f"UPDATE audit_seals SET form = 1, previous = '{head}', head = '{old}', "
                          f"committed = '{committed}' WHERE seq = {one.seq}")
        head, after = old, one.last_seq
    disarmed(trail, *statements)


@pytest.mark.both_databases
@pytest.mark.parametrize("form", [1, 2])
def test_an_erased_row_leaves_the_chain_whole_and_nothing_of_its_person(trail: Database, form: int) -> None:
    if form == 1:
        of_form_1(trail)
    exported = {one.seq: one.head for one in seals.heads()}
    assert seals.verify(trail, SEALER).erased == 0
    assert erase(trail, 2, 6, 13) == 3, "one of them has no seal yet"
    assert erase(trail, 2) == 0, "it is erased"
    verdict = seals.verify(trail, SEALER, exported)
    assert (verdict.findings, verdict.sealed, verdict.erased) == ([], 12, 2)
    for seq in (2, 6, 13):
        row = Audit.get(Audit.seq == seq)
        assert [row.address, row.request_id, row.facts, row.salt] == [None] * 4
        assert SECRET not in str(query(trail, f"SELECT * FROM audit WHERE seq = {seq}"))
        assert row.principal == "user:1", "the id stays as a pseudonym"
    seals.seal(trail, SEALER)
    assert (seals.verify(trail, SEALER).findings, seals.verify(trail, SEALER).erased) == ([], 3)


CHANGES = {
    "a public column of an erased row": "UPDATE audit SET role = 'admin' WHERE seq = 2",
    "a public column beside an erased row": "UPDATE audit SET role = 'admin' WHERE seq = 3",
    "a personal column beside an erased row": "UPDATE audit SET address = '203.0.113.9' WHERE seq = 3",
    "a value in an erased row": "UPDATE audit SET address = '203.0.113.9' WHERE seq = 2",
    "the commitment of an erased row": "UPDATE audit SET commitment = 'x' WHERE seq = 2",
    "a salt": "UPDATE audit SET salt = NULL WHERE seq = 3",
    "a row that only looks erased": "UPDATE audit SET facts = NULL, address = NULL, request_id = NULL, salt = NULL, "
                                    "commitment = 'x' WHERE seq = 3",
    "the erased row itself": "DELETE FROM audit WHERE seq = 2",
    "the second head": "UPDATE audit_seals SET committed = 'x', form = 1 WHERE seq = 1",
}


@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_other_change_is_found_beside_an_erased_row(trail: Database, change: str, form: int) -> None:
    if form == 1:
        of_form_1(trail)
    erase(trail, 2)
    assert seals.verify(trail, SEALER).findings == []
    disarmed(trail, change)
    assert seals.verify(trail, SEALER).findings


@pytest.mark.both_databases
def test_the_database_lets_a_row_be_erased_once_and_not_changed(trail: Database) -> None:
    gone = "address = NULL, request_id = NULL, facts = NULL, salt = NULL"
    for change in ("address = NULL", gone, f"{gone}, commitment = 'x', role = 'admin'",
                   f"{gone}, commitment = 'x', reason = 'x'", "commitment = 'x'"):
        with pytest.raises(pw.PeeweeException):
            trail.transact(lambda change=change: trail.execute_sql(f"UPDATE audit SET {change} WHERE seq = 3"))
    erase(trail, 3)
    with pytest.raises(pw.PeeweeException):
        trail.transact(lambda: trail.execute_sql("UPDATE audit SET commitment = 'y' WHERE seq = 3"))


def test_two_rows_that_say_the_same_have_other_commitments(trail: Database) -> None:
    first, second = sealed_rows.between(0, 2, 2)
    assert sealed_rows.commitment(first) != sealed_rows.commitment(second)
    assert len({row.salt for row in sealed_rows.between(0, 14, 14)}) == 14


@pytest.mark.both_databases
def test_seals_go_with_their_rows_but_for_the_newest_of_them(trail: Database) -> None:
    exported = {one.seq: one.head for one in seals.heads()}
    assert seals.retire(trail, later(-3600)) == 0
    assert seals.retire(trail, now()) == 8, "the rows of the newest seal stay"
    assert [one.seq for one in seals.heads()] == [2, 3]
    verdict = seals.verify(trail, SEALER, exported)
    assert (verdict.findings, verdict.sealed, verdict.retired, verdict.older) == ([], 4, 1, 1)


def test_a_seal_is_missed_where_its_rows_were_not_beyond_their_time(trail: Database) -> None:
    with pytest.raises(pw.PeeweeException):
        trail.transact(lambda: trail.execute_sql("DELETE FROM audit_seals WHERE seq = 1"))
    disarmed(trail, "DELETE FROM audit_seals WHERE seq = 1", "DELETE FROM audit WHERE seq <= 4")
    assert seals.verify(trail, SEALER).findings == ["seal 2 does not continue the seal before it"]
    assert Retention.get().before < now()


def test_nothing_is_sealed_twice_where_rows_went(trail: Database) -> None:
    seals.retire(trail, now())
    assert seals.seal(trail, SEALER) == 2
    assert seals.verify(trail, SEALER).findings == []
