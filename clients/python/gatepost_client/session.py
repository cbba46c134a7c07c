"""The credential of a client: none, a service token, or a login whose access token is renewed before it expires."""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import NamedTuple

from .problems import RateLimited, Unauthenticated, Unavailable
from .retries import repeated
from .types import Token
from .wire import Request, Wire

_NEVER = float("inf")
_EARLY = 30.0  # seconds before its expiry, or a tenth of its lifetime, at which an access token is renewed
# For ten seconds the service answers a repeated refresh with the same new token. Later a repetition ends the session.
_REFRESH_TIMEOUT, _REFRESH_WITHIN = 4.0, 5.0


class _Tokens(NamedTuple):
    """Tokens. `refresh` is None for a service token and an ended session; `due` and `end` are monotonic times."""

    access: str
    refresh: str | None
    due: float
    end: float

    def __repr__(self) -> str:
        return "_Tokens(…)"


class Session:
    """The credential of all requests of a client. Threads may share it: one of them renews, the others wait for it."""

    def __init__(self, wire: Wire, service_token: str | None, attempts: int) -> None:
        self._wire, self._attempts = wire, attempts
        self._renewing = Lock()
        self._tokens = _Tokens(service_token, None, _NEVER, _NEVER) if service_token else None

    @property
    def is_open(self) -> bool:
        """True if requests have a credential. Those of a guest have none."""
        return self._tokens is not None

    @property
    def renews(self) -> bool:
        return self._tokens is not None and self._tokens.refresh is not None

    def log_in(self, email: str, password: str) -> None:
        """Logs in, with one attempt: a login without an answer may have opened a session, which expires unused."""
        sent_at = monotonic()
        answer = self._wire.exchange(Request("POST", "/api/login", body={"email": email, "password": password}))
        self._tokens = _tokens(answer.json(), sent_at)

    def log_out(self, everywhere: bool) -> None:
        """Ends the session at the service and here. Later requests are those of a guest."""
        with suppress(Unauthenticated):  # it has ended already
            self._wire.exchange(Request("POST", "/api/logout", body={"all": everywhere}), self.access_token())
        self._tokens = None

    def access_token(self) -> str | None:
        """Returns a valid token; None for a guest. Raises `Unauthenticated` if the session has ended."""
        tokens = self._tokens
        if tokens is None:
            return None
        now = monotonic()
        return tokens.access if now < tokens.due else self._renewed(tokens.access, wait=now >= tokens.end)

    def in_place_of(self, refused: str) -> str:
        """Returns a new token for one that the service calls expired. Raises `Unauthenticated`, `Unavailable`."""
        return self._renewed(refused, wait=True)

    def _renewed(self, stale: str, wait: bool) -> str:
        """Renews the token. Without `wait`, returns `stale` if another thread renews it, or if the renewal fails."""
        if not self._renewing.acquire(blocking=wait):
            return stale
        try:
            tokens = self._tokens
            if tokens is None or tokens.refresh is None:
                raise Unauthenticated("invalid_token", 401, "The session has ended. Log in again.")
            if tokens.access == stale:
                self._tokens = tokens = self._refreshed(tokens.refresh)
            return tokens.access
        except (RateLimited, Unavailable):
            if wait:
                raise
            return stale
        finally:
            self._renewing.release()

    def _refreshed(self, refresh_token: str) -> _Tokens:
        sent_at = monotonic()
        request = Request("POST", "/api/token/refresh", body={"refresh_token": refresh_token})
        try:
            answer = repeated(lambda: self._wire.exchange(request, timeout=_REFRESH_TIMEOUT),
                              attempts=self._attempts, within=_REFRESH_WITHIN)
        except Unauthenticated:
            # Do not continue as a guest: a caller could take the answers to a guest for complete ones.
            self._tokens = _Tokens("", None, -_NEVER, -_NEVER)
            raise
        return _tokens(answer.json(), sent_at)


def _tokens(answer: Token, sent_at: float) -> _Tokens:
    """Returns the tokens of an answer. Their lifetime counts from the request, which was earlier than the issue."""
    end = sent_at + answer["expires_in"]
    return _Tokens(answer["access_token"], answer.get("refresh_token"),
                   end - min(_EARLY, answer["expires_in"] / 10), end)
