"""Access tokens of identity providers for the API (RFC 9068), and the metadata that leads clients to them (RFC 9728).

Off until a provider has an `audience`. A token acts for the user whose identity it names, as a program: with its own
scopes, and without a login. It opens no account, and changes no group.
"""

from __future__ import annotations

import json
import logging
from time import time
from typing import TYPE_CHECKING, Any

from flask import Request, Response
from marshmallow import fields

from gatepost import BearerToken, Call, Message, Problem, Routes, Services, StrictSchema
from gatepost.http.protocol.problems import not_found
from gatepost.http.request.urls import url_of
from models.tables.identity import Identity

from . import configured, tokens
from .connection import ProviderError
from .issuers import Issuer, Issuers, Key
from .tokens import Expired, Refused

if TYPE_CHECKING:
    from gatepost.http.pipeline.application import Departure

PATH = "/.well-known/oauth-protected-resource"
log = logging.getLogger("gatepost.single_sign_on")
routes = Routes("protected_resource", "The API for clients of identity providers.", when=configured.give_access)


class ProtectedResourceSchema(StrictSchema):
    """Metadata of a protected resource (RFC 9728)."""

    resource = fields.String(dump_only=True, metadata={"description": "The URL of the service."})
    authorization_servers = fields.List(fields.String(), dump_only=True, metadata={
        "description": "Issuers whose access tokens the API accepts."})
    scopes_supported = fields.List(fields.String(), dump_only=True)
    bearer_methods_supported = fields.List(fields.String(), dump_only=True)
    resource_name = fields.String(dump_only=True)


@routes.get(PATH, public="it says where to get tokens, and nothing else", answer=ProtectedResourceSchema(),
            documented=False, anonymous=True)
def metadata(call: Call) -> dict[str, Any]:
    """Say which identity providers give access to the API (RFC 9728)."""
    settings = call.services.settings
    if not configured.give_access(settings):
        raise not_found()
    call.headers["Cache-Control"] = "public, max-age=300"
    return {"resource": url_of(settings, call.request),
            "authorization_servers": [provider.issuer for provider in configured.providers(settings).values()
                                      if provider.audience],
            "scopes_supported": sorted(call.access.policy.scope_names),
            "bearer_methods_supported": ["header"],
            "resource_name": "Gatepost"}


def departure(services: Services) -> Departure | None:
    """Returns a function that adds the URL of the metadata to each challenge (RFC 9728 section 5.1)."""
    if not configured.give_access(services.settings):
        return None

    def add_url(request: Request, response: Response) -> Response:
        if response.status_code == 401 and services.settings.public_url:
            challenge = response.headers.get("WWW-Authenticate", "")
            scheme, _, parameters = challenge.partition(" ")
            if scheme == "Bearer":
                url = f'resource_metadata="{url_of(services.settings, request, PATH)}"'
                response.headers["WWW-Authenticate"] = f"Bearer {', '.join(filter(None, (parameters, url)))}"
        return response

    return add_url


def bearer(services: Services, token: str) -> BearerToken | None:
    """Returns the user of an access token of a provider, and its scopes; None if no provider has made the token.

    Raises `Problem`: `invalid_token`, `token_expired`; `unavailable` or `overloaded` if its keys cannot be fetched.
    """
    if not configured.give_access(services.settings):
        return None
    issuers = services.feature("accounts")
    assert isinstance(issuers, Issuers)
    claimed = tokens.unverified(token)
    issuer = next((each for each in issuers
                   if each.provider.audience and each.provider.issuer == claimed.get("iss")), None)
    if issuer is None:
        return None
    provider = issuer.provider
    try:
        claims = tokens.access_token(provider, token, claimed, lambda kid, alg: _keys(issuers, issuer, kid, alg),
                                     time())
    except Expired:
        raise Problem("token_expired", Message("The access token has expired. Get another one from {provider}.",
                                               provider=provider.title)) from None
    except Refused as error:
        log.warning("an access token of %s was refused: %s", provider.name, error)
        raise Problem("invalid_token", "This is not a valid access token.") from None
    except ProviderError as error:
        log.warning("an access token of %s cannot be checked: %s", provider.name, error)
        raise Problem("unavailable", Message(
            "{provider} cannot be reached, or gives an answer that cannot be used. Try again in a moment.",
            provider=provider.title), headers={"Retry-After": "5"}) from None
    identity = Identity.find(provider.issuer, claims["sub"])
    if identity is None:
        raise Problem("invalid_token", Message(
            "No account is connected to your identity at {provider}. Log in with it on the console first.",
            provider=provider.title))
    client = json.dumps(claims["client_id"])  # quoted, because a client may have any name
    return BearerToken(identity.owner_id, claims.get("scope", "").split(" "), f"{provider.name} for {client}")


def _keys(issuers: Issuers, issuer: Issuer, kid: str | None, alg: str) -> list[Key]:
    """Returns the keys that may have signed a token. Raises `ProviderError`.

    Raises `Problem` (`overloaded`) if the provider must be asked, and too many threads wait for providers.
    """
    if keys := issuer.cached_keys(kid, alg):
        return keys
    if not issuers.busy.acquire(blocking=False):
        raise Problem("overloaded", "Too many requests wait for identity providers already.")
    try:
        return issuer.keys(kid, alg)
    finally:
        issuers.busy.release()
