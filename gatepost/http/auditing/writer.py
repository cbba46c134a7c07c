"""Background tasks of the audit log: the queue of one process, and the seals of all rows.

Refusals wait in memory and are merged (`refusals`), so that a flood of them neither slows a writer nor fills the disk.
The same transaction stores the uses of service tokens and console sessions (`uses`), and the reads of the audit log:
one row for each principal and hour, even with several processes.

If a COMMIT gets no answer, its rows may or may not be stored. They keep their ids. The next flush first adds those that
are missing, so that each is stored once.
"""

from __future__ import annotations

import logging
from hmac import compare_digest, digest
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from gatepost.http.auditing.refusals import Refusal, Refusals
from models.base import later, now
from models.engine.errors import RowError, TimedOut, Unavailable
from models.engine.sealer import Sealer
from models.records.ids import id_within
from models.tables import seals
from models.tables.audit import Audit, append, append_missing
from models.tables.service_token import ServiceToken
from models.tables.session import Session

if TYPE_CHECKING:
    from gatepost.http.security.keys import Keys
    from models.engine.database import Database

MOST = 1000  # credentials whose last noted use is remembered
NOTED_EVERY = 60.0  # seconds between two noted uses of a credential


class Use(NamedTuple):
    """Time at which a credential was used. `until`: its new end, if the credential ends when it is not used."""

    at: str
    until: str = ""


class Uses:
    """Uses that one process has noted and not stored yet. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, Use] = {}
        self._noted: dict[str, str] = {}

    def note(self, id: str, last_used_at: str | None, until: str = "") -> None:
        """Notes that a credential is in use, unless that was noted within `NOTED_EVERY`."""
        moment = now()
        recently = max(last_used_at or "", self._noted.get(id, ""))
        if recently and recently > later(-NOTED_EVERY, moment):
            return
        with self._lock:
            if len(self._noted) > MOST:
                self._noted.clear()
            self._noted[id], self._waiting[id] = moment, Use(moment, until)

    def take(self) -> dict[str, Use]:
        """Takes all waiting uses: id → use."""
        with self._lock:
            uses, self._waiting = self._waiting, {}
        return uses

    def put_back(self, uses: dict[str, Use]) -> None:
        """Keeps uses that could not be stored, for the next `take`."""
        with self._lock:
            self._waiting = uses | self._waiting


log = logging.getLogger("gatepost.audit")

_PURPOSE = "audit seal"
HOUR = 60 * 60  # seconds in which the reads of the audit log by a principal are one row


class AuditWriter:
    """Writer of the refusals and uses of one process. Also seals the rows of all processes."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database, self._keys = database, keys
        self._lock, self._flushing = Lock(), Lock()
        self._refusals = Refusals()
        self._doubtful: list[Audit] = []
        self._hour = ""
        self._reads: dict[str, Audit | None] = {}  # reads of this hour, by the ids of their rows; None: stored
        self.token_uses, self.session_uses = Uses(), Uses()

    def refuse(self, refusal: Refusal, request_id: str) -> None:
        """Keeps a refusal for a later flush."""
        self._refusals.add(refusal, request_id)

    def look(self, **columns: Any) -> None:
        """Keeps the read of a principal for a later flush. Records it once an hour."""
        at, object_id = now(), columns.get("resource_id")
        parts = f"{columns['resource']}.{columns['action']}", *([] if object_id is None else [object_id])
        row = Audit(**columns, id=id_within(HOUR, *parts, columns["tenant_id"], columns["principal"]), time=at)
        with self._lock:
            if self._hour != at[:13]:
                self._hour = at[:13]
                self._reads = {id: stored for id, stored in self._reads.items() if stored is not None}
            self._reads.setdefault(row.id, row)

    def flush(self, *, early: bool = False) -> None:
        """Stores all waiting rows in one transaction; `early`: also those of the current minute.

        Rows that another thread has taken are also stored before this returns. Raises `RowError`; then the rows wait
        for the next flush.
        """
        with self._flushing:
            self._flush(early=early)

    def _flush(self, *, early: bool) -> None:
        self._store_doubtful()
        refusals = self._refusals.take(early=early)
        token_uses, session_uses = self.token_uses.take(), self.session_uses.take()
        rows, reads = refusals.rows(), self._reads_to_store()
        if not (rows or token_uses or session_uses or reads):
            return
        committed = False

        def work() -> None:
            nonlocal committed
            committed = False
            append(rows)
            append_missing(reads)
            for id, use in sorted(token_uses.items()):
                ServiceToken.touch(id, use.at)
            for id, use in sorted(session_uses.items()):
                Session.touch(id, *use)
            committed = True

        try:
            self._database.transact(work)
        except (Unavailable, TimedOut):
            self.token_uses.put_back(token_uses)
            self.session_uses.put_back(session_uses)
            self._mark_doubtful(reads)
            if committed:
                self._mark_doubtful(rows)
            else:
                self._refusals.put_back(refusals)
            raise
        except RowError:
            # One row that the database refuses must not block all others.
            self._store_each(rows + reads)

    def seal(self) -> int:
        """Seals the rows that were committed since the last seal, and returns their number."""
        return seals.seal(self._database, sealer(self._keys))

    def _reads_to_store(self) -> list[Audit]:
        with self._lock:
            waiting = {id: row for id, row in self._reads.items() if row is not None}
            self._reads.update(dict.fromkeys(waiting))
            return list(waiting.values())

    def _store_doubtful(self) -> None:
        """Adds the missing rows of a COMMIT without an answer. Raises `RowError`."""
        with self._lock:
            rows, self._doubtful = self._doubtful, []
        if not rows:
            return
        try:
            self._database.transact(lambda: append_missing(rows))
        except (Unavailable, TimedOut):
            self._mark_doubtful(rows)
            raise
        except RowError:
            self._store_each(rows)

    def _store_each(self, rows: list[Audit]) -> None:
        lost, last = 0, ""
        for number, row in enumerate(rows):
            try:
                self._database.transact(lambda row=row: append_missing([row]))  # type: ignore[misc]
            except (Unavailable, TimedOut):
                self._mark_doubtful(rows[number:])
                raise
            except RowError as error:
                lost, last = lost + row.count, f"{type(error).__name__}: {error}"
        if lost:
            # One line for all errors, because each has the whole statement.
            log.error("%d refusals could not be recorded, at last: %s", lost, last)

    def _mark_doubtful(self, rows: list[Audit]) -> None:
        with self._lock:
            self._doubtful += rows


def sealer(keys: Keys, *, lenient: bool = False) -> Sealer:
    """Returns the sealer of the audit log: signs with the newest key of the instance, and verifies with any of them."""
    keys_by_kid = dict(keys.every(_PURPOSE))

    def sign(content: bytes) -> str:
        (kid, key), *_ = keys.every(_PURPOSE)
        return f"{kid}:{digest(key, content, 'sha256').hex()}"

    def prove(content: bytes, head: str) -> bool:
        kid, _, code = head.partition(":")
        key = keys_by_kid.get(kid)
        return key is not None and compare_digest(digest(key, content, "sha256").hex(), code)

    return Sealer(sign, prove, lenient)
