"""Export of all data about one user, as the lines of a file.

Each line names its kind: `{"about": "articles", "row": {…}}`. Rows of a collection are the same as in its answers. The
last line, `{"about": "end", "rows": 12}`, shows that the file is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import peewee as pw

from gatepost.collections.erasing import Collections
from gatepost.http.reading.readable import Readable
from gatepost.http.schemas.guarded import remove
from models.engine.database import Database
from models.records.table import Table
from models.tables import traces
from models.tables.audit import Audit
from models.tables.deprecated_use import DeprecatedUse
from models.tables.email_verification import EmailVerification
from models.tables.idempotency import IdempotencyKey
from models.tables.identity import Identity
from models.tables.job_chunk import JobChunk
from models.tables.passkey import Passkey
from models.tables.password_link import PasswordLink
from models.tables.provider_message import ProviderMessage
from models.tables.second_factor import SecondFactor
from models.tables.share import Share
from models.tables.user import User

Line = Mapping[str, Any]
Hidden = Callable[[Readable, Mapping[str, Any]], Collection[str]]
"""Returns the fields of a row of a collection to leave out."""

AT_ONCE = 100  # rows read at once; they may be long, and are all in memory
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"  # an id before all others
_AUDIT_COLUMNS = ("id", "time", "action", "resource", "resource_id", "address", "result", "request_id", "count",
                  "facts")
_BESIDES: tuple[tuple[str, type[Table], Callable[[User], pw.Expression], tuple[str, ...]], ...] = (
    ("shares with me", Share, traces.shares_with, ("resource", "object_id", "right", "created_at")),
    ("shares that I granted", Share, traces.shares_by, ("resource", "object_id", "grantee", "right", "created_at")),
    ("idempotency keys", IdempotencyKey, traces.keys_of,
     ("method", "path", "key", "status", "created_at", "expires_at")),
    ("files of jobs", JobChunk, partial(traces.owned, JobChunk), ("job_id", "number", "size", "created_at")),
    ("uses of what is deprecated", DeprecatedUse, traces.uses_of, ("endpoint", "count", "last_used_at")),
    ("password links", PasswordLink, partial(traces.owned, PasswordLink), ("created_at", "expires_at", "mailed")),
    ("address verifications", EmailVerification, partial(traces.owned, EmailVerification),
     ("email", "created_at", "expires_at")),
    ("passkeys", Passkey, partial(traces.owned, Passkey), ("name", "rp_id", "created_at", "last_used_at")),
    ("identities at providers", Identity, partial(traces.owned, Identity),
     ("issuer", "subject", "created_at", "last_used_at")),
    ("logins with a provider", ProviderMessage, traces.provider_logins_of,
     ("issuer", "sid", "created_at", "expires_at")),
    ("second factors", SecondFactor, partial(traces.owned, SecondFactor),
     ("created_at", "confirmed_at", "recovery_codes")),
)
_NUMBER_ALONE = frozenset(("recovery_codes",))  # lists of hashes


def lines(database: Database, person: User, collections: Collections, without: Iterable[str] = (),
          hidden: Hidden | None = None) -> Iterator[Line]:
    """Yields the lines. Rows are read in batches, and the connection is released in between.

    without  names of collections to leave out
    hidden   returns the fields to leave out; None: none
    """
    number = 0
    for line in _lines(database, person, collections, frozenset(without), hidden or _nothing):
        number += 1
        yield line
    yield {"about": "end", "rows": number}


def _lines(database: Database, person: User, collections: Collections, without: frozenset[str],
           hidden: Hidden) -> Iterator[Line]:
    users = collections["users"]
    yield from _collection_lines(database, users, person, User.id == person.id, hidden)
    for name, collection in collections.items():
        where = collection.of_person(person)
        if where is not None and name not in without:
            yield from _collection_lines(database, collection, person, where, hidden)
    for about, model, condition, names in _BESIDES:
        for place in database.with_files() if model is JobChunk else (database,):
            for row in _rows(place, model, condition(person)):
                yield {"about": about, "row": {name: len(row[name]) if name in _NUMBER_ALONE else row[name]
                                               for name in names}}
    audit = collections.get("audit")
    for row in _audit_events(database, person):
        # Rules about the audit log decide who may see the facts. Without that feature they have no effect.
        left_out = hidden(audit, row) if audit is not None else ("facts",)
        visible = [name for name in _AUDIT_COLUMNS if name not in left_out]
        yield {"about": "audit", "row": {name: row[name] for name in visible}}


def _collection_lines(database: Database, collection: Readable, person: User, where: pw.Expression,
                      hidden: Hidden) -> Iterator[Line]:
    """Yields the lines of a collection's rows, encoded as in its answers."""
    names = collection.representation.names
    for row in _rows(database, collection.model, where, collection):
        left_out = hidden(collection, row)
        answer = collection.representation.encode(row, names)
        remove(answer, left_out)
        yield {"about": collection.name, "row": answer}


def _rows(database: Database, model: Any, where: pw.Expression,
          collection: Readable | None = None) -> Iterator[dict[str, Any]]:
    """Yields the columns of the rows that satisfy a condition, ordered by id, with the collection's attached fields."""
    last = _BEFORE_ALL
    while True:
        with database.connected():
            batch = list(model.select().where(where, model.id > last).order_by(model.id).limit(AT_ONCE))
            rows = [dict(row.__data__) for row in batch]
            if collection is not None and rows:
                for tenant_id in dict.fromkeys(row["tenant_id"] for row in rows):
                    collection.attach(tenant_id, [row for row in rows if row["tenant_id"] == tenant_id])
        yield from rows
        if len(rows) < AT_ONCE:
            return
        last = rows[-1]["id"]


def _audit_events(database: Database, person: User) -> Iterator[dict[str, Any]]:
    last = 0
    while True:
        with database.connected():
            query = traces.done_by(person).where(Audit.seq > last).order_by(Audit.seq).limit(AT_ONCE)
            rows = [dict(row.__data__) for row in query]
        yield from rows
        if len(rows) < AT_ONCE:
            return
        last = rows[-1]["seq"]


def _nothing(_: Readable, __: Mapping[str, Any]) -> Collection[str]:
    return ()
