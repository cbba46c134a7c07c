"""Check of the identity providers, for `gatepost doctor`."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State
from policies.loading.loader import read_files
from policies.syntax.roles import GROUP_PREFIX, named_groups
from settings import Settings

from . import configured, groups
from .connection import ProviderError
from .issuers import Issuer


def check(installation: Installation) -> CheckResult:
    """Reads the discovery document and the keys of each provider, and the policy's lines about their groups."""
    settings = installation.settings
    without_effect = _without_effect(settings)
    if not settings.oidc:
        if without_effect:
            return CheckResult(State.DEGRADED, f"off: oidc is not set; {'; '.join(without_effect)}")
        return CheckResult(State.OK, "off: oidc is not set")
    if not configured.is_on(settings):
        return CheckResult(State.DEGRADED, "off: oidc is set, but not public_url")
    if not settings.console:
        return CheckResult(State.DEGRADED, "off: oidc is set, but console is off")
    wrong = without_effect
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
    return CheckResult(State.OK, f"ready: {', '.join(configured.providers(settings))}")


def _without_effect(settings: Settings) -> list[str]:
    """Returns sentences about groups to which the policy gives a role, and that no login grants."""
    granting = tuple(groups.prefix(provider) for provider in configured.providers(settings).values()
                     if provider.groups_claim)
    names = [name for name in named_groups(read_files(settings.policies, {}, [])) if not name.startswith(granting)]
    return [f"no login grants the group {name}, to which the policy gives a role: set "
            f"oidc.{name.removeprefix(GROUP_PREFIX).partition('/')[0]}.groups_claim, or remove the line"
            for name in names]
