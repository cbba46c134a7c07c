"""Groups of a provider, which become groups of the user at each login: `oidc:<provider>/<group>`.

Where the policy has lines such as `g, oidc:<provider>/<group>, editor`, they also decide the role of the user.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from marshmallow import ValidationError

from gatepost import Name, Rows
from gatepost.http.request.access import MOST_GROUPS
from models.tables.audit import add
from models.tables.user import User
from policies.syntax.roles import GROUP_PREFIX, LONGEST_GROUP, USER, Roles
from settings.providers import Provider

log = logging.getLogger("gatepost.single_sign_on")

_MISSING = object()


def prefix(provider: Provider) -> str:
    """Returns the beginning of the names of a provider's groups."""
    return f"{GROUP_PREFIX}{provider.name}/"


def lock_before(user: User | None, provider: Provider, roles: Roles) -> None:
    """Locks all administrators before the rows of a login, if the login may take the role from this one."""
    if user is not None and user.administers and gives_roles(provider, roles):
        User.administrators(lock=True)


def refresh(user: User, provider: Provider, claims: Mapping[str, Any], roles: Roles) -> None:
    """Replaces the user's groups of this provider by those of a login, and sets the role that lines give to them.

    It runs in a transaction that has locked the user. It changes nothing, and logs why, if the login does not say all
    groups.
    """
    if not provider.groups_claim:
        return
    groups = _said(provider, claims)
    if isinstance(groups, str):
        log.warning("a login with %s changes no group and no role: %s", provider.name, groups)
        return
    after = [*_of_others(user, provider), *groups]
    if len(after) > MOST_GROUPS:
        log.warning("a login with %s changes no group and no role: the user would have more than %s groups",
                    provider.name, MOST_GROUPS)
        return
    role, because = _role(user, provider, groups, roles)
    _save(user, provider, after, role, because)


def remove(user: User, provider: Provider, roles: Roles) -> None:
    """Removes the user's groups of this provider, in a transaction that has locked the user, and a role given by one.
    """
    kept = _of_others(user, provider)
    _save(user, provider, kept, *_role_without(user, kept, provider.role, roles))


def remove_all(user: User, roles: Roles) -> None:
    """Removes the user's groups of every provider, also of those that are no longer in the settings, and a role given
    by one."""
    kept = [group for group in user.groups if not group.startswith(GROUP_PREFIX)]
    _save(user, None, kept, *_role_without(user, kept, USER, roles))


def _role_without(user: User, kept: Sequence[str], otherwise: str, roles: Roles) -> tuple[str, str]:
    """Returns the role of a user who keeps only these groups, and the reason if it is another one."""
    line = roles.given_by([group for group in user.groups if group not in kept], user.role)
    role = otherwise if otherwise in roles.of_users else USER
    if line is None or role == user.role or _is_last_administrator(user):
        return user.role, ""
    return role, f"; role {user.role} → {role}, which {line.place} gave"


def _is_last_administrator(user: User) -> bool:
    return user.administers and User.administrators(lock=True) == [user.id]


def gives_roles(provider: Provider, roles: Roles) -> bool:
    """True if a line of the policy gives a role to a group of this provider."""
    return any(line.group.startswith(prefix(provider)) for line in roles.groups)


def _role(user: User, provider: Provider, groups: Sequence[str], roles: Roles) -> tuple[str, str]:
    """Returns the role of a user after a login with these groups, and the reason if it is another one."""
    if not gives_roles(provider, roles):
        return user.role, ""
    line = roles.of_groups(groups)
    role = provider.role if line is None else line.role
    if role == user.role:
        return role, ""
    if role not in roles.of_users:
        log.warning("a login with %s changes no role: the policy has no role %s for users", provider.name, role)
        return user.role, ""
    if _is_last_administrator(user):
        log.warning("a login with %s changes no role: the user is the last active administrator", provider.name)
        return user.role, ""
    place = f"oidc.{provider.name}.role" if line is None else line.place
    return role, f"; role {user.role} → {role} by {place}"


def _of_others(user: User, provider: Provider) -> list[str]:
    return [group for group in user.groups if not group.startswith(prefix(provider))]


def _save(user: User, provider: Provider | None, groups: Sequence[str], role: str, because: str = "") -> None:
    if set(groups) == set(user.groups) and role == user.role:
        return
    user.groups, user.role = list(groups), role
    Rows(User, user.tenant_id).save(user)
    name = "all providers" if provider is None else provider.name
    add(tenant_id=user.tenant_id, principal="system:single_sign_on", role="system", action="update", resource="user",
        resource_id=user.id, result="allowed", reason=f"groups of {name}{because}")


def _said(provider: Provider, claims: Mapping[str, Any]) -> list[str] | str:
    """Returns the names of the groups in a claim, or why it does not say all of them."""
    names = claims.get("_claim_names")
    first = provider.groups_claim.partition(".")[0]
    if claims.get("hasgroups") or (isinstance(names, Mapping) and (provider.groups_claim in names or first in names)):
        return f"the provider has cut off the claim {provider.groups_claim}"
    value = _found(claims, provider.groups_claim)
    if not isinstance(value, list) or not all(isinstance(group, str) for group in value):
        return f"the token has no list in the claim {provider.groups_claim}"
    names_of_groups = [_name(provider, group) for group in value]
    if misfits := names_of_groups.count(None):
        log.warning("a login with %s has %s groups whose names are too long, or have characters or blanks that are not "
                    "accepted", provider.name, misfits)
    return list(dict.fromkeys(name for name in names_of_groups if name is not None))


def _name(provider: Provider, group: str) -> str | None:
    """Returns the name of a group here; None if it does not fit.

    A name is used as it is: corrected, it could be that of another group, which may have more rights.
    """
    name = group.removeprefix("/")  # Keycloak can send paths
    text = f"{prefix(provider)}{name}"
    try:
        return text if name and Name(maximum=LONGEST_GROUP).deserialize(text) == text else None
    except ValidationError:
        return None


def _found(claims: Mapping[str, Any], path: str) -> Any:
    """Returns a claim by its name, or by a path of names between dots."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
    return value
