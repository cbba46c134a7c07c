"""The audit trail of requests: who did what, and by which version of the rules."""

from __future__ import annotations

from models.audit import Audit, append

from . import trace
from .call import Call


def record(call: Call) -> None:
    """Add the row of a write, inside its transaction."""
    resource, _, action = (call.endpoint.permission or f"{call.endpoint.name}.").partition(".")
    append([Audit(
        tenant_id=call.tenant_id, principal=call.principal.key, role=call.principal.role,
        action=action or call.endpoint.name, resource=resource, resource_id=call.facts.get("id") if call.row else None,
        address=call.request.remote_addr, result="allowed", policy_version=call.access.policy.version,
        request_id=trace.request_id())])
