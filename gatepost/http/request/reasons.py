"""Reasons for the caller of a refused request. They reveal only facts that the caller can read with GET.

Used if the setting `explain_refusals` is `self`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from models.base import is_id
from policies.explaining.explain import own_reason

from ..protocol.messages import Message
from ..protocol.problems import Problem
from .call import Call, Peer

log = logging.getLogger("gatepost")

MOST = 500  # characters of a reason; a longer one quotes a text of the row
_NOTHING: Collection[str] = ()


def add(call: Call, problem: Problem) -> None:
    """Adds the reason of the policy to the problem. If that fails, the refusal stays as it is."""
    if call.services.settings.explain_refusals == "off" or not problem.permission or problem.status != 403:
        return
    try:
        with call.services.database.connected():
            reason = _reason(call, problem.permission)
    except Exception:
        log.warning("no reason can be given for the refusal of %s", problem.permission, exc_info=True)
        return
    if reason is not None and len(reason) <= MOST:
        problem.reason = reason


def hidden_of(call: Call, collection: Peer, row: Mapping[str, Any]) -> set[str]:
    """Returns the fields of a row that the caller may not see, and cannot know."""
    hidden = set(collection.hidden(call, row, collection.guards))
    # Users own themselves, which is no secret.
    return hidden - {"owner_id"} if row.get("owner_id") == row["id"] else hidden


def _reason(call: Call, permission: str) -> Message | None:
    access = call.access
    if not access.policy.covers(call.principal, permission):
        scope = access.needed_scope(permission)
        return Message("no scope of a token covers this") if scope is None else Message(
            "the token needs the scope {scope}", scope=scope)
    reading = _read_only_copy(call)
    if not reading.access.allows("profile.view"):
        return None  # the relevant rules depend on the caller's role
    row, visible = _row(call, reading, permission)
    return own_reason(access.policy, call.principal, permission, row, access.environment,
                      lambda attribute: attribute.root == "sub" or attribute.name in visible)


def _read_only_copy(call: Call) -> Call:
    """Returns a copy of the call that only reads."""
    copy = Call(call.services, call.endpoint, call.request, call.path)
    copy.principal, copy.access = call.principal, call.access.by("GET")
    return copy


def _row(call: Call, reading: Call, permission: str) -> tuple[Mapping[str, Any] | None, Collection[str]]:
    """Returns the row of the request, and the columns that the caller knows.

    Of a stored row these are the columns that GET shows, of a new row the columns that the caller sent.
    """
    endpoint = call.endpoint
    collection = call.services.registry.by_resource.get(permission.partition(".")[0])
    if collection is None:
        return None, _NOTHING
    if "id" not in call.path:
        if call.row is None or permission != endpoint.permission:
            return None, _NOTHING
        sent = {**call.body, "owner_id": call.body.get("owner_id", call.principal.id)}
        return call.facts, [name for name in collection.representation.columns
                            if name in sent and call.facts.get(name) == sent[name]]
    id = call.path["id"]
    if endpoint.by_slug or not is_id(id) or not endpoint.path.startswith(f"/api/{collection.name}/<"):
        return None, _NOTHING
    row = collection.visible(reading, id)
    if row is None:
        return None, _NOTHING
    representation = collection.representation.encode(row, collection.representation.columns)
    hidden = hidden_of(reading, collection, row)
    # A field may show less than the stored value.
    return row, [name for name, value in representation.items() if name not in hidden and value == row[name]]
