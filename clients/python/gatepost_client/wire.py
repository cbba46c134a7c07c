"""One request and its answer over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import httpx

from .problems import lost, problem_of


@dataclass(frozen=True)
class Request:
    """A request, the same at each attempt. Its contents may be secret, and its `repr` does not show them.

    body  bytes are sent unchanged, anything else as JSON; None sends no body
    """

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict, repr=False)
    body: object = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def repeatable(self) -> bool:
        """True if the request may arrive twice: it reads, or has a key or a precondition."""
        reads = self.method == "GET" and self.headers.get("Prefer") != "respond-async"  # that creates a job
        return reads or not {"Idempotency-Key", "If-Match"}.isdisjoint(self.headers)


class Wire:
    """The connections to one service. Threads may share it."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url = httpx.URL(url)
        if self.url.userinfo or not self.url.host or self.url.scheme not in ("http", "https"):
            raise ValueError("The URL of a service is like https://api.example.org, without a user and a password.")
        self._http = httpx.Client(base_url=self.url, timeout=timeout, headers={"API-Version": "1"})

    def close(self) -> None:
        self._http.close()

    def exchange(self, request: Request, token: str | None = None, *, into: IO[bytes] | None = None,
                 timeout: float | None = None) -> httpx.Response:
        """Returns the complete answer; `into` is a file for the body of a success. Raises `GatepostError`."""
        with self.opened(request, token, timeout) as answer:
            if into is None:
                answer.read()
            else:
                into.seek(0)
                into.truncate()
                for part in answer.iter_bytes():
                    into.write(part)
        return answer

    @contextmanager
    def opened(self, request: Request, token: str | None = None, timeout: float | None = None,
               ) -> Iterator[httpx.Response]:
        """Yields the answer, whose body is read in the block. Raises `GatepostError`, also if the body is cut off."""
        cut = None
        try:
            with self._http.stream(
                    request.method, request.path, params=_parameters(request.query), content=_content(request.body),
                    headers=_headers(request, token), timeout=timeout or self._http.timeout) as answer:
                if not answer.is_success:
                    answer.read()
                    raise problem_of(answer)
                yield answer
        except (httpx.TransportError, httpx.DecodingError) as error:
            # The error holds the request with its secrets, and may become the context of another exception.
            error.request = httpx.Request("GET", self.url)
            cut = type(error).__name__
        if cut:
            raise lost(cut)


def _headers(request: Request, token: str | None) -> dict[str, str]:
    kind = {} if request.body is None or isinstance(request.body, bytes) else {"Content-Type": "application/json"}
    return {**kind, **request.headers, **({"Authorization": f"Bearer {token}"} if token else {})}


def _content(body: object) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()


def _parameters(query: Mapping[str, object]) -> dict[str, str]:
    """Returns the parameters as the service reads them: lists with commas (RFC 4180), `true` and `false`, no None."""
    return {name: _text(value) for name, value in query.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, list | tuple | set | frozenset):
        return str(value)
    return ",".join(_quoted(_text(one)) for one in value)


def _quoted(text: str) -> str:
    """Returns a value of a list, in quotes if it could be read as several values, or as a quoted one."""
    return '"' + text.replace('"', '""') + '"' if "," in text or text.startswith('"') else text
