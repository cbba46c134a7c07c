"""Groups of a provider, which become groups of the user at each login: `oidc:<provider>/<group>`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from marshmallow import ValidationError

from gatepost import Name, Rows
from gatepost.http.request.access import MOST_GROUPS
from models.tables.audit import add
from models.tables.user import User
from settings.providers import Provider

log = logging.getLogger("gatepost.single_sign_on")

_PREFIX = "oidc:"
_LONGEST = 64  # characters of a group of a user
_MISSING = object()


def prefix(provider: Provider) -> str:
    """Returns the beginning of the names of a provider's groups."""
    return f"{_PREFIX}{provider.name}/"


def refresh(user: User, provider: Provider, claims: Mapping[str, Any]) -> None:
    """Replaces the user's groups of this provider by those of a login, in a transaction that has locked the user.

    Changes nothing, and logs why, if the login does not say all of them.
    """
    if not provider.groups_claim:
        return
    groups = _said(provider, claims)
    if isinstance(groups, str):
        log.warning("a login with %s changes no group: %s", provider.name, groups)
    else:
        _replace(user, prefix(provider), provider.name, groups)


def remove(user: User, provider: Provider) -> None:
    """Removes the user's groups of this provider, in a transaction that has locked the user."""
    _replace(user, prefix(provider), provider.name, ())


def remove_all(user: User) -> None:
    """Removes the user's groups of every provider, also of those that are no longer in the settings."""
    _replace(user, _PREFIX, "all providers", ())


def _replace(user: User, prefix: str, provider: str, groups: Sequence[str]) -> None:
    before = list(user.groups)
    after = [*(group for group in before if not group.startswith(prefix)), *groups]
    if len(after) > MOST_GROUPS:
        log.warning("a login with %s changes no group: the user would have more than %s", provider, MOST_GROUPS)
    elif set(after) != set(before):
        user.groups = after
        Rows(User, user.tenant_id).save(user)
        add(tenant_id=user.tenant_id, principal="system:single_sign_on", role="system", action="update",
            resource="user", resource_id=user.id, result="allowed", reason=f"groups of {provider}")


def _said(provider: Provider, claims: Mapping[str, Any]) -> list[str] | str:
    """Returns the names of the groups in a claim, or why it does not say all of them."""
    names = claims.get("_claim_names")
    first = provider.groups_claim.partition(".")[0]
    if claims.get("hasgroups") or (isinstance(names, Mapping) and (provider.groups_claim in names or first in names)):
        return f"the provider has cut off the claim {provider.groups_claim}"
    value = _found(claims, provider.groups_claim)
    if not isinstance(value, list) or not all(isinstance(group, str) for group in value):
        return f"the token has no list in the claim {provider.groups_claim}"
    groups, misfits = dict[str, None](), 0
    for group in value:
        name = group.strip("/ ")
        try:
            groups[str(Name(maximum=_LONGEST).deserialize(f"{prefix(provider)}{name}" if name else name))] = None
        except ValidationError:
            misfits += 1
    if misfits:
        log.warning("a login with %s has %s groups whose names are too long or not visible", provider.name, misfits)
    return list(groups)


def _found(claims: Mapping[str, Any], path: str) -> Any:
    """Returns a claim by its name, or by a path of names between dots."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
    return value
