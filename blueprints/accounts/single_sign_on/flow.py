"""A login on its way: what the browser keeps of it in a cookie, and the URL of the provider that it is sent to.

The cookie has one random secret, signed by the service. The values that the provider gets are derived from it: `state`
and `nonce` bind its answer to this browser, and the PKCE verifier binds the code to this login. It is `SameSite=Lax`,
because a strict cookie would not be sent when the provider's page leads back.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from hashlib import sha256
from hmac import compare_digest, digest
from typing import Any, Self
from urllib.parse import urlencode

from flask import Request

from gatepost import later, now
from gatepost.http.credentials import cookies
from gatepost.http.request.call import Services
from gatepost.http.request.urls import path_of, url_of
from gatepost.http.security.base64url import decode, encode
from settings import Settings
from settings.providers import Provider

from .issuers import Metadata

LASTS = 600.0  # seconds
MARK = "<provider>"
START = f"/console/login/with/{MARK}"
BACK = f"{START}/back"
_LONGEST = 3000  # characters of a cookie
_HOUR = 3600


@dataclass(frozen=True, kw_only=True)
class _Sealed:
    """A value that the browser keeps in a cookie for some minutes, and cannot change."""

    provider: str
    until: str

    def cookie(self, services: Services, request: Request) -> str:
        """Returns the header that sets the cookie."""
        text = encode(json.dumps(asdict(self), separators=(",", ":")).encode())
        seal = encode(digest(services.keys.derive(_purpose(type(self))), text.encode(), "sha256"))
        settings = services.settings
        return cookies.cookie(settings, request, _name(settings, request, type(self)), f"{text}.{seal}",
                              _path(settings, request), round(LASTS), lax=True)

    @classmethod
    def sent(cls, services: Services, request: Request) -> Self | None:
        """Returns the value of the cookie; None unless there is one, genuine and not expired."""
        tokens = cookies.all_sent(request, _name(services.settings, request, cls))
        text, _, seal = (tokens.pop() if len(tokens) == 1 else "").partition(".")
        if not text or len(text) > _LONGEST:
            return None
        for key in services.keys.secrets(_purpose(cls)):
            if compare_digest(encode(digest(key, text.encode(), "sha256")).encode(), seal.encode()):
                value = cls(**json.loads(decode(text)))
                return value if value.until > now() else None
        return None

    @classmethod
    def cleared(cls, settings: Settings, request: Request) -> str:
        """Returns the header that clears the cookie."""
        return cookies.cookie(settings, request, _name(settings, request, cls), "", _path(settings, request), 0,
                              lax=True)


@dataclass(frozen=True, kw_only=True)
class Flow(_Sealed):
    """A login that was sent to a provider. `next` is the page afterwards; `connects`: it is to connect an identity."""

    secret: str
    next: str
    connects: bool = False

    @classmethod
    def begun(cls, provider: str, next: str, *, connects: bool = False) -> Self:
        """Returns a new login."""
        return cls(provider=provider, until=later(LASTS), secret=secrets.token_urlsafe(32), next=next[:1000],
                   connects=connects)

    @property
    def state(self) -> str:
        return self._derived("state")

    @property
    def nonce(self) -> str:
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """The secret of PKCE (RFC 7636)."""
        return self._derived("verifier")

    def url(self, settings: Settings, provider: Provider, metadata: Metadata, *, proves_again: bool) -> str:
        """Returns the URL of the provider. `proves_again`: it asks for the login although it knows the browser."""
        values = {"response_type": "code", "client_id": provider.client_id, "redirect_uri": redirect_uri(
                      settings, provider), "scope": " ".join(provider.scopes), "state": self.state,
                  "nonce": self.nonce, "code_challenge": _s256(self.verifier), "code_challenge_method": "S256",
                  "max_age": str(provider.session_hours * _HOUR)}
        if proves_again:
            values["prompt"] = "login"
        endpoint = metadata.authorization_endpoint
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(values)}"

    def _derived(self, purpose: str) -> str:
        return encode(sha256(f"{purpose} {self.secret}".encode()).digest())


@dataclass(frozen=True, kw_only=True)
class Pending(_Sealed):
    """An identity that a provider has proved, and that a user may connect to their account."""

    subject: str
    shown: str

    @classmethod
    def of(cls, provider: str, claims: dict[str, Any]) -> Self:
        """Returns the identity of an ID token. `shown` is the provider's name for it."""
        names = (claims.get("email"), claims.get("preferred_username"), claims.get("name"), claims["sub"])
        shown = next(name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 255)
        return cls(provider=provider, until=later(LASTS), subject=claims["sub"], shown=shown)


def redirect_uri(settings: Settings, provider: Provider) -> str:
    """Returns the URL that the provider leads back to: below `public_url`, never below `Host`."""
    return url_of(settings, None, BACK.replace(MARK, provider.name))


def _s256(verifier: str) -> str:
    return encode(sha256(verifier.encode()).digest())


def _purpose(kind: type[_Sealed]) -> str:
    return f"single sign-on {kind.__name__}"


def _name(settings: Settings, request: Request, kind: type[_Sealed]) -> str:
    name = f"gatepost_{kind.__name__.lower()}"
    return f"__Host-{name}" if cookies.is_secure(settings, request) else name


def _path(settings: Settings, request: Request) -> str:
    return "/" if cookies.is_secure(settings, request) else path_of(request, "/console")
