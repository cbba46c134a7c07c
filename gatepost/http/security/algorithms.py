"""The algorithms that access tokens may be signed with (RFC 7518, RFC 8037); one of them at a time.

Whatever the algorithm, its key is derived from the instance's ring, so there is one secret to keep and one way
to rotate. With ES256 and EdDSA others can verify our tokens by the public half, at `/.well-known/jwks.json`. What
computes them is imported by whoever signs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# The order of the group of P-256 (FIPS 186-5, SP 800-186 section 3.2.1.3).
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What signs, what verifies, and the public half as a JWK (None for a shared secret)."""

    private: Any
    public: Any
    jwk: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Scheme:
    """One algorithm: the purpose and length in bytes of the secret that its key is made from."""

    purpose: str
    length: int
    load: Callable[[bytes], SigningKey]


def _hs256(secret: bytes) -> SigningKey:
    return SigningKey(secret, secret, None)


def _es256(secret: bytes) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
    from jwt.algorithms import ECAlgorithm

    # 64 bits more than the order has, so that the remainder is as good as uniform (FIPS 186-5, A.2.1).
    private = derive_private_key(int.from_bytes(secret, "big") % (_P256_ORDER - 1) + 1, SECP256R1())
    return SigningKey(private, private.public_key(), _jwk(ECAlgorithm.to_jwk(private.public_key())))


def _eddsa(secret: bytes) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from jwt.algorithms import OKPAlgorithm

    private = Ed25519PrivateKey.from_private_bytes(secret)
    return SigningKey(private, private.public_key(), _jwk(OKPAlgorithm.to_jwk(private.public_key())))


def _jwk(text: str | dict[str, Any]) -> Mapping[str, str]:
    found = json.loads(text) if isinstance(text, str) else text
    return {name: found[name] for name in ("kty", "crv", "x", "y") if name in found}


SCHEMES: Mapping[str, Scheme] = {
    "HS256": Scheme("access token", 32, _hs256),
    "ES256": Scheme("access token ES256", 40, _es256),
    "EdDSA": Scheme("access token EdDSA", 32, _eddsa),
}
