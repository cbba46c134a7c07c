"""The client of one service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from .caller import Caller
from .resources import Resources
from .session import Session
from .types import Account
from .wire import Wire


class Gatepost(Resources):
    """A client of one service. It is a guest at first, or the owner of a service token.

    url       URL of the service, such as `https://api.example.org`
    token     a service token, `gp_…`
    timeout   seconds that each attempt may take to connect, and to wait for the next bytes
    attempts  largest number of attempts for a request that reads, or has a key or a precondition

    Threads may share it. `close` it, or use it as a context manager. Raises ValueError for an invalid URL or token,
    such as one with a line feed at its end.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 30.0, attempts: int = 6) -> None:
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token and token):
            raise ValueError("The token has a character that no token has, or none at all.")
        self._wire = Wire(url, timeout)
        self._session = Session(self._wire, token, attempts)
        self._caller = Caller(self._wire, self._session, attempts)
        super().__init__(self._caller)

    def __repr__(self) -> str:
        return f"Gatepost('{self._wire.url}')"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. The session stays open: `logout` ends it."""
        self._wire.close()

    def login(self, email: str, password: str) -> None:
        """Opens a session, which stays open as long as it is used. Raises `Unauthenticated`."""
        self._session.log_in(email, password)

    def logout(self, *, everywhere: bool = False) -> None:
        """Ends the session, or all sessions of the user."""
        self._session.log_out(everywhere)

    def me(self) -> Account:
        """Returns the caller's account and their current permissions."""
        account: Account = self._caller.send("GET", "/api/profile").json()
        return account

    def call(self, method: str, path: str, body: object = None, *, query: Mapping[str, object] | None = None,
             etag: str | None = None, keyed: bool = False) -> Any:
        """Calls any other endpoint. Returns the JSON of the answer; None if it has no body.

        keyed  sends an `Idempotency-Key`, so that the request can be repeated: for endpoints that take one
        """
        answer = self._caller.send(method, path, query=query, body=body, headers={"If-Match": etag}, keyed=keyed)
        return answer.json() if answer.content else None
