"""Access tokens: JWTs (RFC 7519, RFC 9068) made and checked by flask-jwt-extended.

`verify` caches the signature check by the token's text, which cannot change its outcome; expiry and
revocation are looked at again on every request.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Any

import jwt
from flask import Flask
from flask_jwt_extended import JWTManager, create_access_token, decode_token
from flask_jwt_extended.exceptions import JWTExtendedException

from .errors import Problem

if TYPE_CHECKING:
    from models.user import User
    from settings import Settings

    from .keys import Keys

ALGORITHM = "HS256"
TYPE = "at+jwt"
_REQUIRED: dict[str, type] = {
    "iss": str, "aud": str, "sub": str, "exp": int, "iat": int, "jti": str, "sid": str, "role": str,
    "permissions": list, "tenant": str, "scope": str, "ver": int,
}


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid access token says. `scopes` is None for an ordinary, unscoped login."""

    user_id: str
    session_id: str
    version: int
    expires: int
    scopes: frozenset[str] | None


class Tokens:
    """Issues and verifies the access tokens of one app."""

    def __init__(self, app: Flask, settings: Settings, keys: Keys) -> None:
        self.lifetime = timedelta(minutes=settings.access_token_minutes)
        self._ring = keys.ring("access token")
        app.config.update(
            JWT_ALGORITHM=ALGORITHM, JWT_DECODE_ALGORITHMS=[ALGORITHM],
            JWT_ENCODE_ISSUER=settings.issuer, JWT_DECODE_ISSUER=settings.issuer,
            JWT_ENCODE_AUDIENCE=settings.issuer, JWT_DECODE_AUDIENCE=settings.issuer,
            JWT_ACCESS_TOKEN_EXPIRES=self.lifetime, JWT_DECODE_LEEWAY=0)
        manager = JWTManager(app)
        manager.encode_key_loader(lambda _identity: self._ring[0][1])
        manager.decode_key_loader(self._key_for)
        self._decode = lru_cache(maxsize=8192)(self._decode_uncached)

    def issue(self, user: User, session_id: str, permissions: list[str], scope: str = "*") -> str:
        """A new access token of a session; `scope` is `*`, or scopes separated by spaces."""
        claims = {"sid": session_id, "role": user.role, "permissions": permissions, "tenant": user.tenant_id,
                  "scope": scope, "ver": user.token_version}
        headers = {"typ": TYPE, "kid": self._ring[0][0]}
        return create_access_token(user.id, additional_claims=claims, additional_headers=headers)

    def verify(self, token: str) -> Claims:
        """Raises `Problem`: `invalid_token`, or `token_expired` for one that was valid."""
        try:
            claims = self._decode(token)
        except (jwt.PyJWTError, JWTExtendedException, ValueError, TypeError, KeyError):
            raise Problem("invalid_token", "This is not a valid access token.") from None
        if claims.expires <= time():
            raise Problem("token_expired", "The access token has expired. Exchange the refresh token.")
        return claims

    def _decode_uncached(self, token: str) -> Claims:
        header = jwt.get_unverified_header(token)
        if header.get("typ") != TYPE:
            raise jwt.InvalidTokenError("not an access token")
        claims: dict[str, Any] = decode_token(token, allow_expired=True)
        for name, kind in _REQUIRED.items():
            if type(claims.get(name)) is not kind:
                raise jwt.InvalidTokenError(f"claim {name}")
        scope = claims["scope"]
        return Claims(claims["sub"], claims["sid"], claims["ver"], claims["exp"],
                      None if scope == "*" else frozenset(scope.split()))

    def _key_for(self, header: dict[str, Any], _payload: dict[str, Any]) -> bytes:
        for kid, key in self._ring:
            if kid == header.get("kid"):
                return key
        raise jwt.InvalidTokenError("unknown key")
