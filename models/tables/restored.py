"""Ends work that was under way, after a backup is restored or an instance is moved."""

from __future__ import annotations

from secrets import token_hex

import peewee as pw

from models.records.times import now
from models.tables.email_verification import EmailVerification
from models.tables.idempotency import IdempotencyKey
from models.tables.instance import Instance
from models.tables.job import FAILED, RUNNING, WAITING, Job
from models.tables.login_challenge import LoginChallenge
from models.tables.password_link import PasswordLink
from models.tables.service_token import ServiceToken
from models.tables.session import Session


def new_epoch() -> str:
    """Returns a name for the epoch after a restore: eight hexadecimal digits."""
    return token_hex(4)


def end_what_was_under_way(epoch: str, *, keep_tokens: bool, resume_jobs: bool) -> None:
    """Ends all sessions and mailed or passed on links, deletes kept responses, suspends service tokens (unless
    `keep_tokens`), marks unfinished jobs as failed (unless `resume_jobs`), and begins the epoch. Needs a transaction of
    the restored database."""
    # Across tenants: a restore contains all of them.
    at = now()
    _end_sessions(at)
    IdempotencyKey.delete().execute()
    if not keep_tokens:
        ServiceToken.update({ServiceToken.held_hash: ServiceToken.token_hash, ServiceToken.token_hash: ""}).where(
            ServiceToken.held_hash.is_null()).execute()
    if resume_jobs:
        Job.update({Job.state: WAITING, Job.lease: None, Job.leased_until: None}).where(_unfinished()).execute()
    else:
        _fail_jobs(at, "a backup was restored")
    Instance.update({Instance.epoch: epoch, Instance.restored_at: at}).execute()


def end_after_move() -> tuple[int, int]:
    """Ends all sessions and links, marks unfinished jobs as failed. Returns the numbers of sessions and jobs.

    Needs a transaction of the database that rows were moved to. Everything else stays valid: kept responses, tokens,
    cursors and entity tags.
    """
    at = now()
    return _end_sessions(at), _fail_jobs(at, "the instance was moved to another database")


def _end_sessions(at: str) -> int:
    # Across tenants, as above. A restored link may have been used after the backup.
    PasswordLink.delete().execute()
    EmailVerification.delete().execute()
    LoginChallenge.delete().execute()
    return int(Session.update({Session.revoked_at: at}).where(Session.revoked_at.is_null()).execute())


def _fail_jobs(at: str, error: str) -> int:
    # Across tenants, as above.
    return int(Job.update({Job.state: FAILED, Job.done_at: at, Job.lease: None, Job.leased_until: None,
                           Job.last_error: error}).where(_unfinished()).execute())


def _unfinished() -> pw.Expression:
    condition: pw.Expression = Job.state.in_([WAITING, RUNNING])
    return condition


def release_tokens(*ids: str) -> int:
    """Re-enables tokens that a restore suspended: these, or all of them without an id. Returns their number."""
    # Across tenants: for operators.
    suspended: pw.Expression = ServiceToken.held_hash.is_null(False)
    chosen = suspended & ServiceToken.id.in_(ids) if ids else suspended
    back = {ServiceToken.token_hash: ServiceToken.held_hash, ServiceToken.held_hash: None}
    return int(ServiceToken.update(back).where(chosen).execute())
