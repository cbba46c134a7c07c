"""Facts about users for access reviews: how they can log in beside the password."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gatepost import Message
from gatepost.http.request.user_fact import UserFact
from models.tables import identity, passkey
from models.tables.second_factor import SecondFactor
from settings import Settings

from .single_sign_on import configured


def facts() -> Iterator[UserFact]:
    """Yields the facts."""
    yield UserFact("second_factor", Message("Second factor"), False, _second_factors)
    yield UserFact("passkeys", Message("Passkeys"), 0, lambda settings, ids: passkey.numbers_of(ids))
    yield UserFact("identities", Message("Logins with a provider"), [], _identities)


def _second_factors(settings: Settings, ids: Sequence[str]) -> Mapping[str, bool]:
    return dict.fromkeys(SecondFactor.owners(ids), True)


def _identities(settings: Settings, ids: Sequence[str]) -> Mapping[str, list[str]]:
    """Names the providers as in the settings; the issuer if it is no longer there."""
    names = {provider.issuer: provider.name for provider in configured.providers(settings).values()}
    return {id: [names.get(issuer, issuer) for issuer in issuers] for id, issuers in identity.issuers_of(ids).items()}
