"""The stored sessions of a user, and functions to change them."""

from __future__ import annotations

from typing import Any

from gatepost.http.credentials import sessions
from models.base import Rows, later
from models.tables.session import Session
from models.tables.user import User
from tests.apps import Given


def sessions_of(given: Given, user: User) -> list[Session]:
    with given.database.connected():
        return list(Rows(Session, given.tenant_id).select().where(Session.owner_id == user.id))


def change(given: Given, session: Session, **values: Any) -> None:
    def work() -> None:
        found = Session.by_id(session.id)
        for name, value in values.items():
            setattr(found, name, value)
        Rows(Session, given.tenant_id).save(found)

    given.database.transact(work)


def long_ago(given: Given, user: User) -> None:
    """Ends the grace period of every use."""
    for session in sessions_of(given, user):
        uses = [use.split(" ")[0] for use in session.recent]
        change(given, session, recent=[f"{used} {later(-sessions.GRACE - 1)}" for used in uses])
