"""Discovery documents and keys of the providers, fetched when they are needed and kept in memory.

Documents and keys are kept for an hour. Keys are also fetched for an unknown `kid`, at most once a minute. After an
error, no request is sent for some seconds: a provider that hangs must not hold the threads of the service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any, NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from gatepost import Services
from gatepost.http.operations.concurrency import most_waiting, threads_of
from settings import Settings
from settings.providers import Provider

from . import configured, connection
from .connection import ProviderError, allowed_url

KEPT = 3600.0  # seconds that a discovery document and keys are used
BETWEEN = 60.0  # seconds between two requests for keys because of an unknown `kid`
PAUSE = 5.0  # seconds without requests after an error
MOST_KEYS = 100
_SHORTEST_RSA = 2048  # bits
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
_WELL_KNOWN = "/.well-known/openid-configuration"


class Metadata(NamedTuple):
    """The parts of a discovery document that are used."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    announces_iss: bool
    takes_basic: bool


@dataclass(frozen=True)
class Key:
    """A public key of a provider. `alg` is the one algorithm that it is for, if the provider says so."""

    kid: str | None
    alg: str | None
    public: Any

    def is_for(self, alg: str) -> bool:
        """True if the key can verify signatures of this algorithm."""
        if self.alg is not None and self.alg != alg:
            return False
        if alg[:2] in ("RS", "PS"):
            return isinstance(self.public, RSAPublicKey) and self.public.key_size >= _SHORTEST_RSA
        if alg in _CURVES:
            return isinstance(self.public, EllipticCurvePublicKey) and self.public.curve.name == _CURVES[alg]
        return alg == "EdDSA" and isinstance(self.public, Ed25519PublicKey)


class Issuer:
    """One provider: its discovery document and its keys. Shared by all threads."""

    def __init__(self, provider: Provider, clock: Callable[[], float] = monotonic) -> None:
        self.provider = provider
        self._clock = clock
        self._lock = Lock()
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, list[Key]] | None = None
        self._failed: tuple[float, ProviderError] | None = None

    def metadata(self) -> Metadata:
        """Returns the discovery document, fetched again each hour. Raises `ProviderError`."""
        cached = self._metadata
        if cached is not None and self._clock() < cached[0] + KEPT:
            return cached[1]
        with self._one_at_a_time():
            cached = self._metadata
            if cached is None or self._clock() >= cached[0] + KEPT:
                cached = self._metadata = self._clock(), self._tried(self._discover)
            return cached[1]

    def keys(self, kid: str | None, alg: str) -> list[Key]:
        """Returns the keys that may have signed a token with these values in its header. Raises `ProviderError`."""
        metadata = self.metadata()
        if matching := self.cached_keys(kid, alg):
            return matching
        with self._one_at_a_time():
            if matching := self.cached_keys(kid, alg):
                return matching
            cached = self._keys
            if cached is None or self._clock() >= cached[0] + BETWEEN:
                cached = self._keys = self._clock(), self._tried(lambda: self._fetch_keys(metadata))
            return _matching(cached[1], kid, alg)

    def cached_keys(self, kid: str | None, alg: str) -> list[Key]:
        """Returns cached keys; none after an hour, because the provider may have withdrawn one."""
        cached = self._keys
        return [] if cached is None or self._clock() >= cached[0] + KEPT else _matching(cached[1], kid, alg)

    def _one_at_a_time(self) -> _Held:
        return _Held(self._lock, self.provider.timeout)

    def _tried(self, work: Callable[[], Any]) -> Any:
        if self._failed is not None and self._clock() < self._failed[0] + PAUSE:
            raise self._failed[1]
        try:
            result = work()
        except ProviderError as error:
            self._failed = self._clock(), error
            raise
        self._failed = None
        return result

    def _discover(self) -> Metadata:
        provider = self.provider
        document = connection.get(provider, provider.issuer.rstrip("/") + _WELL_KNOWN)
        if document.get("issuer") != provider.issuer:
            raise ProviderError(f"the discovery document is of another issuer than oidc.{provider.name}.issuer")
        endpoints = {}
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not allowed_url(provider, document.get(name)):
                raise ProviderError(f"the discovery document has no {name} that may be used")
            endpoints[name] = document[name]
        userinfo = document.get("userinfo_endpoint")
        methods = document.get("token_endpoint_auth_methods_supported")
        return Metadata(**endpoints, userinfo_endpoint=userinfo if allowed_url(provider, userinfo) else None,
                        announces_iss=document.get("authorization_response_iss_parameter_supported") is True,
                        takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods)

    def _fetch_keys(self, metadata: Metadata) -> list[Key]:
        documents = connection.get(self.provider, metadata.jwks_uri).get("keys")
        if not isinstance(documents, list):
            raise ProviderError("the key set of the provider has no keys")
        return list(_readable(documents[:MOST_KEYS]))


class _Held:
    """A lock that is waited for no longer than a provider may take. Raises `ProviderError`."""

    def __init__(self, lock: Lock, patience: float) -> None:
        self._lock, self._patience = lock, patience

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._patience):
            raise ProviderError("another request waits for the provider already")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Issuers:
    """All providers of the service. `busy` bounds the threads that talk to providers at the same time."""

    def __init__(self, settings: Settings) -> None:
        self._issuers = {name: Issuer(provider) for name, provider in configured.providers(settings).items()}
        self.busy = BoundedSemaphore(most_waiting(threads_of(settings)))

    def get(self, name: str) -> Issuer | None:
        """Returns a provider by name."""
        return self._issuers.get(name)

    def __iter__(self) -> Iterator[Issuer]:
        return iter(self._issuers.values())


def make(services: Services) -> Issuers:
    """Returns the providers of a service."""
    return Issuers(services.settings)


def _matching(keys: list[Key], kid: str | None, alg: str) -> list[Key]:
    return [key for key in keys if (kid is None or key.kid == kid) and key.is_for(alg)]


def _readable(documents: list[Any]) -> Iterator[Key]:
    """Yields the keys that can be read. One that cannot does not break the others."""
    for document in documents:
        if not isinstance(document, dict) or document.get("use") not in (None, "sig") or document.get("kty") == "oct":
            continue
        kid, alg = document.get("kid"), document.get("alg")
        try:
            # Without `alg`, which may be one that the library does not know.
            public = jwt.PyJWK({name: value for name, value in document.items() if name != "alg"}).key
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, AttributeError, KeyError):
            continue
        yield Key(kid if isinstance(kid, str) else None, alg if isinstance(alg, str) else None, public)
