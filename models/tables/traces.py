"""Personal data of one user in the audit log and in kept responses, and its erasure. The user's id stays with each
action."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import peewee as pw

from models.engine.database import Database, current
from models.records.mailboxes import in_punycode, mailbox
from models.records.table import Table
from models.tables import sealed_rows
from models.tables.audit import Audit
from models.tables.deprecated_use import DeprecatedUse
from models.tables.idempotency import IdempotencyKey
from models.tables.job import CANCELLED, DONE, FAILED, Job
from models.tables.job_chunk import JobChunk
from models.tables.provider_message import ProviderMessage
from models.tables.share import Share
from models.tables.user import User

_SPAN = 20_000  # audit rows that one statement searches
_AT_ONCE = 500  # rows of one statement


def key_of(user: User) -> str:
    """Returns the user as a principal and a grantee."""
    return f"user:{user.id}"


def events_naming(user: User, after: int = 0) -> list[int]:
    """Returns the numbers, beyond `after`, of the audit rows with personal data of this user that was not erased yet.

    They are the user's actions, attempts with the user's account or e-mail address, and facts about the user.
    """
    # Across tenants: a failed login is recorded where it was tried.
    last = int(Audit.select(pw.fn.MAX(Audit.seq)).scalar() or 0)
    spans = ((start, min(start + _SPAN, last)) for start in range(after, last, _SPAN))
    return [seq for span in spans for seq in _events_within(user, *span)]


def events_about(tenant_id: str, ids: Iterable[str]) -> list[int]:
    """Returns the numbers of the audit rows about these objects of a tenant that contain personal data."""
    return [row.seq for batch in pw.chunked(list(ids), _AT_ONCE) for row in Audit.select(Audit.seq).where(
        Audit.tenant_id == tenant_id, Audit.resource_id.in_(batch), _personal())]


def newest_number() -> int:
    """Returns the number of the newest audit row, 0 without rows."""
    return int(Audit.select(pw.fn.MAX(Audit.seq)).scalar() or 0)


def erase_events(seqs: Iterable[int]) -> int:
    """Erases the personal data in these audit rows. Returns the number of rows that had any. Needs a transaction.

    Their seals still prove them.
    """
    return sealed_rows.erase(list(seqs))


def done_by(user: User) -> pw.ModelSelect[Audit]:
    """Returns a query over the audit rows of a user's actions."""
    return Audit.select().where(Audit.tenant_id == user.tenant_id, Audit.principal == key_of(user))


def shares_with(user: User) -> pw.Expression:
    """Returns the condition that a share gives the user a right."""
    mine: pw.Expression = (Share.tenant_id == user.tenant_id) & (Share.grantee == key_of(user))
    return mine


def shares_by(user: User) -> pw.Expression:
    """Returns the condition that the user granted a share on an object of another owner."""
    mine: pw.Expression = (Share.tenant_id == user.tenant_id) & (Share.granted_by == user.id)
    return mine


def keys_of(user: User) -> pw.Expression:
    """Returns the condition that a kept response was sent to the user."""
    mine: pw.Expression = (IdempotencyKey.tenant_id == user.tenant_id) & (
        IdempotencyKey.principal == key_of(user))
    return mine


def uses_of(user: User) -> pw.Expression:
    """Returns the condition that the user called a deprecated endpoint."""
    mine: pw.Expression = (DeprecatedUse.tenant_id == user.tenant_id) & (DeprecatedUse.client == key_of(user))
    return mine


def owned(table: Any, user: User) -> pw.Expression:
    """Returns the condition that a row of the table is the user's."""
    mine: pw.Expression = (table.tenant_id == user.tenant_id) & (table.owner_id == user.id)
    return mine


def provider_logins_of(user: User) -> pw.Expression:
    """Returns the condition that a message of a provider completed a login of the user."""
    # Across tenants: the code of a login belonged to nobody when it came.
    mine: pw.Expression = ProviderMessage.owner_id == user.id
    return mine


def forget_in_answers(user: User) -> int:
    """Deletes the bodies of kept responses that name the user. Returns their number. Needs a transaction.

    A repeated request then gets a response without the body, as if it had been too large to keep.
    """
    ids = [row.id for row in _all(IdempotencyKey, (IdempotencyKey.id, IdempotencyKey.body),
                                  (IdempotencyKey.tenant_id == user.tenant_id) & IdempotencyKey.body.is_null(False))
           if _names(user, bytes(row.body))]
    for batch in pw.chunked(ids, _AT_ONCE):
        IdempotencyKey.update({IdempotencyKey.body: None}).where(IdempotencyKey.id.in_(batch)).execute()
    return len(ids)


def files_naming(database: Database, user: User) -> list[str]:
    """Returns the ids of other users' ended jobs whose kept file names the user."""
    with database.connected():
        ended = {job.id for job in Job.select(Job.id).where(
            Job.tenant_id == user.tenant_id, Job.state.in_((DONE, FAILED, CANCELLED)))}
    of_others = (JobChunk.tenant_id == user.tenant_id) & (JobChunk.owner_id != user.id)
    jobs: set[str] = set()
    for place in database.with_files():
        tails: dict[str, bytes] = {}  # the end of the chunk before: a name may cross the boundary
        with place.connected():
            for row in _all(JobChunk, (JobChunk.id, JobChunk.job_id, JobChunk.data), of_others):
                data = tails.get(row.job_id, b"") + bytes(row.data)
                tails[row.job_id] = data[-1000:]
                if row.job_id in ended and _names(user, data):
                    jobs.add(row.job_id)
    return sorted(jobs)


def drop_files(jobs: Iterable[str], at: str) -> int:
    """Deletes the files of these jobs, as if they had expired. Returns the number of jobs. Needs a transaction.

    `job_chunk.sweep` later deletes those in a database of files.
    """
    dropped = list(jobs)
    for batch in pw.chunked(dropped, _AT_ONCE):
        JobChunk.delete().where(JobChunk.job_id.in_(batch)).execute()
        Job.update({Job.expires_at: at}).where(Job.id.in_(batch), Job.expires_at.is_null(False)).execute()
    return len(dropped)


def count(model: type[Table], where: pw.Expression) -> int:
    """Returns the number of rows that satisfy a condition; for chunks, includes those in the database of files."""
    places: tuple[Database, ...] = current.with_files()
    number = 0
    for place in places if model is JobChunk else places[:1]:
        with place.connected():
            number += model.select().where(where).count()
    return number


def delete_all(model: Any, where: pw.Expression, resource: str | None = None) -> int:
    """Deletes the rows that satisfy a condition, in batches. Returns their number. Needs a transaction. With a
    `resource`, also deletes their shares."""
    number = 0
    while ids := [row.id for row in model.select(model.id).where(where).limit(_AT_ONCE)]:
        if resource is not None:
            Share.delete().where(Share.resource == resource, Share.object_id.in_(ids)).execute()
        number += int(model.delete().where(model.id.in_(ids)).execute())
    return number


def _events_within(user: User, after: int, last: int) -> list[int]:
    facts = pw.fn.LOWER(Audit.facts)
    names = (*(form for address in _addresses(user) for form in _as_json(address)),
             *(f'"{name}"' for name in _as_json(user.name)))
    places = [(pw.fn.INSTR if current.dialect == "sqlite" else pw.fn.STRPOS)(facts, text) for text in names]
    about = Audit.facts.is_null(False) | ((Audit.resource == "session") & (Audit.result != "allowed"))
    mine: Any = (Audit.principal == key_of(user)) | ((Audit.resource_id == user.id) & about)
    for place in places:
        mine |= place > 0
    query = Audit.select(Audit.seq).where(Audit.seq > after, Audit.seq <= last, mine, _personal())
    return [row.seq for row in query.order_by(Audit.seq)]


def _personal() -> pw.Expression:
    condition: pw.Expression = (
        Audit.address.is_null(False) | Audit.request_id.is_null(False) | Audit.facts.is_null(False))
    return condition


def _addresses(user: User) -> set[str]:
    """Returns the user's e-mail address as it is stored, and in the other spellings that may have been recorded."""
    return {user.email, mailbox(user.email), in_punycode(user.email)}


def _as_json(text: str) -> set[str]:
    """Returns the forms of a text inside a string of JSON, in lower case."""
    return {json.dumps(text)[1:-1].lower(), orjson.dumps(text).decode()[1:-1].lower()}


def _names(user: User, data: bytes) -> bool:
    """True if the bytes of a response or a file contain the user's e-mail address or name as whole words."""
    small = data.lower()
    texts = {form.encode() for name in (*_addresses(user), user.name) for form in (name.lower(), *_as_json(name))}
    return any(re.search(rb"(?<!\w)" + re.escape(text) + rb"(?!\w)", small) for text in texts)


def _all(model: Any, columns: Iterable[pw.Field], where: pw.Expression) -> Iterator[Any]:
    """Yields rows in the order of their ids, few at a time. Rows may be deleted meanwhile."""
    last = "00000000-0000-0000-0000-000000000000"
    while rows := list(model.select(*columns).where(where, model.id > last).order_by(model.id).limit(20)):
        yield from rows
        last = rows[-1].id
