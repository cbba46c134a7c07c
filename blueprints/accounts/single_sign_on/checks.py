"""Check of the identity providers, for `gatepost doctor`."""

from __future__ import annotations

from collections.abc import Mapping

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State
from models.tables.user import User
from policies.loading.loader import read_files
from policies.syntax.roles import GROUP_PREFIX, GUEST, declared, named_groups
from settings import Settings

from . import configured, groups
from .connection import ProviderError
from .issuers import Issuer


def check(installation: Installation) -> CheckResult:
    """Reads the discovery document and the keys of each provider, and compares their groups with rules and users."""
    settings = installation.settings
    files = read_files(settings.policies, {}, [])
    wrong = [*_without_effect(settings, files), *_left_behind(installation)]
    if not settings.oidc:
        if wrong:
            return CheckResult(State.DEGRADED, f"off: oidc is not set; {'; '.join(wrong)}")
        return CheckResult(State.OK, "off: oidc is not set")
    if not configured.is_on(settings):
        return CheckResult(State.DEGRADED, "off: oidc is set, but not public_url")
    if not settings.console:
        return CheckResult(State.DEGRADED, "nobody can log in or connect an identity: oidc is set, but console is off")
    wrong += _missing_roles(settings, files)
    for provider in configured.providers(settings).values():
        issuer = Issuer(provider)
        try:
            issuer.metadata()
            if not any(issuer.keys(None, algorithm) for algorithm in provider.algorithms):
                wrong.append(f"{provider.name}: no key of the provider is for oidc.{provider.name}.algorithms")
        except ProviderError as error:
            wrong.append(f"{provider.name}: {error}")
    if wrong:
        return CheckResult(State.DEGRADED, "; ".join(wrong))
    providers = configured.providers(settings)
    access = [name for name, provider in providers.items() if provider.audience]
    return CheckResult(State.OK, f"ready: {', '.join(providers)}" + (
        f"; access tokens for the API: {', '.join(access)}" if access else ""))


def _missing_roles(settings: Settings, files: Mapping[str, bytes]) -> list[str]:
    """Returns sentences about roles that logins give by the settings, and that the policy does not have."""
    roles, named = {*declared(files)} - {GUEST}, named_groups(files)
    return [f"the policy has no role {provider.role} for users: set oidc.{provider.name}.role"
            for provider in configured.providers(settings).values() if provider.role not in roles
            and (provider.create_users or any(name.startswith(groups.prefix(provider)) for name in named))]


def _left_behind(installation: Installation) -> list[str]:
    """Returns sentences about groups of users whose provider is not in the settings, so that no login removes them."""
    with installation.database.connected():
        _, names = User.names()
    prefixes = tuple(map(groups.prefix, configured.providers(installation.settings).values()))
    gone = {name.partition("/")[0] for name in names
            if name.startswith(GROUP_PREFIX) and not name.startswith(prefixes)}
    return [f"users have groups of {name}, which is no provider of the settings, and rules that name them still apply: "
            "change them with gatepost user set --group" for name in sorted(gone)]


def _without_effect(settings: Settings, files: Mapping[str, bytes]) -> list[str]:
    """Returns sentences about groups to which the policy gives a role, and that no login grants."""
    granting = tuple(groups.prefix(provider) for provider in configured.providers(settings).values()
                     if provider.groups_claim)
    by_provider: dict[str, list[str]] = {}
    for name in named_groups(files):
        if not name.startswith(granting):
            by_provider.setdefault(name.removeprefix(GROUP_PREFIX).partition("/")[0], []).append(name)
    return [f"no login grants {', '.join(names)}, to which the policy gives a role: set oidc.{provider}.groups_claim, "
            "or remove the lines" for provider, names in by_provider.items()]
