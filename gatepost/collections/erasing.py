"""Erasure of a user: lists the data of a user, and erases it.

Each of the three steps can be repeated. `begin` disables the user, so that nothing more is stored in their name.
`erase_rows` erases their rows in one transaction. `clean_up` overwrites the remains in the files of the database. If an
erasure is interrupted, run the command again with the e-mail address or id: it completes the erasure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic, sleep
from typing import Any

from gatepost.collections.collection import Collection
from gatepost.http.security.passwords import UNUSABLE
from gatepost.http.writing.writable import ANONYMISE, DELETE, HAND_OVER
from models.base import Rows, now
from models.engine.database import Database, current
from models.engine.errors import TimedOut
from models.records.search import index_changed
from models.records.table import Table
from models.tables import erasure, remains, traces
from models.tables.audit import Audit, add
from models.tables.deprecated_use import DeprecatedUse
from models.tables.email_verification import EmailVerification
from models.tables.idempotency import IdempotencyKey
from models.tables.identity import Identity
from models.tables.job import Job
from models.tables.job_chunk import JobChunk, sweep
from models.tables.login_challenge import LoginChallenge
from models.tables.passkey import Passkey
from models.tables.password_link import PasswordLink
from models.tables.provider_message import ProviderMessage
from models.tables.second_factor import SecondFactor
from models.tables.session import end_all
from models.tables.share import Share
from models.tables.user import User

Collections = Mapping[str, Collection]
WRITERS = 60.0  # seconds to wait for open transactions
_AT_ONCE = 500  # rows of one statement
_LOCK_WAIT = 200  # milliseconds that other writers are blocked at a time
STAYS = "stays"  # the fate of rows to hand over if there is no heir


class CannotErase(Exception):
    """Error of a user who cannot be erased. The message is a sentence."""


@dataclass(frozen=True)
class RowCount:
    """Number of rows of one kind, and the effect of the erasure on them."""

    kind: str
    number: int
    fate: str


def find(person: User, collections: Collections, heir: User | None) -> list[RowCount]:
    """Counts the rows of a user by kind. The database must be connected."""
    counts = [RowCount(name, rows.count(), HAND_OVER if fate == HAND_OVER and heir is not None else
                    STAYS if fate == HAND_OVER else fate)
              for name, fate, rows in _rows_in_collections(person, collections)]
    for kind, model, where in _rows_outside_collections(person):
        counts.append(RowCount(kind, traces.count(model, where), DELETE))
    counts.append(RowCount("audit rows", len(traces.events_naming(person)), ANONYMISE))
    return [count for count in counts if count.number]


def require_another_administrator(person: User) -> None:
    """Raises CannotErase for the last active administrator."""
    if person.administers and User.administrators() == [person.id]:
        raise _last_administrator(person)


def require_heir(person: User, heir: User) -> None:
    """Raises CannotErase if the heir cannot get the rows of the user."""
    if heir.id == person.id:
        raise CannotErase("The rows cannot be handed over to the person who is erased.")
    if heir.tenant_id != person.tenant_id:
        raise CannotErase(f"{heir.email} is in another tenant: rows stay in theirs.")
    if not heir.active or heir.erased_at is not None:
        raise CannotErase(f"{heir.email} is disabled: rows are handed over to an active user.")


def begin(database: Database, person: User, heir: User | None) -> None:
    """Disables the user, ends their sessions, and waits for their open transactions.

    Raises CannotErase for the last administrator, and then changes nothing; also if a transaction does not end.
    """
    def work() -> None:
        administrators = User.administrators(lock=True)
        row = Rows(User, person.tenant_id).find(person.id, lock=True)
        if row is None or row.erased_at is not None:
            return
        if administrators == [row.id]:
            raise _last_administrator(row)
        if row.active:
            _record(row, "disable", "command line: an erasure begins")
        row.active = False
        end_all(row)
        Rows(User, row.tenant_id).save(row)
        erasure.begin(row.id, None if heir is None else heir.id)

    database.transact(work)
    _await_writers(database)


def erase_rows(database: Database, person: User, collections: Collections, heir: User | None, *,
               reason: str = "command line") -> None:
    """Erases the rows of a user in one transaction, after `begin`. Does nothing if the user is erased already.

    Raises `StillReferenced` if a row that stays refers to a row that is to be deleted.
    """
    # Search before the transaction, so that other writers wait less. The transaction searches only newer audit events.
    with database.connected():
        last_event = traces.newest_number()
        audit_events = traces.events_naming(person)
    files = traces.files_naming(database, person)

    def work() -> None:
        row = Rows(User, person.tenant_id).find(person.id, lock=True)
        if row is None or row.erased_at is not None:
            return
        moment = now()
        other_events = _events_about_rows(row, collections)
        for name, fate, _ in list(_rows_in_collections(row, collections)):
            _erase_collection(row, collections[name], fate, heir, moment)
        for _, model, where in _rows_outside_collections(row):
            traces.delete_all(model, where)
        traces.forget_in_answers(row)
        traces.drop_files(files, moment)
        traces.erase_events([*audit_events, *other_events, *traces.events_naming(row, after=last_event)])
        row.bury(UNUSABLE, moment)
        Rows(User, row.tenant_id).save(row)
        erasure.end(row.id, moment)
        _record(row, "erase", reason)

    database.transact(work)


def clean_up(database: Database, collections: Collections, patience: float = remains.PATIENCE) -> None:
    """Deletes files of erased users from the file database, and overwrites remains in both databases.

    Raises the errors of `remains.overwrite`.
    """
    sweep(database, _AT_ONCE)
    remains.overwrite(database, _erased_tables(collections), patience)


def _erased_tables(collections: Collections) -> list[type[Table]]:
    """Lists the tables with rows that an erasure deletes or anonymises."""
    models = [collection.model for collection in collections.values() if collection.on_erase != HAND_OVER]
    others = [table for _, table, _ in _OUTSIDE_COLLECTIONS]
    return list(dict.fromkeys([User, Audit, Job, *others, *models]))


def _rows_in_collections(person: User, collections: Collections) -> Iterator[tuple[str, str, Any]]:
    """Yields (collection, its `on_erase`, query for the user's rows) of each collection with rows of users."""
    for name, collection in collections.items():
        where = collection.of_person(person)
        if where is not None:
            # Across tenants: the id and the e-mail address of a user are the same in all of them.
            yield name, collection.on_erase, collection.model.select().where(where)


def _events_about_rows(person: User, collections: Collections) -> list[int]:
    """Lists the numbers of audit events about rows of the user in tables without an owner column."""
    numbers: list[int] = []
    for _, _, rows in _rows_in_collections(person, collections):
        if "owner_id" not in rows.model._meta.fields:
            ids: dict[str, list[str]] = {}
            for row in rows:
                ids.setdefault(row.tenant_id, []).append(row.id)
            numbers += [seq for tenant_id, row_ids in ids.items() for seq in traces.events_about(tenant_id, row_ids)]
    return numbers


# Kind, table and condition of the rows to delete that are in no collection.
_OUTSIDE_COLLECTIONS: tuple[tuple[str, type[Table], Callable[[User], Any]], ...] = (
    ("shares with the person", Share, traces.shares_with),
    ("shares that the person granted", Share, traces.shares_by),
    ("kept answers", IdempotencyKey, traces.keys_of),
    ("uses of what is deprecated", DeprecatedUse, traces.uses_of),
    ("chunks of files", JobChunk, partial(traces.owned, JobChunk)),
    ("password links", PasswordLink, partial(traces.owned, PasswordLink)),
    ("address verifications", EmailVerification, partial(traces.owned, EmailVerification)),
    ("passkeys", Passkey, partial(traces.owned, Passkey)),
    ("identities at providers", Identity, partial(traces.owned, Identity)),
    ("logins with a provider", ProviderMessage, traces.provider_logins_of),
    ("second factors", SecondFactor, partial(traces.owned, SecondFactor)),
    ("logins that wait for a code", LoginChallenge, partial(traces.owned, LoginChallenge)))


def _rows_outside_collections(person: User) -> list[tuple[str, type[Table], Any]]:
    return [(kind, table, condition(person)) for kind, table, condition in _OUTSIDE_COLLECTIONS]


def _erase_collection(person: User, collection: Collection, fate: str, heir: User | None, at: str) -> None:
    """Deletes, anonymises or hands over the user's rows in one collection."""
    model: Any = collection.model
    where: Any = collection.of_person(person)
    if fate == HAND_OVER and heir is None:
        return
    if fate == HAND_OVER:
        assert heir is not None
        changes: dict[str, Any] = {"owner_id": heir.id}
    elif fate == ANONYMISE:
        changes = dict(collection.anonymised)
    else:
        traces.delete_all(model, where, collection.resource)
        return
    stamps = {model.version: model.version + 1, model.updated_at: at}
    ids = [row.id for row in model.select(model.id).where(where)]
    for start in range(0, len(ids), _AT_ONCE):
        batch = ids[start:start + _AT_ONCE]
        model.update({**{getattr(model, name): value for name, value in changes.items()}, **stamps}).where(
            model.id.in_(batch)).execute()
        index_changed(current, model, changes, batch)


def _last_administrator(person: User) -> CannotErase:
    return CannotErase(f"{person.email} is the last active administrator. Make another user one first: "
                       "gatepost user add EMAIL --role admin")


def _record(person: User, action: str, reason: str) -> None:
    add(tenant_id=person.tenant_id, principal="operator", role="operator", resource="user", action=action,
        resource_id=person.id, result="allowed", reason=reason)


def _await_writers(database: Database) -> None:
    """Waits for the transactions that began before the user was disabled.

    SQLite has none, because it has one writer at a time. On Postgres each of them holds a lock on the audit table, or
    is refused when it writes to it. Raises CannotErase after `WRITERS` seconds.
    """
    def without_writers() -> None:
        current.execute_sql(f"SET LOCAL lock_timeout = {_LOCK_WAIT}")
        current.execute_sql("LOCK TABLE audit IN SHARE MODE")

    deadline = monotonic() + WRITERS
    while database.dialect == "postgres":
        try:
            database.transact(without_writers)
            return
        except TimedOut:
            if monotonic() > deadline:
                raise CannotErase("Writes under way do not end. Run the command again later: it goes on.") from None
        sleep(_LOCK_WAIT / 1000)
