"""Access reviews: every user, with the facts that show whether the account is still used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import peewee as pw

from models.engine.database import current
from models.engine.prepared import Bind, prepare
from models.records.table import Table
from models.records.times import now
from models.tables.audit import Audit
from models.tables.service_token import ServiceToken
from models.tables.session import Session
from models.tables.tenant import Tenant
from models.tables.user import User

AT_ONCE = 5_000  # users of one statement: constant memory, and far below the time limit of a statement
_BATCH = 500  # ids in one statement


class Account(NamedTuple):
    """A user of some tenant.

    password    True if the user can log in with a password
    last_login  from the audit log, as far back as it goes, and the present sessions; None: not known
    last_use    the last audit row, refresh of a session, or use of a service token; None: not known
    tokens      number of valid service tokens
    groups      the user's groups
    """

    id: str
    tenant: str
    email: str
    role: str
    active: bool
    password: bool
    email_verified_at: str | None
    last_login: str | None
    last_use: str | None
    tokens: int
    groups: tuple[str, ...]


def accounts(unusable: str) -> Iterator[Account]:
    """Yields every user of every tenant, the oldest account first, `AT_ONCE` a statement. Raises Damaged.

    unusable  the stored hash of an account without a password
    """
    statement, last = prepare(current, _accounts()), ""
    while True:
        rows = statement.run(current, _values(last or _BEFORE_ALL, unusable))
        yield from map(_account, rows)
        if len(rows) < AT_ONCE:
            return
        last = rows[-1][0]


def accounts_of(tenant_id: str, ids: Sequence[str], unusable: str) -> dict[str, Account]:
    """Returns those of these users of a tenant that exist, by id; at most a page of them. Raises Damaged."""
    statement = prepare(current, _accounts().where(User.tenant_id == tenant_id, User.id.in_(ids)))
    rows = statement.run(current, _values(_BEFORE_ALL, unusable))
    return {account.id: account for account in map(_account, rows)}


def active_of(ids: Sequence[str]) -> dict[str, bool]:
    """Returns for each of these users, by id, whether the account is active. Missing and erased users are left out."""
    # Across tenants: policy rules name users of any.
    batches = (ids[start:start + _BATCH] for start in range(0, len(ids), _BATCH))
    return {user.id: user.active for batch in batches
            for user in User.select(User.id, User.active).where(User.id.in_(batch), User.erased_at.is_null())}


def _accounts() -> pw.ModelSelect[Any]:
    # Across tenants: the operator is responsible for all of them.
    key = pw.NodeList((pw.SQL("'user:' ||"), User.id))
    theirs = (Audit.tenant_id == User.tenant_id) & (Audit.principal == key)
    # Constants in the statement itself: SQLite uses the index of logins only if it sees that they equal those of the
    # index.
    login = [column == pw.SQL(value) for column, value in (
        (Audit.resource, "'session'"), (Audit.action, "'create'"), (Audit.result, "'allowed'"))]
    valid = ServiceToken.expires_at.is_null() | (ServiceToken.expires_at > Bind("now"))
    return (User.select(User.id, Tenant.name, User.email, User.role, User.active,
                        User.password_hash != Bind("unusable"), User.email_verified_at,
                        _last(Audit, Audit.time, theirs, *login), _last(Session, Session.created_at, *_owned(Session)),
                        _last(Audit, Audit.time, theirs), _last(Session, Session.last_used_at, *_owned(Session)),
                        _last(ServiceToken, ServiceToken.last_used_at, *_owned(ServiceToken)),
                        ServiceToken.select(pw.fn.COUNT(ServiceToken.id)).where(*_owned(ServiceToken), valid),
                        User.groups)
            .join(Tenant, on=(Tenant.id == User.tenant_id))
            .where(User.id > Bind("after"), User.erased_at.is_null()).order_by(User.id).limit(AT_ONCE))


def _account(row: Sequence[Any]) -> Account:
    id, tenant, email, role, active, password, verified_at, *rest = row
    login, opened, last_write, refreshed, used, tokens, groups = rest
    return Account(id, tenant, email, role, bool(active), bool(password), verified_at, _latest(login, opened),
                   _latest(login, opened, last_write, refreshed, used), tokens, tuple(User.groups.python_value(groups)))


def _values(after: str, unusable: str) -> dict[str, str]:
    return {"after": after, "now": now(), "unusable": unusable}


def _last(table: type[Table], time: pw.Field, *where: pw.Expression) -> pw.ModelSelect[Any]:
    return table.select(pw.fn.MAX(time)).where(*where)


def _owned(table: type[Session] | type[ServiceToken]) -> tuple[pw.Expression, pw.Expression]:
    return table.tenant_id == User.tenant_id, table.owner_id == User.id


def _latest(*times: str | None) -> str | None:
    return max((time for time in times if time is not None), default=None)


_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"
