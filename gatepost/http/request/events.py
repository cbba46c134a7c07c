"""Change events of a call, for hooks that subscribe to them. The transaction of the call writes their jobs.

A change without a subscriber leaves no event. Only actions of a collection are events: neither direct changes by code
nor cascades in other tables are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.tables.job import enqueue

if TYPE_CHECKING:
    from .call import Call

CREATED, UPDATED, DELETED = "created", "updated", "deleted"
MOST_IDS = 1000  # ids in one job


def note(call: Call, collection: str, what: str, id: str) -> None:
    """Notes the event of a row of a collection: `created`, `updated`, `deleted`, or an action."""
    subscribers = call.services.registry.subscribers
    if subscribers and (event := f"{collection}.{what}") in subscribers:
        call.write.changes.setdefault(event, []).append(id)


def write_down(call: Call) -> None:
    """Writes the jobs of the subscribers, inside the transaction of the call."""
    for event, ids in call.write.changes.items():
        for kind in call.services.registry.subscribers[event]:
            for start in range(0, len(ids), MOST_IDS):
                enqueue(call.tenant_id, kind, {"event": event, "ids": ids[start:start + MOST_IDS]})
                call.write.enqueued = True
