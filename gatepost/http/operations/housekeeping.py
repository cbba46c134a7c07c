"""Deletion of expired rows, and of rows at the end of their retention."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from models.base import DAY, later, now
from models.engine.errors import Busy
from models.tables import activity, backup, policy_use, policy_version, seals
from models.tables.contact import ContactMessage
from models.tables.email_verification import EmailVerification
from models.tables.idempotency import IdempotencyKey
from models.tables.job import Job
from models.tables.job_chunk import KEPT, JobChunk, sweep
from models.tables.login_challenge import LoginChallenge
from models.tables.passkey import UsedChallenge
from models.tables.password_link import PasswordLink
from models.tables.provider_message import ProviderMessage
from models.tables.session import Session

if TYPE_CHECKING:
    from models.engine.database import Database
    from settings import Settings

_BATCH, _BATCHES = 200, 100  # rows in one transaction, transactions in a row
_CHUNKS = 20  # chunks of job files in one transaction; each is long


def delete_expired(database: Database) -> None:
    """Deletes expired sessions, links of users, messages of providers, idempotency keys, files of jobs and counts of
    requests.

    Leaves the rest for the next run if there are too many. Raises `RowError`.
    """
    # Requests that write have priority; deletion can wait for a minute.
    with suppress(Busy):
        for purge in (Session.purge, PasswordLink.purge, EmailVerification.purge, LoginChallenge.purge,
                      UsedChallenge.purge, ProviderMessage.purge, IdempotencyKey.purge):
            _in_batches(database, purge, now())
        _in_batches(database, JobChunk.purge, later(-KEPT), _CHUNKS)
        database.transact(lambda: activity.purge(later(-activity.KEPT)))
        sweep(database, _CHUNKS)


def end_retention(settings: Settings, database: Database) -> int:
    """Deletes rows at the end of their retention, and returns their number.

    These are audit events, contact messages and ended jobs older than the settings `audit_days`, `contact_days` and
    `job_days`, policy versions that were replaced before the oldest audit event, and old counts of rule uses.
    """
    number = _in_batches(database, policy_use.purge, later(-policy_use.KEPT))
    number += _in_batches(database, backup.purge, later(-backup.KEPT))
    if settings.contact_days:
        number += _in_batches(database, ContactMessage.purge, later(-settings.contact_days * DAY))
    if settings.job_days:
        number += _in_batches(database, Job.purge, later(-settings.job_days * DAY))
    if settings.audit_days:
        number += seals.retire(database, later(-settings.audit_days * DAY))
        number += database.transact(lambda: policy_version.purge(_BATCH))
    return number


def _in_batches(database: Database, purge: Callable[[str, int], int], before: str, size: int = _BATCH) -> int:
    """Deletes in short transactions, so that other writers get their turn. Returns the number of rows."""
    number = 0
    for _ in range(_BATCHES):
        deleted = database.transact(lambda: purge(before, size))
        number += deleted
        if deleted < size:
            break
    return number
