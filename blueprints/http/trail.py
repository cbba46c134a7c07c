"""The audit trail of one process beside its requests: refusals on their way to the database, and the seals.

Refusals are kept in memory for about a second and identical ones merged, so that a flood of them neither slows a
writer nor fills the disk. What service tokens note about their use goes the same way: no request, and no GET,
writes for its own sake.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest, digest
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from models import seals
from models.audit import Audit, append
from models.base import later, now
from models.errors import RowError, TimedOut, Unavailable
from models.service_token import ServiceToken

if TYPE_CHECKING:
    from models.database import Database

    from .keys import Keys

log = logging.getLogger("gatepost.audit")

MOST = 1000  # different refusals kept apart between two flushes; the rest is only counted
NOTED_EVERY = 60.0  # seconds between two notes that a service token is in use


class Refusal(NamedTuple):
    """What makes two refusals the same."""

    tenant_id: str
    principal: str
    role: str
    action: str
    resource: str
    resource_id: str | None
    address: str | None
    result: str
    reason: str
    policy_version: str


@dataclass
class _Merged:
    request_id: str
    time: str = field(default_factory=now)
    count: int = 1


class Trail:
    """Collects what one process has to tell, and seals what all of them told."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database, self._keys = database, keys
        self._lock = Lock()
        self._waiting: dict[Refusal, _Merged] = {}
        self._used: dict[str, str] = {}
        self._noted: dict[str, str] = {}

    def refuse(self, refusal: Refusal, request_id: str) -> None:
        """Keep a refusal for the next flush."""
        with self._lock:
            known = self._waiting.get(refusal)
            if known is None and len(self._waiting) >= MOST:
                refusal = Refusal(refusal.tenant_id, "*", "*", "*", "*", None, None, refusal.result,
                                  "too many to tell apart", refusal.policy_version)
                known = self._waiting.get(refusal)
            if known is None:
                self._waiting[refusal] = _Merged(request_id)
            else:
                known.count += 1

    def used(self, token_id: str, last_used_at: str | None) -> None:
        """Note that a service token is in use, unless that was noted a moment ago."""
        moment = now()
        recently = max(last_used_at or "", self._noted.get(token_id, ""))
        if recently and recently > later(-NOTED_EVERY, moment):
            return
        with self._lock:
            if len(self._noted) > MOST:
                self._noted.clear()
            self._noted[token_id] = self._used[token_id] = moment

    def flush(self) -> None:
        """Store what waits, in one transaction. Raises `RowError`; then it waits for the next flush."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            used, self._used = self._used, {}
        if not waiting and not used:
            return
        rows = [_row(refusal, merged) for refusal, merged in waiting.items()]

        def work() -> None:
            append(rows)
            for token_id, at in sorted(used.items()):
                ServiceToken.touch(token_id, at)

        try:
            self._database.transact(work)
        except (Unavailable, TimedOut):
            self._keep(waiting, used)
            raise
        except RowError:
            # One row that the database will never take must not keep all others waiting.
            self._one_by_one(rows)

    def seal(self) -> int:
        """Chain the rows that were committed since the last seal; how many."""
        (kid, key), *_ = self._keys.every("audit seal")
        return seals.seal(self._database, lambda content: f"{kid}:{digest(key, content, 'sha256').hex()}")

    def _keep(self, waiting: dict[Refusal, _Merged], used: dict[str, str]) -> None:
        with self._lock:
            for refusal, merged in waiting.items():
                later_one = self._waiting.get(refusal)
                merged.count += later_one.count if later_one is not None else 0
                self._waiting[refusal] = merged
            self._used = used | self._used

    def _one_by_one(self, rows: list[Audit]) -> None:
        for row in rows:
            try:
                self._database.transact(lambda row=row: append([row]))  # type: ignore[misc]
            except RowError as error:
                log.error("a refusal could not be recorded: %s: %s", type(error).__name__, error)


def prover(keys: Keys) -> Callable[[bytes, str], bool]:
    """What tells whether a seal's head was made of these bytes by a key of this instance."""
    known = dict(keys.every("audit seal"))

    def prove(content: bytes, head: str) -> bool:
        kid, _, code = head.partition(":")
        key = known.get(kid)
        return key is not None and compare_digest(digest(key, content, "sha256").hex(), code)

    return prove


def _row(refusal: Refusal, merged: _Merged) -> Audit:
    reason = refusal.reason if merged.count == 1 else f"{refusal.reason} ({merged.count} times)"
    return Audit(**refusal._replace(reason=reason)._asdict(), time=merged.time, count=merged.count,
                 request_id=merged.request_id)
