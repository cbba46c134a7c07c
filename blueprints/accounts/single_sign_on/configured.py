"""Settings that single sign-on needs. Imports nothing that talks to a provider."""

from __future__ import annotations

from functools import lru_cache

from settings import Settings
from settings.providers import Provider, read_providers

Frozen = tuple[tuple[str, object], ...]


def is_on(settings: Settings) -> bool:
    """True if there is a provider, and an address that it can send browsers back to."""
    return bool(settings.oidc) and bool(settings.public_url)


def providers(settings: Settings) -> dict[str, Provider]:
    """Returns the providers by name."""
    return _providers(tuple(settings.oidc.items()))


def give_access(settings: Settings) -> bool:
    """True if access tokens of a provider are accepted by the API."""
    return is_on(settings) and any(provider.audience for provider in providers(settings).values())


@lru_cache(maxsize=8)
def _providers(values: Frozen) -> dict[str, Provider]:
    return read_providers(dict(values))
