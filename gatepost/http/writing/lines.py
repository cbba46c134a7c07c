"""Lines of an import, their errors, and the batches of a load.

Each line is loaded, decided and stored like a request of its own. A caller with `<resource>.manage` may also set
read-only columns; for other callers these must equal the stored values.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from time import sleep
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import finalize

from marshmallow import ValidationError

from gatepost.http.protocol.messages import Message, plural
from gatepost.http.protocol.problems import Fault, Problem, read_only
from gatepost.http.request import identity, setting
from gatepost.http.request.access import Access
from gatepost.http.request.call import NOTHING_SET, Call, Write
from gatepost.http.request.decision import Grouped
from gatepost.http.schemas.fields import with_read_ids
from gatepost.http.schemas.validation import load_body
from gatepost.http.writing.writable import Writable
from models.base import Owned, read_id

Values = Mapping[str, Any]
Address = tuple[str, str]
"""Column and value by which a line names a row."""
# Never imported: the id of a row does not change, and its version counts the changes in this database.
_LASTING = frozenset(("id", "tenant_id", "version"))


class LineWriter:
    """Writer of rows of one collection for one caller. Every method may raise `Problem`.

    decided  facts of the decisions about the rows
    """

    def __init__(self, collection: Writable, call: Call) -> None:
        self._collection = collection
        self._call = copy(call)
        self._call.write = Write()
        self._making = replace(call.endpoint, permission=collection.permission("create"))
        self._changing = replace(call.endpoint, permission=collection.permission("update"))
        self._columns = frozenset(collection.representation.columns)
        self._filled_in = self._columns & {"owner_id", "department"}
        self._owns_itself = issubclass(collection.model, Owned) and collection.model.owns_itself
        self.decided = Grouped()
        own = collection.permission("import")
        self._permissions = {True: (own, self._making.permission or ""),
                             False: (collection.view, own, self._changing.permission or "")}

    def load(self, line: Values, *, new: bool, row: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the body and the read-only fields of a line, for a new or an existing row (`row`, if loaded)."""
        # An exported row has null for a field without a value; a new row may omit it just as well.
        schema = self._collection.body_schema
        if not new:
            if row is not None and (empty := [name for name, value in line.items() if value is None]):
                # CSV has an empty cell for a field that the caller may not see: the field keeps its value.
                hidden = self._collection.hidden(self._call, row.__data__, empty)
                line = {name: value for name, value in line.items() if name not in hidden}
            return load_body(schema, line, partial=True, fixed=self._collection.create_only)
        body, read_only_fields = load_body(schema, {name: value for name, value in line.items() if value is not None})
        # Except a field with a default: a row without an owner is restored without one.
        return body, read_only_fields | {name: None for name in self._filled_in if name in line and line[name] is None}

    def check(self, line: Values, row: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Runs `load` for a new row or for `row`, and checks a sensitive change, outside any transaction."""
        body, read_only_fields = self.load(line, new=row is None, row=row)
        if row is not None:
            self._collection.confirm(self._call, row.id, body)
        return body, read_only_fields

    def ask_again(self) -> None:
        """Raises `Problem` if the caller may no longer import. Runs after a load, which takes long."""
        call = self._call
        principal = identity.as_of_now(call.services, call.principal, call.credential_id)
        access = Access(call.services.policy.current, principal, call.access.environment)
        if not access.may_ever(permission := self._collection.permission("import")):
            raise access.refusal(permission)

    def prepare(self, body: Values, row: Any) -> Any:
        """Runs the collection's `prepare` for a line, outside any transaction and without a connection."""
        call = self._call
        call.endpoint, call.row, call.body = self._making if row is None else self._changing, row, body
        call.prepared = None
        self._collection.prepare(call)
        return call.prepared

    def draft(self, body: Values, read_only_fields: Values, prepared: Any = None) -> Any:
        """Returns a new row that the policy allows, not stored yet. `given` are its read-only fields."""
        call, collection = self._call, self._collection
        call.endpoint, call.row, call.body, call.read_only = self._making, None, body, {}
        call.prepared, call.write.setting = prepared, NOTHING_SET
        call.row = row = collection.draft(call)
        if read_only_fields and call.access.is_certain(collection.manage, row.__data__, call.write.unknown):
            for name, value in self._checked(read_only_fields).items():
                if name not in collection.proved:
                    setattr(row, name, value)
            call.write.unknown -= read_only_fields.keys()
            if self._owns_itself:
                row.owner_id = row.id
        elif faults := [read_only(name) for name, value in read_only_fields.items() if value is not None]:
            raise Problem.of(faults, "invalid_body")
        self._decide()
        self.decided.add(call, (*self._permissions[True], *call.write.setting.recorded(call.access.policy)), None)
        return row

    def store(self, row: Any) -> None:
        """Stores the last drafted row."""
        self._collection.create(self._call, row)

    def change(self, row: Any, body: Values, read_only_fields: Values, prepared: Any = None) -> bool:
        """Changes an existing row; the policy decides before and after. Returns True if there is a change."""
        call, collection = self._call, self._collection
        call.endpoint, call.row, call.body, call.read_only = self._changing, row, body, read_only_fields
        call.prepared, old, call.write.unknown = prepared, dict(row.__data__), frozenset()
        call.write.setting = NOTHING_SET
        self._decide()
        settable: Values = {}
        if call.access.allows(collection.manage, row.__data__):
            unseen = collection.hidden(call, row.__data__, read_only_fields)
            settable = {name: value for name, value in read_only_fields.items()
                        if name in self._columns - _LASTING and name not in collection.create_only
                        and name not in collection.proved and (value != row.__data__.get(name) or name in unseen)}
            call.read_only = {name: value for name, value in read_only_fields.items()
                              if name not in settable and name != "version"}
        changes = {**collection.permitted(call, body), **self._checked(settable)}
        # For a hidden field nothing may reveal that it already has the value, not even the version.
        hidden = collection.hidden(call, row.__data__, changes)
        changes = {name: value for name, value in changes.items()
                   if value != row.__data__.get(name) or name in hidden}
        if changes:
            call.services.database.attempt(lambda: self._apply(row, changes))
        self.decided.add(
            call, (*self._permissions[False], *call.write.setting.recorded(call.access.policy)), old)
        return bool(changes)

    def _apply(self, row: Any, changes: Values) -> None:
        self._collection.update(self._call, row, changes)
        self._call.seen.discard((self._collection.name, row.id))
        self._decide()

    def _decide(self) -> None:
        for permission in (self._collection.permission("import"), self._call.endpoint.permission or ""):
            self._call.access.require(permission, self._call.facts, self._call.write.unknown)
        self._collection.restrict(self._call)
        if self._call.write.setting.fields:
            setting.require(self._call, self._call.facts)

    def _checked(self, read_only_fields: Values) -> dict[str, Any]:
        """Returns read-only values after checks: the type of the field, an existing state, no other tenant."""
        checked, faults = {}, []
        for name, value in read_only_fields.items():
            try:
                checked[name] = self._checked_value(name, value)
            except ValidationError as error:
                faults += [Fault("invalid_field", message, pointer=f"/{name}") for message in error.messages]
        if faults:
            raise Problem.of(faults, "invalid_body")
        return {name: value for name, value in checked.items() if name in self._columns}

    def _checked_value(self, name: str, value: Any) -> Any:
        column = self._collection.model._meta.fields.get(name)
        if value is None and column is not None and column.null:
            return None
        loaded = self._collection.body_schema.fields[name].deserialize(value)
        states = self._collection.states.get(name)
        if states and loaded not in states and loaded not in self._collection.values_of(name):
            raise ValidationError(Message("There is no such {field}.", field=name))
        if name == "tenant_id" and loaded != self._call.tenant_id:
            raise ValidationError("A row cannot move to another tenant.")
        return loaded


class TargetRows:
    """Finds the row that a line means, by its `id` or by the unique field `key`. Only rows that the caller may view.

    keeps_ids  True if an `id` without a row becomes the id of a new row
    found      rows by their addresses
    """

    def __init__(self, collection: Writable, call: Call, key: str | None, keeps_ids: bool) -> None:
        self._collection, self._call, self._key, self._keeps_ids = collection, call, key, keeps_ids
        self.by_address: dict[Address, Any] = {}

    def addresses(self, line: Values) -> list[Address]:
        """Returns the values by which a line may name an existing row: its id before its key."""
        result = []
        if isinstance(text := line.get("id"), str) and (id := read_id(text)) is not None:
            result.append(("id", id))
        if self._key is not None and isinstance(value := line.get(self._key), str):
            result.append((self._key, with_read_ids(self._collection.body_schema.fields.get(self._key), value)))
        return result

    def dangles(self, addresses: Iterable[Address]) -> bool:
        """True if a line has an id without a visible row, and the import may not create a row with that id."""
        return not self._keeps_ids and any(
            name == "id" and (name, value) not in self.by_address for name, value in addresses)

    def row(self, addresses: Iterable[Address]) -> Any:
        """Returns the row with one of these addresses, or None."""
        return next((self.by_address[address] for address in addresses if address in self.by_address), None)

    def find(self, lines: Iterable[Values], *, lock: bool = False) -> list[Any]:
        """Adds the rows that these lines may mean to `found`. Returns these and the rows hidden from the caller."""
        addresses = [address for line in lines for address in self.addresses(line)]
        if not addresses:
            return []
        rows, model = self._collection.rows(self._call), self._collection.model
        ids = {value for name, value in addresses if name == "id"}
        if values := {value for name, value in addresses if name != "id"}:
            column = model._meta.fields[self._key]
            ids.update(id for id, in rows.select(model.id).where(column.in_(sorted(values))).tuples())
        matches = rows.find_all(ids, lock=lock)
        self.by_address |= {address: row for row in matches
                            if self._collection.counts(row.__data__)
                            and self._call.access.allows(self._collection.view, row.__data__)
                            for address in self.addresses(row.__data__)}
        return matches


MOST_FAULTS = 1000  # in one answer


class Faults:
    """Errors of an import, by line. Keeps the first thousand for the answer; then the import ends."""

    def __init__(self, lines: int = 0, listed: Iterable[tuple[int, Fault]] = ()) -> None:
        self.lines = lines
        self._faults = list(listed)

    def copy(self) -> Faults:
        return Faults(self.lines, self._faults)

    @property
    def full(self) -> bool:
        """True if the list of errors is full."""
        return len(self._faults) >= MOST_FAULTS

    @property
    def listed(self) -> Iterator[Fault]:
        """Yields the stored errors."""
        return (fault for _, fault in self._faults)

    def add(self, line: int, problem: Problem) -> None:
        """Notes all errors of one line. A line is added once."""
        self.lines += 1
        if not self.full:
            self._faults += [(line, fault) for fault in problem.faults or [Fault(problem.code, problem.detail)]]

    def stop_if_full(self) -> None:
        """Raises `Problem` if the list of errors is full, even if lines may be skipped.

        Checking every line of a bad file costs far more than sending it.
        """
        if self.full:
            raise self.problem()

    def answer(self) -> list[dict[str, Any]]:
        """Returns `{line, code, detail, pointer}` of each error, in the order of the lines."""
        return [{"line": line, "code": fault.code, "detail": fault.detail, "pointer": fault.pointer}
                for line, fault in self._sorted()]

    def problem(self) -> Problem:
        """Returns the refusal of the whole file."""
        faults = [replace(fault, meta={**(fault.meta or {}), "line": line}) for line, fault in self._sorted()]
        detail = (Message("The first {number} lines that cannot be imported ended the import; nothing was imported.",
                          number=self.lines) if self.full else
                  plural("{number} line cannot be imported; nothing was.",
                         "{number} lines cannot be imported; nothing was.", self.lines))
        return Problem("invalid_body", detail, faults)

    def _sorted(self) -> list[tuple[int, Fault]]:
        return sorted(self._faults, key=lambda pair: pair[0])[:MOST_FAULTS]


AIM = 0.02  # seconds for which a batch keeps other writers waiting
FEWEST, MOST = 10, 500  # lines of a batch
PAUSE = 0.001  # seconds between two batches, so that a thread that waits for the lock gets it
IN_MEMORY = 2**20  # bytes of lines in memory; the rest goes to a temporary file


class Numbered(Protocol):
    @property
    def number(self) -> int: ...


L = TypeVar("L", bound=Numbered)


class Entry(NamedTuple):
    """Checked line. Keeps `line` itself if it may name a row that is created or deleted before the line is stored.

    prepared  result of the collection's `prepare`
    """

    number: int
    line: Mapping[str, Any] | None
    new: bool
    body: Mapping[str, Any]
    read_only: Mapping[str, Any]
    prepared: Any = None


class Lines(Generic[L]):
    """Store of lines, in the order in which they were added."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed with its owner
        finalize(self, self._file.close)

    def add(self, lines: Sequence[L]) -> None:
        pickle.dump(lines, self._file)

    def __iter__(self) -> Iterator[list[L]]:
        """Yields the lines in the batches in which they were added."""
        self._file.seek(0)
        while True:
            try:
                yield pickle.load(self._file)
            except EOFError:
                return


class Last(Generic[L]):
    """Lines for the last transaction: lines that change existing rows, and later lines that may depend on them.

    most   largest number of lines
    marks  columns and values by which later lines may mean the same rows, or conflict with them
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._lines: Lines[L] = Lines()
        self._batch: list[L] = []
        self.marks: set[Any] = set()

    def __bool__(self) -> bool:
        return self._count > 0

    def add(self, line: L, marks: Iterable[Any]) -> None:
        self._batch.append(line)
        self._count += 1
        self.marks.update(marks)

    def end_batch(self) -> None:
        """Sorts the lines of a batch. Raises `Problem` if there are too many."""
        if self._count > self._most:
            raise too_many_changes(self._most)
        if self._batch:
            self._lines.add(sorted(self._batch, key=lambda line: line.number))
            self._batch = []

    def __iter__(self) -> Iterator[list[L]]:
        return iter(self._lines)


class Sizes:
    """Sizes of batches: chosen so that each batch takes about `AIM` seconds."""

    def __init__(self) -> None:
        self._size = FEWEST * 5

    def split(self, lines: Sequence[L]) -> Iterator[Sequence[L]]:
        """Yields batches of `lines`. After each, the caller reports its time to `took`."""
        begin = 0
        while begin < len(lines):
            yield lines[begin:(begin := begin + self._size)]
            sleep(PAUSE)

    def took(self, batch: Collection[L], seconds: float) -> None:
        """Adapts the size to the time for which the last batch kept other writers waiting."""
        fitting = int(len(batch) * AIM / max(seconds, 1e-6))
        # At most twice the last size, because the next lines may be of another kind.
        self._size = max(FEWEST, min(MOST, fitting, self._size * 2))


def too_many_changes(most: int) -> Problem:
    """Returns the refusal of a file with more than `most` lines about existing rows."""
    return Problem("invalid_body", Message("More than {number} lines change rows that are there already; nothing was "
                                           "imported. Send several files.", number=most))


def too_many_lines(most: int) -> Problem:
    """Returns the refusal of a file of more than `most` lines, for a table whose new rows cannot be hidden."""
    return Problem("invalid_body", Message("These rows can be imported {number} lines at a time; nothing was "
                                           "imported. Send several files.", number=most))
