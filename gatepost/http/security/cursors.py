"""Cursors: the position in a list, as a signed opaque text.

This module has the parameters of a cursor, the object for a page, and the code that signs and reads it.

A cursor has its collection, the position after (or before) which the next page starts, a fingerprint of the query, and
the snapshot time of the walk. It grants nothing: each request is authorized again. It is not encrypted, and holds only
values of a row that its first owner has seen.

The text is base64url (RFC 4648 section 5) of a keyed BLAKE2b (RFC 7693) and the signed JSON. A page in the middle of a
walk reads one cursor and writes two; with HMAC in a library's wrapper that took some ten microseconds more.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from typing import Any

import orjson
from marshmallow import fields

from ..protocol.problems import Fault
from ..schemas.validation import ApartParameter
from .base64url import decode, encode
from .epoch import Epoch
from .keys import Keys

MAX_AGE = 24 * 60 * 60  # seconds
_GRAIN = 600  # seconds within which the same page has the same cursors, and so the same ETag
MAX_LENGTH = 8_192  # characters; a title of a thousand letters fits
_MAC = 24  # bytes of a signature
BACKWARD = "before"  # the parameter of a page that goes back


class CursorError(Exception):
    """Error of an unusable cursor. `code` is the error code of the answer."""

    code: str

    def fault(self, **place: str) -> Fault:
        """Returns the fault of a request that has the cursor in this place."""
        return Fault(self.code, "Ask for the first page again.", **place)  # type: ignore[arg-type]


class InvalidCursor(CursorError):
    """Cursor that is foreign, changed, or signed with a key that was rotated out."""

    code = "invalid_cursor"


class CursorMismatch(CursorError):
    """Cursor of another collection, tenant, filter, sort or search."""

    code = "cursor_mismatch"


class CursorExpired(CursorError):
    """Cursor that is older than a day, or than the last restore."""

    code = "cursor_expired"


class Cursor:
    """Position where a page of a list begins, or ends if it goes `backward`. Writes the cursors of other positions.

    position  the values of the sort keys, the id last; None: the edge of the list
    snapshot  only rows up to this time; None, all
    """

    __slots__ = ("_collection", "_cursors", "_question", "backward", "position", "snapshot")

    def __init__(self, cursors: Cursors, collection: str, question: str, position: tuple[Any, ...] | None,
                 snapshot: str | None, backward: bool) -> None:
        self._cursors, self._collection, self._question = cursors, collection, question
        self.position, self.snapshot, self.backward = position, snapshot, backward

    def at(self, position: tuple[Any, ...]) -> str:
        """Returns the text of the cursor of another position of this walk, URL-safe."""
        return self._cursors.write(self._collection, self._question, position, self.snapshot)


def parameters() -> dict[str, fields.Field[Any]]:
    """Returns the parameters of a list that hold a cursor."""
    return {name: ApartParameter(metadata={"description": text}) for name, text in _TEXTS.items()}


_TEXTS = {"cursor": "Another name of `after`.",
          "after": "A cursor that an earlier answer had: the page begins behind its row.",
          BACKWARD: "A cursor that an earlier answer had: the page ends before its row."}
NAMES = tuple(_TEXTS)


def fingerprint(*, filters: Mapping[str, Any], sort: str, q: str | None, tenant: str) -> str:
    """Returns a short hash of a query. It does not depend on the order of the parameters.

    `filters` maps the parameter as written (`price__gte`) to its value, which JSON can hold.
    """
    question = orjson.dumps([filters, sort, q, tenant], option=orjson.OPT_SORT_KEYS)
    return encode(hashlib.sha256(question).digest()[:12])


class Cursors:
    """Writer and reader of cursors with a ring of secrets, the newest first.

    The newest secret signs; all are accepted. To rotate, put a new secret in front, and drop the old one after a day.
    If no secret fits a cursor, `refresh` is called once for newer secrets (`renew`). Cursors of another `epoch` have
    expired. Raises ValueError for an empty ring.
    """

    def __init__(self, secrets: Sequence[str | bytes], *, max_age: int = MAX_AGE,
                 clock: Callable[[], float] = time.time, refresh: Callable[[], bool] = lambda: False,
                 epoch: str = "") -> None:
        self.renew(secrets)
        self.epoch = epoch
        self._max_age = max_age
        self._clock = clock
        self._refresh = refresh

    @classmethod
    def of(cls, keys: Keys, epoch: Epoch) -> Cursors:
        """Returns the cursors of an instance, which follow its keys and its epoch."""
        cursors = cls(keys.secrets("cursor"), refresh=keys.refresh, epoch=epoch.value)

        def follow() -> None:
            cursors.renew(keys.secrets("cursor"))
            cursors.epoch = epoch.value

        keys.followers.append(follow)
        epoch.followers.append(follow)
        return cursors

    def renew(self, secrets: Sequence[str | bytes]) -> None:
        """Replaces the ring."""
        if not secrets or not all(secrets):
            raise ValueError("cursors need at least one secret")
        self._keys = [_key(secret) for secret in secrets]

    def begin(self, collection: str, question: str, snapshot: str | None = None) -> Cursor:
        """Returns the start of a list; `question` is its `fingerprint`."""
        return Cursor(self, collection, question, None, snapshot, False)

    def read(self, text: str, collection: str, question: str, *, backward: bool = False) -> Cursor:
        """Returns the position of a cursor in its list.

        Raises InvalidCursor, CursorExpired, CursorMismatch, checked in this order.
        """
        list_name, position, list_question, snapshot, issued_at, epoch = self._verified(text)
        if epoch != self.epoch or self._clock() - issued_at > self._max_age:
            raise CursorExpired
        if list_name != collection or list_question != question:
            raise CursorMismatch
        return Cursor(self, collection, question, tuple(position), snapshot, backward)

    def write(self, collection: str, question: str, position: tuple[Any, ...], snapshot: str | None = None) -> str:
        """Returns the text of a cursor, URL-safe."""
        written = int(self._clock()) // _GRAIN * _GRAIN
        payload = orjson.dumps([collection, position, question, snapshot, written, self.epoch])
        return encode(_mac(self._keys[0], payload) + payload)

    def _verified(self, text: str) -> list[Any]:
        if len(text) > MAX_LENGTH:
            raise InvalidCursor
        try:
            signed = decode(text)  # refuses other spellings of the same bytes
        except ValueError:
            raise InvalidCursor from None
        mac, payload = signed[:_MAC], signed[_MAC:]
        if not self._is_signed(mac, payload) and not (self._refresh() and self._is_signed(mac, payload)):
            raise InvalidCursor
        parts: list[Any] = orjson.loads(payload)
        # Written before an upgrade, when instances had no epoch.
        return parts if len(parts) == 6 else [*parts, ""]

    def _is_signed(self, mac: bytes, payload: bytes) -> bool:
        return any([compare_digest(_mac(key, payload), mac) for key in self._keys])


def _key(secret: str | bytes) -> bytes:
    return hashlib.blake2b(secret.encode() if isinstance(secret, str) else secret, person=b"gatepost.cursor").digest()


def _mac(key: bytes, payload: bytes) -> bytes:
    return hashlib.blake2b(payload, key=key, digest_size=_MAC).digest()
