"""What a caller is told of policy lines about single persons: those of the caller's own tenant, and no others."""

from __future__ import annotations

from collections.abc import Iterable

from models.base import Rows, is_id
from models.tables.user import User

from .call import Call


def shown(call: Call, persons: Iterable[str]) -> frozenset[str]:
    """Those of `persons` (`user:<id>`) that the caller may be told of; and the empty text, which is no person."""
    by_id = {person.partition(":")[2]: person for person in persons}
    ids = {id for id in by_id if is_id(id)}
    if not ids or call.principal.kind == "guest":
        return frozenset(("",))
    found = Rows(User, call.tenant_id).select(User.id).where(User.id.in_(ids))
    return frozenset(("", *(by_id[user.id] for user in found)))


def trouble(call: Call) -> str | None:
    """Why the policy in force may not be what the files say (`Watcher.trouble`), as the caller may be told it."""
    status = call.services.policy.status
    if status.error is None:
        return call.services.policy.trouble
    told = shown(call, (finding.person for finding in status.findings))
    lines = [str(finding) for finding in status.findings if finding.person in told]
    if hidden := len(status.findings) - len(lines):
        lines.append(f"{hidden} findings about persons of other tenants are left out")
    return "\n".join(lines)
