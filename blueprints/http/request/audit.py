"""What the audit trail says of a request: who did what to which object, by which rule; and who was refused.

A write and its row commit together. Refusals have no transaction of their own: they go through the `Trail`.
"""

from __future__ import annotations

from models.base import is_id
from models.tables.audit import add
from models.tables.user import User

from ..operations.limits import LONGEST_ADDRESS
from ..operations.refusals import Refusal
from ..protocol import trace
from ..protocol.problems import Problem
from .call import Call
from .identity import guest


def note_rule(call: Call) -> None:
    """Remember which rule allows what is about to be done: of the row as it is before."""
    permission = call.endpoint.permission
    if permission is not None:
        access = call.access
        rule = access.policy.deciding(call.principal, permission, None if call.row is None else call.facts,
                                      access.environment, access.shared)
        call.write.rule = None if rule is None else rule.place


def record(call: Call, *, result: str = "allowed", reason: str | None = None) -> None:
    """Add the row of a write, inside its transaction."""
    resource, action = _what(call)
    actor = call.write.acted_as or call.principal
    program = f"service token {call.credential_id}" if actor.kind == "service" else None
    add(
        tenant_id=actor.tenant_id, principal=actor.key, role=actor.role, action=action,
        resource=resource, resource_id=None if call.row is None else call.facts.get("id"),
        address=_address(call), result=result, rule=call.write.rule,
        reason=", ".join(filter(None, (call.write.rule, reason, program, call.write.note))) or None,
        policy_version=call.access.policy.version, request_id=trace.request_id())


def note_refusal(call: Call, problem: Problem) -> None:
    """Keep what a request was refused for: 401 and 403. A failed login was noted where it failed."""
    if problem.status in (401, 403) and problem.code != "invalid_credentials":
        asked = call.path.get("id", "")
        # A client chooses what the path says: what is no id is neither stored nor told apart.
        _refuse(call, "refused", problem.code,
                call.facts.get("id") if call.row is not None else asked if is_id(asked) else None)


def note_failure(call: Call, user: User | None) -> None:
    """Keep a failed login, in the tenant of the account that it aimed at."""
    _refuse(call, "failed", "invalid_credentials", None if user is None else user.id,
            None if user is None else user.tenant_id)


def _refuse(call: Call, result: str, reason: str, resource_id: str | None, tenant_id: str | None = None) -> None:
    resource, action = _what(call)
    # A caller whose token is not valid has no principal.
    actor = call.actor or guest(call.services.guest_tenant)
    refusal = Refusal(tenant_id or actor.tenant_id, actor.key, actor.role, action, resource,
                      resource_id, _address(call), result, reason, call.services.policy.current.version)
    call.services.trail.refuse(refusal, trace.request_id())


def _address(call: Call) -> str | None:
    """The client's address; a proxy that is trusted by mistake may let a client write anything there."""
    address = call.request.remote_addr
    return address if address is None or (len(address) <= LONGEST_ADDRESS and address.isprintable()) else "unusable"


def _what(call: Call) -> tuple[str, str]:
    """(resource, action): as the endpoint says, or as its permission does."""
    resource, _, action = (call.endpoint.recorded or call.endpoint.permission or call.endpoint.name).partition(".")
    return resource, action or call.endpoint.name
