"""What a plugin asks for and nobody was given: a line of its rules that was hardly left out on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from policies import Finding, Policy

if TYPE_CHECKING:
    from gatepost.collections.registry import Registry

# Every collection has these, and many leave them to who may do everything.
_OFTEN_LEFT = ("export", "import", "manage", "share")
_UNGRANTED = ("nobody has {} but who may do everything; add a line that grants it, or a comment that names it where "
              "that is meant")


def ungranted(installed: Registry, policy: Policy) -> Iterator[Finding]:
    """A warning for each permission that an endpoint of a plugin asks for, that its rules do not name and that no line
    grants but those about everything."""
    for file in sorted(installed.plugin_policies):
        name, text = Path(file).stem, policy.files.get(file, b"").decode(errors="replace")
        found = installed.collections.get(name)
        endpoints = found.served if found is not None else installed.routes[name].endpoints
        for permission in sorted({one.permission for one in endpoints if one.permission is not None}):
            if (permission.rpartition(".")[2] not in _OFTEN_LEFT and not _granted(policy, permission)
                    and not re.search(rf"(?<![\w.]){re.escape(permission)}(?!\w)", text)):
                yield Finding(file, 0, _UNGRANTED.format(permission), "warning")


def _granted(policy: Policy, permission: str) -> bool:
    return any(rule.eft == "allow" and rule.act != "*" and permission in policy.patterns.covered(rule.act)
               for rule in policy.rules)
