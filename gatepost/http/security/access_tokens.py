"""Access tokens: JWTs (RFC 7519, RFC 9068), issued and verified with flask-jwt-extended.

`verify` caches the result of the signature check by the text of the token. Expiry and revocation are checked on every
request. An expired token leaves the cache.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from time import time
from typing import TYPE_CHECKING, Any

import jwt
from flask import Flask
from flask_jwt_extended import JWTManager, create_access_token, decode_token
from flask_jwt_extended.exceptions import JWTExtendedException

from gatepost.http.protocol.problems import Problem
from gatepost.http.security.keys import KeyFileError

if TYPE_CHECKING:
    from gatepost.http.security.keys import Keys
    from models.tables.user import User
    from settings import Settings

# The order of the group of P-256 (FIPS 186-5, SP 800-186 section 3.2.1.3).
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class SigningKey:
    """Key that signs, key that verifies, and the public half as a JWK (None for a shared secret)."""

    private: Any
    public: Any
    jwk: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Scheme:
    """Algorithm, with the purpose and the length in bytes of the secret from which its key is made."""

    purpose: str
    length: int
    load: Callable[[bytes], SigningKey]


def _hs256(secret: bytes) -> SigningKey:
    return SigningKey(secret, secret, None)


def _es256(secret: bytes) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
    from jwt.algorithms import ECAlgorithm

    # 64 bits more than the order, so that the remainder is nearly uniform (FIPS 186-5, A.2.1).
    private = derive_private_key(int.from_bytes(secret, "big") % (_P256_ORDER - 1) + 1, SECP256R1())
    return SigningKey(private, private.public_key(), _jwk(ECAlgorithm.to_jwk(private.public_key())))


def _eddsa(secret: bytes) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from jwt.algorithms import OKPAlgorithm

    private = Ed25519PrivateKey.from_private_bytes(secret)
    return SigningKey(private, private.public_key(), _jwk(OKPAlgorithm.to_jwk(private.public_key())))


def _jwk(text: str | dict[str, Any]) -> Mapping[str, str]:
    jwk = json.loads(text) if isinstance(text, str) else text
    return {name: jwk[name] for name in ("kty", "crv", "x", "y") if name in jwk}


SCHEMES: Mapping[str, Scheme] = {
    "HS256": Scheme("access token", 32, _hs256),
    "ES256": Scheme("access token ES256", 40, _es256),
    "EdDSA": Scheme("access token EdDSA", 32, _eddsa),
}


TYPE = "at+jwt"
CLIENT = "gatepost"  # the claim client_id (RFC 9068 section 2.2) of every login; service tokens are no JWTs
# Seconds by which a clock may be behind the clock that issued a token: that of another node, or our own before it was
# set back. Only this service issues tokens, so refusing one gains nothing, and would block all sessions.
BEHIND = 86_400
MOST = 8192  # tokens in the cache
FEW = 256  # tokens in the cache below which expired ones are not searched
_REQUIRED: dict[str, type] = {
    "iss": str, "aud": str, "sub": str, "exp": int, "iat": int, "jti": str, "sid": str, "role": str,
    "permissions": list, "tenant": str, "scope": str, "ver": int,
}
_COMPACT = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2}")  # RFC 7515 section 7.1: base64url, no padding
log = logging.getLogger("gatepost.tokens")


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of a valid access token. `scopes` is None for a login without scopes."""

    user_id: str
    session_id: str
    tenant_id: str
    version: int
    expires: int
    scopes: frozenset[str] | None


class AccessTokens:
    """Issues and verifies the access tokens of one app."""

    def __init__(self, app: Flask, settings: Settings, keys: Keys) -> None:
        self.lifetime = timedelta(minutes=settings.access_token_minutes)
        self.algorithm = settings.token_algorithm
        self._keys, self._scheme = keys, SCHEMES[self.algorithm]
        app.config.update(
            JWT_ALGORITHM=self.algorithm, JWT_DECODE_ALGORITHMS=[self.algorithm],
            JWT_ENCODE_ISSUER=settings.issuer, JWT_DECODE_ISSUER=settings.issuer,
            JWT_ENCODE_AUDIENCE=settings.issuer, JWT_DECODE_AUDIENCE=settings.issuer,
            JWT_ACCESS_TOKEN_EXPIRES=self.lifetime, JWT_DECODE_LEEWAY=BEHIND)
        manager = JWTManager(app)
        manager.encode_key_loader(lambda _identity: self._ring[0][1].private)
        manager.decode_key_loader(self._key_for)
        self._cache: dict[str, Claims] = {}
        self._cache_size = FEW
        self._renew()
        keys.followers.append(self._renew)

    def issue(self, user: User, session_id: str, permissions: list[str], scope: str = "*") -> str:
        """Returns a new access token of a session; `scope` is `*`, or scopes separated by spaces.

        permissions  permissions that the user may have on some object, or patterns such as `article.*`
        """
        self._refresh()
        claims = {"sid": session_id, "role": user.role, "permissions": permissions, "tenant": user.tenant_id,
                  "scope": scope, "ver": user.token_version, "client_id": CLIENT}
        headers = {"typ": TYPE, "kid": self._ring[0][0]}
        return create_access_token(user.id, additional_claims=claims, additional_headers=headers)

    def verify(self, token: str) -> Claims:
        """Returns the claims. Raises `Problem`: `invalid_token`, or `token_expired` for a token that was valid."""
        try:
            claims = self._cache.get(token) or self._decode(token)
        except (jwt.PyJWTError, JWTExtendedException, ValueError, TypeError, KeyError):
            raise Problem("invalid_token", "This is not a valid access token.") from None
        if claims.expires <= time():
            raise Problem("token_expired", "The access token has expired. Exchange the refresh token.")
        return claims

    def public_keys(self) -> list[dict[str, str]]:
        """Returns the keys that verify tokens, as JWKs (RFC 7517); none if the key is a shared secret."""
        self._refresh()
        keys = ((kid, key.jwk) for kid, key in self._ring)
        return [{"kid": kid, "use": "sig", "alg": self.algorithm, **jwk} for kid, jwk in keys if jwk is not None]

    def _decode(self, token: str) -> Claims:
        claims = self._check_signature(token)
        if len(self._cache) >= self._cache_size:
            self._make_room()
        self._cache[token] = claims
        return claims

    def _make_room(self) -> None:
        """Removes expired tokens from the cache. Empties it if the search would soon be needed again."""
        now = time()
        valid = {token: claims for token, claims in self._cache.copy().items() if claims.expires > now}
        self._cache = valid if len(valid) <= MOST // 2 else {}
        self._cache_size = min(MOST, FEW + 2 * len(self._cache))

    def _check_signature(self, token: str) -> Claims:
        # The library also accepts padding, but a token has only one spelling.
        if _COMPACT.fullmatch(token) is None:
            raise jwt.InvalidTokenError("not in the compact form")
        header = jwt.get_unverified_header(token)
        claims: dict[str, Any] = decode_token(token, allow_expired=True)
        if header.get("typ") != TYPE or claims.get("type") != "access":
            raise jwt.InvalidTokenError("not an access token")
        for name, kind in _REQUIRED.items():
            if type(claims.get(name)) is not kind:
                raise jwt.InvalidTokenError(f"claim {name}")
        if not all(type(name) is str for name in claims["permissions"]):
            raise jwt.InvalidTokenError("claim permissions")
        scope = claims["scope"]
        return Claims(claims["sub"], claims["sid"], claims["tenant"], claims["ver"], claims["exp"],
                      None if scope == "*" else frozenset(scope.split()))

    def _key_for(self, header: dict[str, Any], _payload: dict[str, Any]) -> Any:
        kid = header.get("kid")
        # Another process may have signed with a key that was added to the ring a moment ago.
        for _ in range(2):
            for name, key in self._ring:
                if name == kid:
                    return key.public
            if not self._refresh():
                break
        raise jwt.InvalidTokenError("unknown key")

    def _refresh(self) -> bool:
        try:
            return self._keys.refresh()
        except KeyFileError as error:
            log.error("the key file cannot be used, the keys stay as they were: %s", error)
            return False

    def _renew(self) -> None:
        scheme = self._scheme
        self._ring = [(kid, scheme.load(secret)) for kid, secret in self._keys.ring(scheme.purpose, scheme.length)]
        # Tokens that were verified with a removed key must leave the cache.
        self._cache = {}
