"""Import of many rows at once: `POST /api/{collection}/import`. All or nothing, unless the client chooses otherwise."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, BinaryIO

from marshmallow import fields

from ..operations import limits
from ..operations.concurrency import RETRY_AFTER
from ..pipeline import idempotency, responses
from ..protocol import expectation
from ..protocol.json_body import refuse_coded
from ..protocol.problems import CUT_UNSEEN, Fault, Problem, unsupported_media_type
from ..request.call import Call, Write
from ..request.endpoint import Endpoint
from ..schemas import file_formats
from ..schemas.fields import StrictSchema, one_of
from ..schemas.parameters import Switch
from .intake import Import
from .planned import MOST_LISTED, OUTCOMES, Plan
from .writable import Writable


class LineFaultSchema(StrictSchema):
    """Error in one line. Lines are counted from 1."""

    line = fields.Integer(required=True)
    code = fields.String(required=True)
    detail = fields.String(required=True)
    pointer = fields.String(required=True, allow_none=True)


class PlannedFieldSchema(StrictSchema):
    """A field that a line would set. A text of more than 200 characters is cut."""

    field = fields.String(required=True)
    before = fields.Raw(required=True, allow_none=True, metadata={"description": "null for a new row."})
    after = fields.Raw(required=True, allow_none=True)


class PlannedLineSchema(StrictSchema):
    """Effect that a line would have."""

    line = fields.Integer(required=True)
    outcome = fields.String(required=True, validate=one_of(OUTCOMES))
    id = fields.String(required=True, allow_none=True, metadata={"description": "The row; null for a new one."})
    changes = fields.List(fields.Nested(PlannedFieldSchema), required=True)


class ImportedSchema(StrictSchema):
    """Result of an import."""

    imported = fields.Integer(required=True, metadata={"description": "New rows."})
    updated = fields.Integer(required=True, metadata={"description": "Lines whose row was there already."})
    failed = fields.Integer(required=True, metadata={"description": "Lines that were left out."})
    errors = fields.List(fields.Nested(LineFaultSchema), required=True)
    unchanged = fields.Integer(metadata={"description": "Of `updated`, lines that change nothing: only of a dry run."})
    lines = fields.List(fields.Nested(PlannedLineSchema), metadata={
        "description": f"The first {MOST_LISTED} lines that can be imported: only of a dry run."})


class _Options(StrictSchema):
    on_error = fields.String(validate=one_of(["skip"]), metadata={
        "description": "skip: leave out the lines that fail, as long as fewer than a thousand faults are found. "
                       "Without it, one failing line undoes all."})
    dry_run = Switch(metadata={
        "description": "true: report what the import would do, and store nothing. Faulty lines are listed, and do not "
                       "refuse the file."})


def endpoint(collection: Writable) -> Endpoint:
    """Returns the import endpoint of a collection."""
    declared: dict[str, Any] = dict(_Options._declared_fields)
    if collection.import_keys:
        declared["key"] = fields.String(validate=one_of(collection.import_keys), metadata={
            "description": "A line updates the row that has this value, if there is one."})
    options = StrictSchema.from_dict(declared, name=f"{type(collection).__name__}Import")()
    return Endpoint(name="import", method="POST", path=f"/api/{collection.name}/import", query=options,
                    permission=collection.permission("import"), narrows=True,
                    prepare=lambda call: _check(collection, call), around=_loading,
                    handler=_store, writes=True, answer=ImportedSchema(), cost=10, accepts=file_formats.MEDIA_TYPES,
                    lines=collection.body_schema,
                    summary=f"Import {collection.name}: make or change many rows, from NDJSON or CSV.")


def intake(collection: Writable, call: Call) -> Import:
    """Returns the import for the query of `call`."""
    plan = Plan(collection, call) if is_dry(call) else None
    return Import(collection, call, key=call.query.get("key"), skip="on_error" in call.query, plan=plan)


def is_dry(call: Call) -> bool:
    """True if the import must store nothing."""
    return bool(call.query.get("dry_run"))


def _check(collection: Writable, call: Call) -> None:
    """Reads the body and checks every line, while no other writer waits."""
    with received(call) as body:
        call.prepared = intake(collection, call)
        _finish(call.prepared.check(call.request.mimetype, body))


@contextmanager
def received(call: Call) -> Iterator[BinaryIO]:
    """Yields the incoming body of an import. Sets the digest of the call after the body is read.

    Raises `Problem` for a refused body: because of its media type, length or cost, or of too many other large bodies.
    """
    if call.request.mimetype not in file_formats.MEDIA_TYPES:
        raise unsupported_media_type(file_formats.MEDIA_TYPES, "Accept-Post")
    refuse_coded(call.request)
    if CUT_UNSEEN in call.request.environ:
        # Nothing in the lines marks the end of the file, as the last bracket of a JSON document does.
        fault = Fault("invalid_header", "Send Content-Length: this server cannot tell whether the file is complete.",
                      header="Content-Length")
        raise Problem.of([fault], "invalid_header")
    with _limited(call):
        call.request.max_content_length = call.services.settings.import_limit
        body = _Body(call)
        yield io.BufferedReader(body, 2**16)
        call.digest = body.digest.hexdigest()


@contextmanager
def _limited(call: Call) -> Iterator[None]:
    """Counts a large body, or one of unknown length, against the concurrency limit. 503 if the limit is reached.

    If the server has asked about the head, it has already counted and read the body; then nothing is counted here.
    """
    length, limit = call.request.content_length, call.services.large_bodies
    small = length is not None and length <= call.services.settings.body_limit
    if small or expectation.ENVIRON_KEY in call.request.environ:
        yield
        return
    key = limits.network_of(call.address)
    if not limit.acquire(key):
        raise Problem("overloaded", "Too many large bodies are being sent. Try again when one has ended.",
                      headers={"Retry-After": RETRY_AFTER})
    try:
        yield
    finally:
        limit.release(key)


@contextmanager
def _loading(call: Call) -> Iterator[None]:
    """Stores many new rows before the transaction, if they would keep other writers waiting."""
    with call.prepared.load() as opened:
        if opened:
            # The twin may have got its answer while this call waited for the same table.
            idempotency.replay(call)
            if call.write.response is None:
                _finish(call.prepared.store_new())
        try:
            yield
        except _Rehearsed as rehearsed:
            call.write = Write(result=rehearsed.outcome)
            call.write.response = responses.respond(call)


class _Rehearsed(Exception):
    """Signal that a dry run is complete. It undoes the transaction."""

    def __init__(self, outcome: dict[str, Any]) -> None:
        super().__init__()
        self.outcome = outcome


def _store(call: Call) -> dict[str, Any]:
    _finish(call.prepared.store())
    if is_dry(call):
        raise _Rehearsed(outcome(call))
    return outcome(call)


def outcome(call: Call) -> dict[str, Any]:
    """Returns the result of the import, in the language of the request."""
    result: dict[str, Any] = call.prepared.outcome
    if result["errors"]:
        translation = call.services.translations.wanted(call.request)
        for fault in result["errors"]:
            fault["detail"] = translation.say(fault["detail"])
        call.headers.update({"Content-Language": translation.tag, "Vary": "Accept-Language"})
    return result


def _finish(progress: Iterator[int]) -> None:
    # An HTTP request does not report its progress.
    deque(progress, maxlen=0)


class _Body(io.RawIOBase):
    """Incoming body of a request. Takes units by its size, and computes its SHA-256.

    Raises `Problem` (`rate_limited`): before reading, if the client announces the length of the body.
    """

    def __init__(self, call: Call) -> None:
        self._call, self._stream = call, call.request.stream  # the stream refuses a body that is too large
        self._size = 0
        self._units = 0
        self._spend(call.request.content_length or 0)
        self.digest = sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._stream.read(len(buffer))
        self._size += len(chunk)
        self._spend(self._size)
        self.digest.update(chunk)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _spend(self, size: int) -> None:
        call = self._call
        self._units = call.services.limits.spend_by_size(
            call.principal, call.address, size, self._units, cost=call.endpoint.cost)
