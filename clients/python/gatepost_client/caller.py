"""Requests of a caller, with a credential. Requests that can safely be repeated are repeated."""

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
    """Sends requests. `attempts` is the largest number of attempts for one that reads, has a key or a precondition."""

    def __init__(self, wire: Wire, session: Session, attempts: int) -> None:
        self._wire, self._session, self._attempts = wire, session, attempts

    def send(self, method: str, path: str, *, query: Mapping[str, object] | None = None, body: object = None,
             headers: Mapping[str, str | None] | None = None, keyed: bool = False, into: IO[bytes] | None = None,
             ) -> httpx.Response:
        """Returns the complete answer. Raises `GatepostError`.

        headers  None leaves a header out
        keyed    True if the endpoint takes an `Idempotency-Key`: all attempts send the same new key, except for guests,
                 who may not have one
        into     a file for the body
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
        """Yields the answer to a GET, whose body is read in the block. An error in the body is not retried."""
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
        """Returns a renewed token if the service says that the old one has expired, even if the local clock differs."""
        if token is None or refused.code != "token_expired" or not self._session.renews:
            raise refused
        return self._session.in_place_of(token)
