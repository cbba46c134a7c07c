"""The methods of all collections. `resources` has one class for each, with the types of its rows and filters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from .caller import Caller
from .problems import GatepostError, NotFound
from .stored import Stored
from .types import Imported, Job, NewShare, Share

_NDJSON, _MERGE_PATCH = "application/x-ndjson", "application/merge-patch+json"
_LATER = "respond-async"
Target = Stored[Any] | str


class Collection:
    """The requests of one collection. Its typed methods call these methods, which all raise `GatepostError`."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._caller, self._path = caller, f"/api/{name}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path}>"

    # Reading

    def _page(self, query: Mapping[str, object], path: str | None = None) -> Any:
        return self._caller.send("GET", path or self._path, query=query).json()

    def _list(self, query: Mapping[str, object], path: str | None = None) -> Iterator[Any]:
        """Yields every row, page after page. Requests a page that was cut off again, by the same cursor."""
        while True:
            page = self._page(query, path)
            yield from page["items"]
            if not page["has_next"]:
                return
            query = {**query, "cursor": page["next_cursor"]}

    def _get(self, id: str, query: Mapping[str, object] | None = None) -> Stored[Any]:
        answer = self._caller.send("GET", self._at(id), query=query)
        return Stored(id, answer.json(), answer.headers["ETag"])

    # Writing

    def _create(self, new: object, keyed: bool) -> Stored[Any]:
        answer = self._caller.send("POST", self._path, body=new, keyed=keyed)
        return self._stored(answer, answer.headers["Location"].rpartition("/")[2])

    def _submit(self, new: object) -> Any:
        """Creates an object that the service answers only with a receipt."""
        return self._caller.send("POST", self._path, body=new, keyed=True).json()

    def _update(self, target: Target, changes: object, etag: str | None) -> Stored[Any]:
        id, guard = _guarded(target, etag)
        headers = {**guard, "Content-Type": _MERGE_PATCH}
        return self._stored(self._caller.send("PATCH", self._at(id), body=changes, headers=headers, keyed=True), id)

    def _replace(self, target: Target, new: object, etag: str | None) -> Stored[Any]:
        id, guard = _guarded(target, etag)
        return self._stored(self._caller.send("PUT", self._at(id), body=new, headers=guard), id)

    def _delete(self, target: Target, etag: str | None) -> None:
        id, guard = _guarded(target, etag)
        try:
            self._caller.send("DELETE", self._at(id), headers=guard)
        except NotFound as error:
            if error.attempts == 1:
                raise
            # An earlier attempt, whose answer was lost, has deleted it.

    def _act(self, target: Target, action: str, etag: str | None) -> Stored[Any]:
        id, guard = _guarded(target, etag)
        return self._stored(self._caller.send("POST", f"{self._at(id)}/{action}", headers=guard, keyed=True), id)

    def _stored(self, answer: httpx.Response, id: str) -> Stored[Any]:
        """Returns the answered object. Reads it if a repeated request was answered without object or ETag."""
        if answer.content and "ETag" in answer.headers:
            return Stored(id, answer.json(), answer.headers["ETag"])
        return self._get(id)

    # Files

    def _export(self, query: Mapping[str, object]) -> Iterator[Any]:
        with self._caller.opened(f"{self._path}/export", query, _NDJSON) as answer:
            yield from map(json.loads, lines(answer.iter_bytes()))

    def _export_later(self, query: Mapping[str, object], media_type: str) -> Job:
        return _job(self._caller.send("GET", f"{self._path}/export", query=query,
                                      headers={"Accept": media_type, "Prefer": _LATER}))

    def _import(self, rows: Iterable[Mapping[str, object]], query: Mapping[str, object]) -> Imported:
        done: Imported = self._sent(rows, query, None).json()
        return done

    def _import_later(self, rows: Iterable[Mapping[str, object]], query: Mapping[str, object]) -> Job:
        return _job(self._sent(rows, query, _LATER))

    def _sent(self, rows: Iterable[Mapping[str, object]], query: Mapping[str, object], prefer: str | None,
              ) -> httpx.Response:
        body = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
        return self._caller.send("POST", f"{self._path}/import", query=query, body=body, keyed=True,
                                 headers={"Content-Type": _NDJSON, "Prefer": prefer})

    # Shares

    def _shares(self, target: Target) -> Iterator[Share]:
        return self._list({}, f"{self._at(_guarded(target, None)[0])}/shares")

    def _share(self, target: Target, new: NewShare) -> None:
        self._caller.send("PUT", f"{self._at(_guarded(target, None)[0])}/shares", body=new)

    def _unshare(self, target: Target, grantee: str) -> None:
        self._caller.send("DELETE", f"{self._at(_guarded(target, None)[0])}/shares", query={"grantee": grantee})

    def _at(self, id: str) -> str:
        return f"{self._path}/{quote(id, safe='')}"


def lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the lines of NDJSON. Only a line feed ends a line: texts may hold other line breaks, such as U+2028."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _guarded(target: Target, etag: str | None) -> tuple[str, dict[str, str | None]]:
    """Returns the id and the precondition: the given ETag, else the version that was read."""
    if isinstance(target, str):
        return target, {"If-Match": etag}
    return target.id, {"If-Match": etag or target.etag}


def _job(answer: httpx.Response) -> Job:
    if answer.status_code != 202:
        raise GatepostError("", answer.status_code, "The service does not do this later.")
    job: Job = answer.json()
    return job
