"""Checks of what a provider signed: ID tokens (OpenID Connect Core 3.1.3.7), logout tokens (Back-Channel Logout), and
access tokens for the API (RFC 9068).

A key comes only from the provider's key set, never from the token. The algorithm must be in the provider's list.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256, sha384, sha512
from hmac import compare_digest
from typing import Any

import jwt

from settings.providers import Provider

from .issuers import Issuer, Key

LEEWAY = 60  # seconds that clocks may differ
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_LONGEST = 2**16  # characters of a token
_LONGEST_SUBJECT = 255  # characters, by the specification
_LONGEST_NAME = 1000  # characters of a client_id or a jti
_OLDEST_LOGOUT = 600  # seconds since a logout token was issued
_HASHES = {"256": sha256, "384": sha384, "512": sha512}
_BROKEN = (jwt.PyJWTError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RecursionError)


class Refused(Exception):
    """Error of a token that is not accepted. The text says why, for the log."""


class Expired(Refused):
    """Error of a token that is no longer valid."""


def id_token(issuer: Issuer, token: object, nonce: str, access_token: object = None) -> dict[str, Any]:
    """Returns the claims of an ID token. Raises `Refused`, `ProviderError`."""
    alg, kid = _header(issuer.provider, token)
    claims = _verified(issuer.provider, token, alg, issuer.keys(kid, alg), ("exp", "iat", "sub", "aud", "iss"))
    _check_azp(issuer, claims)
    if not equal(claims.get("nonce"), nonce):
        raise Refused("the nonce is of another login")
    if "at_hash" in claims and claims["at_hash"] != _half_hash(alg, access_token):
        raise Refused("at_hash does not match the access token")
    subject(claims)
    return claims


def logout_token(issuer: Issuer, token: object, now: float) -> dict[str, Any]:
    """Returns the claims of a logout token: with `sub` or `sid` or both. Raises `Refused`, `ProviderError`."""
    alg, kid = _header(issuer.provider, token, ("logout+jwt", "jwt", None))
    claims = _verified(issuer.provider, token, alg, issuer.keys(kid, alg), ("iat", "aud", "iss", "jti"))
    if "nonce" in claims:
        raise Refused("a logout token has no nonce")
    events = claims.get("events")
    if not isinstance(events, Mapping) or not isinstance(events.get(LOGOUT_EVENT), Mapping):
        raise Refused("it is no logout token")
    if claims["iat"] < now - _OLDEST_LOGOUT:
        raise Refused("the logout token is too old")
    _check_text(claims, "jti")
    sid = claims.get("sid")
    if sid is not None and (not isinstance(sid, str) or not 0 < len(sid) <= _LONGEST_SUBJECT):
        raise Refused("the sid is no text")
    if "sub" in claims:
        subject(claims)
    elif sid is None:
        raise Refused("the logout token names neither a session nor a user")
    return claims


def unverified(token: str) -> Mapping[str, Any]:
    """Returns the claims of a token, of which nothing is true yet; none for a text that is no token."""
    if len(token) > _LONGEST or not token.isascii():
        return {}
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    except _BROKEN:
        return {}
    return claims


def access_token(provider: Provider, token: str, claimed: Mapping[str, Any],
                 find_keys: Callable[[str | None, str], list[Key]], now: float) -> dict[str, Any]:
    """Returns the claims of an access token for the API (RFC 9068 section 4), with a `client_id` in any case.

    claimed    its claims, unverified
    find_keys  returns keys of the provider, for the id of a key and an algorithm. It may ask the provider, so all that
               needs no key is checked before

    Raises `Refused`, `Expired`, and what `find_keys` raises.
    """
    alg, kid = _header(provider, token, ("at+jwt",))
    audience, exp = claimed.get("aud"), claimed.get("exp")
    if provider.audience not in (audience if isinstance(audience, list) else (audience,)):
        raise Refused(f"its aud is not oidc.{provider.name}.audience")
    if claimed.get("iss") != provider.issuer or not isinstance(exp, int | float):
        raise Refused("the issuer is another one, or exp is no number")
    if not exp > now - LEEWAY:
        raise Expired("the token has expired")
    claims = _verified(provider, token, alg, find_keys(kid, alg), ("exp", "iat", "sub", "aud", "iss", "jti"),
                       provider.audience)
    subject(claims)
    claims.setdefault("client_id", claims.get("azp"))  # Keycloak names the client like this, as in an ID token
    for name in ("client_id", "jti"):
        _check_text(claims, name)
    if "cnf" in claims:
        raise Refused("it is bound to a key of the client, which is not checked here")
    if claims["client_id"] == claims["sub"]:  # a client may have been given an id that is the subject of a user
        raise Refused("it acts for a program alone, and for no user")
    if not isinstance(claims.get("scope", ""), str):
        raise Refused("the scope is no text")
    return claims


def subject(claims: Mapping[str, Any]) -> str:
    """Returns the subject. Raises `Refused`."""
    sub = claims.get("sub")
    if not isinstance(sub, str) or not 0 < len(sub) <= _LONGEST_SUBJECT or not sub.isprintable():
        raise Refused("the subject is no text of at most 255 characters")
    return sub


def equal(text: object, secret: str) -> bool:
    """Compares a text of a stranger with a secret, in the same time for every text of its length."""
    return isinstance(text, str) and compare_digest(text.encode(errors="replace"), secret.encode())


def _header(provider: Provider, token: object, types: tuple[str | None, ...] | None = None) -> tuple[str, str | None]:
    """Returns (algorithm, id of the key) of a token, unverified. Raises `Refused` for a header that is not accepted."""
    if not isinstance(token, str) or len(token) > _LONGEST or not token.isascii():
        raise Refused("the answer has no token")
    try:
        header = jwt.get_unverified_header(token)
        alg, kid, kind = header.get("alg"), header.get("kid"), header.get("typ")
    except _BROKEN:
        raise Refused("the token cannot be read") from None
    if types is not None and (kind.lower().removeprefix("application/") if isinstance(kind, str) else kind
                              ) not in types:
        raise Refused("the type of the token is not accepted")
    if alg not in provider.algorithms:
        raise Refused("the algorithm is not accepted")
    if "crit" in header or (kid is not None and not isinstance(kid, str)):
        raise Refused("the header of the token is not accepted")
    return str(alg), kid


def _verified(provider: Provider, token: object, alg: str, keys: list[Key], required: tuple[str, ...],
              audience: str = "") -> dict[str, Any]:
    """Returns the claims of a token that one of these keys has signed. Raises `Refused`."""
    if not keys:
        raise Refused("no key of the provider fits the token")
    for key in keys:
        try:
            claims: dict[str, Any] = jwt.decode(str(token), key.public, [alg], audience=audience or provider.client_id,
                                                issuer=provider.issuer, leeway=LEEWAY,
                                                options={"require": list(required)})
        except jwt.InvalidSignatureError:
            continue
        except jwt.ExpiredSignatureError:
            raise Expired("the token has expired") from None
        except _BROKEN as error:
            raise Refused(f"the token is not accepted ({type(error).__name__})") from None
        if not all(isinstance(claims.get(name, 0), int | float) for name in ("iat", "exp")):
            raise Refused("the times of the token are no numbers")
        return claims
    raise Refused("the signature is wrong")


def _check_text(claims: Mapping[str, Any], name: str) -> None:
    if not isinstance(text := claims[name], str) or not 0 < len(text) <= _LONGEST_NAME:
        raise Refused(f"the {name} is no text")


def _check_azp(issuer: Issuer, claims: Mapping[str, Any]) -> None:
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != issuer.provider.client_id:
        raise Refused("the token is for another client")


def _half_hash(alg: str, access_token: object) -> str | None:
    """Returns `at_hash` of an access token; None without one, or if the algorithm does not say which hash."""
    if not isinstance(access_token, str):
        return None
    hashes = _HASHES.get(alg[2:], sha512)  # EdDSA with Ed25519: SHA-512
    digest = hashes(access_token.encode()).digest()
    return urlsafe_b64encode(digest[:len(digest) // 2]).rstrip(b"=").decode()

