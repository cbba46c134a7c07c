"""Roles that users have and the policy lacks: these users may do nothing until they get another role."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from ..evaluation.policy import Policy
from .watch import Watcher

MOST_NAMED = 10

_log = logging.getLogger("gatepost.policy")


def lost(policy: Policy, held: Collection[str]) -> list[str]:
    """Those of the roles that users have which no user can have under the policy, in the order of the alphabet."""
    return sorted(role for role in held if role not in policy.roles.of_users)


class LostRoles:
    """Warns in the log once of each policy that lacks roles which users have. One thread at a time."""

    def __init__(self, watcher: Watcher, held: Callable[[], Collection[str]]) -> None:
        """`held` finds the roles that users have."""
        self._watcher, self._held = watcher, held
        self._reported: Policy | None = None

    def tell(self) -> None:
        """Look, if the policy is another than at the last look. Raises what `held` raises: then the next call looks."""
        policy = self._watcher.current
        if policy is self._reported:
            return
        if roles := lost(policy, self._held()):
            named = ", ".join(roles[:MOST_NAMED]) + (", …" if len(roles) > MOST_NAMED else "")
            _log.warning("policy %s has no such roles for users, and users have them: %s; they may do nothing until "
                         "they are given another role (gatepost doctor names them)",
                         policy.version, named)
        self._reported = policy
