"""Check of the identity providers, for `gatepost doctor`."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State

from . import configured
from .connection import ProviderError
from .issuers import Issuer


def check(installation: Installation) -> CheckResult:
    """Reads the discovery document and the keys of each provider."""
    settings = installation.settings
    if not settings.oidc:
        return CheckResult(State.OK, "off: oidc is not set")
    if not configured.is_on(settings):
        return CheckResult(State.DEGRADED, "off: oidc is set, but not public_url")
    if not settings.console:
        return CheckResult(State.DEGRADED, "nobody can log in or connect an identity: oidc is set, but console is off")
    wrong = []
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
