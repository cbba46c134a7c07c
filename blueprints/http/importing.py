"""`POST /api/{collection}/import`: many rows at once, all or nothing unless the client says otherwise.

The body is read twice: once to check every line before any writer has to wait, once inside the transaction. A line
whose `id` (or whose `key`) is known changes that row, any other makes one; each row is judged as if it came alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from flask import Response, after_this_request
from marshmallow import ValidationError, fields, validate

from models.base import Rows, is_id
from models.errors import RowError

from . import errors, formats
from .call import Call, Endpoint
from .errors import Fault, Problem, read_only
from .fields import StrictSchema
from .validation import load_body

if TYPE_CHECKING:
    from .collection import Collection

_IN_MEMORY = 2**20  # bytes of a body that are kept in memory; more goes to a temporary file
_MOST_FAULTS = 1000  # faults that one answer lists


class ImportedSchema(StrictSchema):
    """What became of the lines."""

    imported = fields.Integer(required=True, metadata={"description": "New rows."})
    updated = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    errors = fields.List(fields.Dict(keys=fields.String()), required=True)


class _Options(StrictSchema):
    on_error = fields.String(validate=validate.OneOf(["skip"]), metadata={
        "description": "skip: leave out the lines that fail. Without it, one failing line undoes all."})


@dataclass(frozen=True)
class Source:
    """A file of rows: a request's body, or what a command reads."""

    media_type: str
    stream: IO[bytes]


def endpoint(collection: Collection) -> Endpoint:
    """The import of a collection that declares it."""
    declared: dict[str, Any] = dict(_Options._declared_fields)
    if collection.import_keys:
        declared["key"] = fields.String(validate=validate.OneOf(collection.import_keys), metadata={
            "description": "A line updates the row that has this value, if there is one."})
    options = StrictSchema.from_dict(declared, name=f"{type(collection).__name__}Import")()
    return Endpoint(name="import", method="POST", path=f"/api/{collection.name}/import", query=options,
                    permission=collection.permission("import"), prepare=lambda call: _prepare(collection, call),
                    handler=lambda call: _run(collection, call), writes=True, answer=ImportedSchema(), cost=10,
                    accepts=formats.MEDIA_TYPES,
                    summary="Make or change many rows, from NDJSON or CSV.")


def _prepare(collection: Collection, call: Call) -> None:
    """Keep the body, and refuse it as a whole when a line cannot be right whatever the rows are."""
    if call.request.mimetype not in formats.MEDIA_TYPES:
        raise Problem("unsupported_media_type", f"Send {' or '.join(formats.MEDIA_TYPES)}.")
    call.request.max_content_length = call.services.settings.import_limit
    stream = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it lives as long as the call

    @after_this_request
    def let_go(response: Response) -> Response:
        stream.close()
        return response

    digest = sha256()
    while chunk := call.request.stream.read(65536):
        digest.update(chunk)
        stream.write(chunk)
    call.digest, call.prepared = digest.hexdigest(), Source(call.request.mimetype, stream)
    faults = Faults()
    for number, line in _lines(collection, call.prepared):
        if isinstance(line, Problem):
            faults.add(number, line)
        else:
            try:
                # A line without id or key can only be a new row, and must be whole.
                _loaded(collection, line, new=line.get("id") is None and "key" not in call.query)
            except Problem as problem:
                faults.add(number, problem)
    if faults.count and "on_error" not in call.query:
        raise faults.problem()


def _run(collection: Collection, call: Call) -> dict[str, Any]:
    """Store every line, inside the transaction."""
    imported = updated = 0
    faults = Faults()
    for number, line in _lines(collection, call.prepared):
        try:
            if isinstance(line, Problem):
                raise line
            new = call.services.database.attempt(lambda line=line: _store(collection, call, line))
        except (Problem, RowError) as error:
            faults.add(number, errors.translate(error))
        else:
            imported, updated = imported + new, updated + (not new)
    if faults.count and "on_error" not in call.query:
        raise faults.problem()
    return {"imported": imported, "updated": updated, "failed": len(faults.lines), "errors": faults.listed()}


def _lines(collection: Collection, source: Source) -> Iterator[formats.Line]:
    source.stream.seek(0)
    return formats.read(source.media_type, source.stream, collection.schema())


def _store(collection: Collection, call: Call, line: Mapping[str, Any]) -> bool:
    """Make or change one row; whether it is new."""
    one = copy(call)
    one.row = _known(collection, call, line)
    new = one.row is None
    one.endpoint = replace(call.endpoint, permission=collection.permission("create" if new else "update"))
    one.body, one.read_only = _loaded(collection, line, new=new)
    if new:
        _make(collection, one)
    else:
        _change(collection, one)
    return new


def _make(collection: Collection, call: Call) -> None:
    """A new row, with the read-only fields that whoever manages the resource may set."""
    given, call.read_only = call.read_only, {}
    call.row = row = collection.draft(call)
    if given and not call.access.allows(collection.manage, row.__data__):
        raise Problem.of([read_only(name) for name in given], "invalid_body")
    for name, value in _checked(collection, call, given).items():
        setattr(row, name, value)
    _judge(collection, call)
    collection.create(call, row)


def _change(collection: Collection, call: Call) -> None:
    """A known row: judged as it is, and once more as it has become. Equal values change nothing."""
    _judge(collection, call)
    row = call.row
    fixed: Mapping[str, Any] = {}
    if call.access.allows(collection.manage, row.__data__):
        changeable = {name: value for name, value in call.read_only.items() if name not in collection.create_only}
        fixed = _checked(collection, call, changeable)
        call.read_only = {name: value for name, value in call.read_only.items() if name not in changeable}
    changes = {**collection.permitted(call, call.body), **fixed}
    changes = {name: value for name, value in changes.items() if value != row.__data__.get(name)}
    if changes:
        collection.update(call, row, changes)
        _judge(collection, call)


def _judge(collection: Collection, call: Call) -> None:
    call.access.require(call.endpoint.permission or "", call.facts)
    collection.restrict(call)


def _checked(collection: Collection, call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    """Read-only values that may be stored: of their field's type, a state that exists, never another tenant."""
    states: dict[str, set[Any]] = {}
    for action in collection.actions:
        states.setdefault(action.state, set()).update(action.transitions, action.transitions.values())
    checked, faults = {}, []
    for name, value in given.items():
        try:
            checked[name] = collection.body_schema.fields[name].deserialize(value)
            if name in states and value not in states[name]:
                raise ValidationError(f"There is no such {name}.")
            if name == "tenant_id" and value != call.tenant_id:
                raise ValidationError("Rows stay in their tenant.")
        except ValidationError as error:
            faults.append(Fault("invalid_field", str(error), pointer=f"/{name}"))
    if faults:
        raise Problem.of(faults, "invalid_body")
    # A version counts changes of this row here; it cannot be brought along.
    stored = set(collection.representation.columns) - {"version"}
    return {name: value for name, value in checked.items() if name in stored}


def _known(collection: Collection, call: Call, line: Mapping[str, Any]) -> Any:
    """The row that a line means, when the caller may view it."""
    rows, row = Rows(collection.model, call.tenant_id), None
    if isinstance(line.get("id"), str) and is_id(line["id"]):
        row = rows.find(line["id"], lock=True)
    key = call.query.get("key")
    if row is None and key is not None and isinstance(line.get(key), str):
        found = rows.select().where(collection.model._meta.fields[key] == line[key]).first()
        row = rows.find(found.id, lock=True) if found is not None else None
    return row if row is not None and call.access.allows(collection.view, row.__data__) else None


def _loaded(collection: Collection, line: Mapping[str, Any], *, new: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    # An exported row has null where a field is not set; for a new row that is the same as leaving it out.
    given = {name: value for name, value in line.items() if value is not None} if new else line
    return load_body(collection.body_schema, given, partial=not new, fixed=() if new else collection.create_only)


class Faults:
    """What is wrong with which line."""

    def __init__(self) -> None:
        self.count = 0
        self.lines: set[int] = set()
        self._listed: list[tuple[int, Fault]] = []

    def add(self, line: int, problem: Problem) -> None:
        """Note every fault of a problem; the first thousand are kept for the answer."""
        self.lines.add(line)
        for fault in problem.faults or [Fault(problem.code, problem.detail)]:
            self.count += 1
            if len(self._listed) < _MOST_FAULTS:
                self._listed.append((line, fault))

    def listed(self) -> list[dict[str, Any]]:
        """The faults of an answer: `{line, code, detail, pointer}`."""
        return [{"line": line, "code": fault.code, "detail": fault.detail, "pointer": fault.pointer}
                for line, fault in self._listed]

    def problem(self) -> Problem:
        """The refusal of the whole import."""
        found = [replace(fault, meta={**(fault.meta or {}), "line": line}) for line, fault in self._listed]
        return Problem("invalid_body", f"{len(self.lines)} lines cannot be imported; nothing was.", found)
