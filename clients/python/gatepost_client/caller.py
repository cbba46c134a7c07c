"""Requests of somebody: with a credential, and sent again where that does no harm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO
from uuid import uuid4

import httpx

from .problems import Unauthenticated
from .retries import repeated
from .session import Session
from .wire import Request, Wire


class Caller:
    """attempts  how often a request is sent at most, when it reads, or has a key or a precondition"""

    def __init__(self, wire: Wire, session: Session, attempts: int) -> None:
        self._wire, self._session, self._attempts = wire, session, attempts

    def send(self, method: str, path: str, *, query: Mapping[str, object] | None = None, body: object = None,
             headers: Mapping[str, str | None] | None = None, keyed: bool = False, into: IO[bytes] | None = None,
             ) -> httpx.Response:
        """The answer, whole. Raises `GatepostError`.

        headers  those that are None are left out
        keyed    whether the endpoint takes an `Idempotency-Key`: one is made for all attempts, unless the caller is a
                 guest, who may not have one
        into     takes the body in place of memory
        """
        key = str(uuid4()) if keyed and self._session.is_open else None
        named = {"Idempotency-Key": key, **(headers or {})}
        request = Request(method, path, query or {}, body, {name: value for name, value in named.items() if value})

        def attempt() -> httpx.Response:
            token = self._session.access_token()
            try:
                return self._wire.exchange(request, token, into=into)
            except Unauthenticated as refused:
                return self._wire.exchange(request, self._in_place_of(token, refused), into=into)

        return repeated(attempt, attempts=self._attempts if request.repeatable else 1)

    @contextmanager
    def opened(self, path: str, query: Mapping[str, object], accept: str) -> Iterator[httpx.Response]:
        """The answer to a GET whose body is read within. Only what comes before the body is asked for again."""
        request = Request("GET", path, query, headers={"Accept": accept})
        with ExitStack() as stack:
            def attempt() -> httpx.Response:
                token = self._session.access_token()
                try:
                    return stack.enter_context(self._wire.opened(request, token))
                except Unauthenticated as refused:
                    return stack.enter_context(self._wire.opened(request, self._in_place_of(token, refused)))

            yield repeated(attempt, attempts=self._attempts)

    def _in_place_of(self, token: str | None, refused: Unauthenticated) -> str:
        """A renewed token where the service says that the old one is over, whatever the clock says here."""
        if token is None or refused.code != "token_expired" or not self._session.renews:
            raise refused
        return self._session.in_place_of(token)
