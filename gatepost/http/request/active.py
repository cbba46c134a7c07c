"""Selects active users, as far as the viewer may see the field `active`: an omitted user would reveal it.

Rules read the field through the policy, which guards it. Code that leaves out disabled users uses this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import peewee as pw

from models.base import Rows
from models.engine.prepared import Bind
from models.tables.user import User
from policies.evaluation.sql import no_row

from .access import Access

FIELD = "active"
Guards = Mapping[str, str]
"""Maps a field of a user to the permission that shows it."""


def active(table: Any, viewer: Access | None, guards: Guards, *, certain: bool) -> tuple[list[pw.Node], dict[str, Any]]:
    """Returns conditions for the active users of `table` (`User` or an alias of it), and values for their placeholders.

    viewer   the caller; None: a caller who may see everything
    certain  True if a user counts as disabled when the viewer may not see the field; else such a user counts as active
    """
    is_active, permission = table.active == pw.Value(True), guards.get(FIELD)
    if viewer is None or permission is None:
        return [is_active], {}
    visible = viewer.narrow(permission, User)
    if visible is None:
        return [no_row()] if certain else [], {}
    if visible.where.is_everything:
        return [is_active], {}
    shown = table.id.in_(Rows(User, Bind("tenant")).select(User.id).where(visible.where.expression()))
    return [is_active & shown if certain else is_active | ~shown], {
        **visible.values, "tenant": viewer.principal.tenant_id}


def is_active(user: User, viewer: Access | None, guards: Guards, *, certain: bool) -> bool:
    """True if a user counts as active, as in `active`."""
    if viewer is None or FIELD not in guards or viewer.allows(guards[FIELD], user.__data__):
        return bool(user.active)
    return not certain
