"""Sessions: one for each login, extended by exchanging its refresh token."""

from __future__ import annotations

from typing import NamedTuple

import peewee as pw

from models.engine.database import Database
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.records.columns import IdField, JsonField, ListField, TimeField
from models.records.rows import Rows, expire, locked
from models.records.table import Record
from models.records.times import later, now
from models.tables.user import User

API, CONSOLE = "api", "console"  # kinds of sessions
KEPT = 3600  # seconds for which the row of an ended session is kept
COUNTED = 100_000  # live sessions to count at most


class SessionUser(NamedTuple):
    """The columns of a session and its user that every request reads."""

    user_id: str
    tenant_id: str
    role: str
    department: str | None
    groups: tuple[str, ...]
    active: bool
    token_version: int
    expires_at: str
    revoked_at: str | None


class Session(Record):
    """A login of the user `owner_id` on the API or the console (`kind`), from `address` with a `device`
    (`r.env.device`); null if not known.

    Only hashes of refresh tokens, or of the console's cookie, are stored: of the valid one, and of recently used ones
    (`recent`, each with the time of its use, the oldest first). All sessions that descend from one login share
    `family`. `last_used_at` is the last time that the session was opened or refreshed, or the console was used. It ends
    at `expires_at`. A refresh or use extends that, up to `absolute_expires_at`; `revoke` ends the session at once. Its
    row is deleted some time later: a token of a missing session is as invalid as one of an ended session. `login` is
    what features noted of the login, by name.
    """

    owner_id = IdField()
    kind = pw.TextField(default=API)
    family = IdField()
    token_hash = pw.TextField()
    recent = ListField(column_name="previous_hash", null=True)
    last_used_at = TimeField(null=True)  # null only in the schema; every row has a value
    expires_at = TimeField()
    absolute_expires_at = TimeField()
    revoked_at = TimeField(null=True)
    address = pw.TextField(null=True)
    device = pw.TextField(null=True)
    login = JsonField(null=True)

    class Meta:
        table_name = "sessions"

    @property
    def proved_at(self) -> str:
        """The time at which the user proved who they are: of the login, or earlier if a feature notes `since`."""
        return min(self.created_at, (self.login or {}).get("since", self.created_at))

    def stamp(self, tenant_id: str, at: str) -> None:
        super().stamp(tenant_id, at)
        self.last_used_at = self.last_used_at or self.created_at

    @classmethod
    def by_id(cls, id: str, *, lock: bool = False) -> Session | None:
        """Returns a session. `lock`: no other transaction may change it before this one ends."""
        # Across tenants: the owner is not known before the session is read.
        query = cls.select().where(cls.id == id)
        return (locked(query) if lock else query).first()

    @classmethod
    def user_of(cls, database: Database, id: str) -> SessionUser | None:
        """Returns the session and its user, by primary keys, in one statement: the first query of every request."""
        rows = _user_of(database).recall(database, {"id": id})
        if not rows:
            return None
        user_id, tenant_id, role, department, groups, active, *rest = rows[0]
        return SessionUser(user_id, tenant_id, role, department, tuple(User.groups.python_value(groups)), bool(active),
                           *rest)

    @classmethod
    def touch(cls, id: str, at: str, until: str) -> None:
        """Notes that a session of the console is in use, and extends it."""
        # Across tenants, and without a new version: a use is no change.
        cls.update({cls.last_used_at: at, cls.expires_at: until}).where(
            cls.id == id, cls.revoked_at.is_null()).execute()

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an ended session is useless in any of them.
        return expire(cls.expires_at, later(-KEPT, before), most)


def live() -> int:
    """Returns the number of live sessions, `COUNTED` at most. The database is connected."""
    # Across tenants: for operators.
    sessions = Session.select(Session.id).where(Session.revoked_at.is_null(), Session.expires_at > now()).limit(COUNTED)
    return int(sessions.count())


@cache_sql
def _user_of(database: Database) -> Prepared:
    # Across tenants: the owner is not known before the session is read.
    columns = (User.id, User.tenant_id, User.role, User.department, User.groups, User.active, User.token_version,
               Session.expires_at, Session.revoked_at)
    return prepare(database, Session.select(*columns).join(User, on=(User.id == Session.owner_id)).where(
        Session.id == Bind("id")))


def revoke(tenant_id: str, *where: pw.Expression) -> int:
    """Ends the tenant's sessions that satisfy `where` and had not been ended before. Returns their number."""
    at = now()
    return Rows(Session, tenant_id).change({Session.revoked_at: at, Session.expires_at: at},
                                           Session.revoked_at.is_null(), *where)


def end_all(user: User) -> None:
    """Ends every session of the user, and invalidates the access tokens issued so far. The caller saves the user
    afterwards."""
    revoke(user.tenant_id, Session.owner_id == user.id)
    user.token_version += 1


def keep_newest(session: Session, most: int) -> int:
    """Ends the live sessions of its user, except this one and the `most` - 1 others that were used last. Returns their
    number."""
    # After a clock was set back, others may be newer than this one.
    others = (Rows(Session, session.tenant_id).select(Session.id)
              .where(Session.owner_id == session.owner_id, Session.expires_at > now(), Session.id != session.id))
    last = others.order_by(Session.last_used_at.desc(), Session.id.desc())
    return revoke(session.tenant_id, Session.id.in_(last.offset(most - 1)))
