"""Fields that need a permission of their own: the caller may set them in a new row, or change them.

The policy decides on the row as it was, and as it becomes. A new row has only the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..protocol.messages import Message
from ..protocol.problems import Fault
from . import decision
from .access import Access
from .call import Call, Setting

Row = Mapping[str, Any]


def may_set(access: Access, permission: str, row: Row | None, unknown: frozenset[str] = frozenset(), *,
            stands: bool = False) -> bool:
    """True if the policy allows to set fields that need this permission in a row.

    stands  as in `Setting`: until a rule names the permission, only a rule that denies it can refuse
    """
    if stands and _follows_update(access, permission):
        return _undenied(access, permission, row, unknown)
    return access.is_certain(permission, row, unknown)


def may_ever_set(access: Access, permission: str, *, stands: bool = False) -> bool:
    """True if there can be a row in which the caller may set fields that need this permission."""
    if stands and _follows_update(access, permission):
        return _undenied(access, permission, None, frozenset())
    return access.may_ever(permission)


def _follows_update(access: Access, permission: str) -> bool:
    """True if no rule names the permission, and that to update the row decides instead."""
    return access.policy.fallbacks.get(permission, "").endswith(".update")


def _undenied(access: Access, permission: str, row: Row | None, unknown: frozenset[str]) -> bool:
    """True unless a rule denies the permission by its own name."""
    return permission in access.policy.followers or not access.policy.denies_by_name(
        access.principal, permission, row, unknown, access.environment, access.shared)


def note(call: Call) -> None:
    """Adds these permissions to the facts of the decision about the row as it is."""
    if call.write.decision is not None:
        call.write.decision = decision.decided(call)


def require(call: Call, row: Row) -> None:
    """Raises `Problem` unless the policy allows to set in this row what the call sets. It names the fields."""
    setting, unknown = call.write.setting, call.write.unknown
    refused = [permission for permission in setting.fields
               if not may_set(call.access, permission, row, unknown, stands=setting.stands)]
    if not refused:
        return
    call.write.setting = Setting({permission: setting.fields[permission] for permission in refused})
    if call.write.decision is not None:
        call.write.decision["asked"] = decision.needed_permissions(call)
    problem = call.access.refusal(refused[0])
    problem.faults = [Fault(problem.code, Message("To set this field, you need {permission}.", permission=permission),
                            pointer=f"/{name}") for permission in refused for name in setting.fields[permission]]
    raise problem
