"""The jobs beside the requests: what is stored late, what is sealed, what is thrown away after its time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from models.base import later, now
from models.engine.errors import Busy
from models.tables import seals
from models.tables.contact import ContactMessage
from models.tables.idempotency import IdempotencyKey
from models.tables.session import Session

from . import logs
from .background import Background, Job

if TYPE_CHECKING:
    from models.engine.database import Database
    from policies.loading.watch import Watcher
    from settings import Settings

    from ..request.trail import Trail
    from ..security.keys import Keys
    from .deprecation import DeprecatedUses

_MINUTE, _HOUR, _DAY = 60, 60 * 60, 24 * 60 * 60
_BATCH, _BATCHES = 200, 100  # rows in one transaction, transactions in a row


def beside_the_requests(settings: Settings, database: Database, policy: Watcher, keys: Keys, trail: Trail,
                        uses: DeprecatedUses) -> Background:
    """Every job of a serving process, in the order in which those that are due are done."""
    return Background(
        Job("storing refusals", 1, trail.flush, last=lambda: trail.flush(early=True)),
        Job("sealing the audit trail", 2, trail.seal, last=trail.seal),
        Job("storing uses of what is deprecated", 1, uses.store, last=uses.store),
        Job("telling what the log left out", _MINUTE, logs.repetitions.tell),
        Job("following the key file", 1, keys.refresh),
        Job("following the policy files", 1, policy.prove_followed),
        Job("throwing away what has expired", _MINUTE, lambda: throw_away(database)),
        Job("telling the planner how tables have grown", _MINUTE, database.refresh_statistics),
        Job("ending the retention of audit rows and messages", _HOUR, lambda: end_retention(settings, database)),
    )


def throw_away(database: Database) -> None:
    """Delete sessions and remembered answers that nobody can use any more; what is left is done the next time."""
    # Whoever else writes comes first: a minute later is early enough.
    with suppress(Busy):
        for purge in (Session.purge, IdempotencyKey.purge):
            _in_batches(database, purge, now())


def end_retention(settings: Settings, database: Database) -> int:
    """Delete audit rows and contact messages older than the settings `audit_days` and `contact_days`; how many."""
    gone = 0
    if settings.contact_days:
        gone += _in_batches(database, ContactMessage.purge, later(-settings.contact_days * _DAY))
    if settings.audit_days:
        gone += seals.retire(database, later(-settings.audit_days * _DAY))
    return gone


def _in_batches(database: Database, purge: Callable[[str, int], int], before: str) -> int:
    """Delete in short transactions, between which other writers get their turn; how many."""
    gone = 0
    for _ in range(_BATCHES):
        some = database.transact(lambda: purge(before, _BATCH))
        gone += some
        if some < _BATCH:
            break
    return gone
