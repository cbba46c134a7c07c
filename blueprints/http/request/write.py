"""What the effect of a call leaves: its row, its result, and what the audit trail says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flask import Response

if TYPE_CHECKING:
    from policies import Principal


@dataclass(slots=True)
class Write:
    """What the stages of the effect leave. A transaction that runs twice starts the second time with a new one.

    row       what the permission is judged on: a record, or a dict of its columns
    result    what the handler returned: JSON-ready data, a Response, or None for 204
    response  the answer; set early by a stage that answers instead of the handler
    rule      file and line of the rule that allows a write
    note      what the audit trail should say besides
    decision  the facts by which the policy decides (`facts`), as the row was before
    hidden    the row that the caller may not view, where that is why there is none
    facts     what the audit trail should know besides, as JSON
    changes   event → ids of the rows that it was, where somebody subscribes to it
    enqueued  whether it has written jobs down, which may begin once it is committed
    acted_as  in whose name the audit trail records the call, if not the caller's: the user who logs in, on a login
    """

    row: Any = None
    result: Any = None
    response: Response | None = None
    rule: str | None = None
    note: str | None = None
    decision: dict[str, Any] | None = None
    hidden: Mapping[str, Any] | None = None
    facts: str | None = None
    changes: dict[str, list[str]] = field(default_factory=dict)
    enqueued: bool = False
    acted_as: Principal | None = None
