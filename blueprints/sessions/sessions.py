"""Sessions over HTTP: users list and end their active logins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from marshmallow import fields

from gatepost import Call, Collection, Endpoint, Id, Message, Rows, StrictSchema, Time
from gatepost.http.writing.rules_in_code import RuleInCode, outranked, rank
from models.tables.session import API, CONSOLE, Session, revoke
from models.tables.user import User

_SUMMARIES = {"list": "List the sessions that are in force.", "delete": "End a session: its tokens are refused."}


class SessionSchema(StrictSchema):
    """An active login: its origin, and the time of the last renewal of its tokens."""

    id = Id(dump_only=True)
    created_at = Time(dump_only=True)
    last_used_at = Time(dump_only=True)
    address = fields.String(dump_only=True, allow_none=True, metadata={
        "description": "The address that it was opened from; null where that was not kept, before an upgrade."})
    device = fields.String(dump_only=True, allow_none=True, metadata={
        "description": "The kind of device that opened it: desktop, mobile, tablet, bot or other."})
    kind = fields.String(dump_only=True, metadata={
        "enum": [API, CONSOLE], "description": "What it was opened for: the API, or the console's pages."})
    current = fields.Boolean(dump_only=True, metadata={"description": "Whether this request belongs to it."})


class Sessions(Collection):
    """Logins that are in force. They begin with a login; here they are listed and ended."""

    name, resource = "sessions", "session"
    model, schema = Session, SessionSchema
    until = "expires_at"
    on_erase = "delete"
    shares = False
    filters = {"owner_id": ("eq",)}
    computed = ()

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name in _SUMMARIES:
                # Answers have no version of a session, so a client has no value for `If-Match`.
                yield replace(endpoint, summary=_SUMMARIES[endpoint.name], conditional=False)

    def represent(self, call: Call, rows: list[dict[str, Any]], names: Sequence[str],
                  expand: Iterable[str] = ()) -> list[dict[str, Any]]:
        for row in rows:
            row["current"] = row["id"] == call.credential_id
        return super().represent(call, rows, names, expand)

    def restrict(self, call: Call) -> None:
        """Raises `Problem` (403) for the session of another user whose role is none of the caller's roles."""
        user = self._other(call, call.row)
        if user is not None and (refusal := outranked(call.access, user.role)) is not None:
            raise refusal

    def rules_in_code(self, call: Call, verb: str, row: Session | None) -> Iterator[RuleInCode]:
        if row is not None and self.restricted(verb) and (user := self._other(call, row)) is not None:
            yield rank(call.access, user.role, Message("the role of the session's user"), user.id)
        yield from super().rules_in_code(call, verb, row)

    def _other(self, call: Call, row: Session) -> User | None:
        """Returns the user of a session; None if it is the caller's own."""
        return None if row.owner_id == call.principal.id else Rows(User, call.tenant_id).find(row.owner_id)

    def delete(self, call: Call, row: Session) -> None:
        """Ends the session. Its row is deleted later, like those of other ended sessions."""
        revoke(row.tenant_id, Session.id == row.id)
