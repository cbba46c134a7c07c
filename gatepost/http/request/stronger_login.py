"""The challenge for a request that a stronger or more recent login would be allowed (RFC 9470).

A refusal is due to the login alone if the policy allows the same request with the strongest values of the attributes
that features declare. Then it is a 401 that names what is missing. It is computed for refusals only, and about a row
only if the caller may view it: a hidden row stays 404.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from policies.syntax.expression import Attribute, Comparison, atoms

from ..protocol.messages import Message
from ..protocol.problems import Problem
from .access import Supposed
from .call import Call
from .identity import with_login

log = logging.getLogger("gatepost")


def challenge(call: Call, problem: Problem) -> Problem | None:
    """Returns the refusal that replaces this one; None if a stronger login would not help."""
    permission = problem.permission
    if problem.code != "forbidden" or not hasattr(call, "access"):  # refused before the caller was identified
        return None
    if call.principal.kind != "user" or not _is_of_endpoint(call, permission):
        return None
    names = call.access.policy.looks_at((permission,)).login
    if not names:
        return None
    try:
        with call.services.database.connected():
            needed = _needed(call, permission, names)
    except Exception:
        log.warning("it is unknown if a stronger login may do %s", permission, exc_info=True)
        return None
    if not needed:
        return None
    parameters = [call.services.caller[name].challenge(value) for name, value in needed.items()]
    header = ", ".join(('Bearer error="insufficient_user_authentication"', *parameters))
    return Problem("insufficient_user_authentication", Message(
        "Your login is too weak or too old for this ({permission}). Log in again, with every factor that you have.",
        permission=permission), headers={"WWW-Authenticate": header}, permission=permission)


def _is_of_endpoint(call: Call, permission: str) -> bool:
    """True if a permission is about the rows of the endpoint. A handler may have asked for one about others."""
    return permission.partition(".")[0] == (call.endpoint.permission or "").partition(".")[0]


def _needed(call: Call, permission: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Returns the weakest values that suffice, by attribute; none if even the strongest do not suffice."""
    supposed = {name: call.services.caller[name].strongest for name in names}
    if not _allows(call, permission, supposed):
        return {}
    for name in names:
        others = {other: value for other, value in supposed.items() if other != name}
        if _allows(call, permission, others):
            supposed = others
    for name, strongest in supposed.items():
        supposed[name] = next((value for value in _values(call, name)
                               if _allows(call, permission, {**supposed, name: value})), strongest)
    return supposed


def _values(call: Call, name: str) -> Iterator[Any]:
    """Yields values of an attribute, the weakest first: of numbers, those that conditions name and their neighbours."""
    attribute = call.services.caller[name]
    if attribute.type is not int:
        return
    least = attribute.least
    literals = {atom.right for atom in atoms(call.access.policy.model.matcher) if isinstance(atom, Comparison)
                and atom.left == Attribute("sub", name) and isinstance(atom.right, int)}
    near = {literal + step for literal in literals for step in (-1, 0, 1)}
    possible = sorted(value for value in near if least is None or value >= least)
    # The weakest value is the one that is furthest from the strongest.
    yield from sorted(possible, key=lambda value: -abs(value - int(attribute.strongest)))


def _allows(call: Call, permission: str, login: Mapping[str, Any]) -> bool:
    """True if the policy allows the request with these values, and the actual ones of other attributes."""
    actual = {name: call.principal.login[name] for name in call.services.caller}
    access = Supposed(call.access.policy, with_login(call.principal, {**actual, **login}), call.access.environment)
    if call.row is not None:
        return access.is_certain(permission, call.facts, call.write.unknown)
    if call.endpoint.load is None and not call.endpoint.narrows:
        return access.allows(permission)
    return access.may_ever(permission)
