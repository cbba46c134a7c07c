"""Rows from a file into a collection: the flow that an HTTP import and `gatepost import` share.

Every line is read and checked before any writer has to wait. Then one transaction stores them, each judged as if it
came alone; a line whose `id` (or whose key) finds a row changes it, a line without an `id` makes one otherwise. Only
`gatepost import` makes rows with the ids that it is given. New rows are stored many at a time; where such a batch is
refused, its rows go one by one, so that every fault has its line.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, NamedTuple
from weakref import finalize

from models.base import is_id
from models.engine.errors import AlreadyExists, InvalidReference, InvalidState, InvalidValue, Outdated, StillReferenced
from models.records import bulk

from ..operations.limits import TooManyGuesses
from ..pipeline import errors
from ..protocol.problems import Problem, dangling
from ..request import audit
from ..request.call import Call
from ..schemas import file_formats
from .faults import Faults
from .lines import LineWriter
from .writable import Writable

_AT_ONCE = 500  # lines looked up and stored together
_IN_MEMORY = 2**20  # bytes of checked lines that are kept in memory; more goes to a temporary file

# What may be wrong with one row. Whatever else a database says concerns the whole import.
_REFUSED = (Problem, AlreadyExists, InvalidReference, InvalidState, InvalidValue, Outdated, StillReferenced)

Address = tuple[str, str]
"""A column and its value, by which a line names a row."""


class _Entry(NamedTuple):
    """A line that was checked. `line` itself is kept where it may name a row, which may come or go meanwhile."""

    number: int
    line: Mapping[str, Any] | None
    new: bool
    body: Mapping[str, Any]
    read_only: Mapping[str, Any]


class Import:
    """One file on its way into a collection, for the caller of `call`.

    key        a unique field by which a line may name the row that it means
    skip       leave out the lines that fail; else one failing line undoes all, as do a thousand faults in any case
    keeps_ids  an `id` that finds no row becomes the id of the new one, for an operator; else it is refused
    full       owners who may own no more rows of the collection
    """

    def __init__(self, collection: Writable, call: Call, *, key: str | None = None, skip: bool = False,
                 keeps_ids: bool = False) -> None:
        self._collection, self._call, self._key, self._skip = collection, call, key, skip
        self._keeps_ids = keeps_ids
        self._database = call.services.database
        self._lines = LineWriter(collection, call)
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with the import
        finalize(self, self._file.close)
        self._unreadable = Faults()
        self._begin()

    def _begin(self) -> None:
        self._imported = self._updated = 0
        self._faults = self._unreadable.copy()
        self._waiting: list[tuple[int, Any]] = []
        self._found: dict[Address, Any] = {}
        self._touched: set[Address] = set()
        self.full: set[str] = set()

    @property
    def outcome(self) -> dict[str, Any]:
        """What became of the lines."""
        return {"imported": self._imported, "updated": self._updated, "failed": self._faults.lines,
                "errors": self._faults.answer()}

    def check(self, media_type: str, stream: BinaryIO) -> Iterator[int]:
        """Read and check every line, outside any transaction; yields how many lines at a time.

        Raises `Problem` for a file that cannot be understood, or with too many faults to go on.
        """
        lines = file_formats.read(media_type, stream, self._collection.body_schema)
        while batch := list(islice(lines, _AT_ONCE)):
            with self._database.connected():  # not while more is being sent
                self._found = self._look_up([line for _, line in batch if not isinstance(line, Problem)])
                entries = [entry for number, line in batch if (entry := self._entry(number, line))]
            pickle.dump(entries, self._file)
            yield len(batch)

    def store(self) -> Iterator[int]:
        """Make and change the rows, inside a transaction; yields how many lines at a time.

        May be run again after its transaction was undone. Raises `Problem` with every fault, unless lines may be
        skipped and are fewer than a thousand.
        """
        self._begin()
        for batch in self._checked():
            self._found = self._look_up([entry.line for entry in batch if entry.line is not None], lock=True)
            self._touched.clear()
            for entry in batch:
                try:
                    self._take(entry)
                except _REFUSED as error:
                    self._faults.add(entry.number, errors.translate(error))
                    self._faults.stop_if_full()
            self.store_waiting()
            self._faults.stop_if_full()
            yield len(batch)
        if self._faults.lines and not self._skip:
            raise self._faults.problem()
        self._call.write.facts = audit.facts_of_faults(self._faults.listed)
        self._call.write.note = f"{self._imported} imported, {self._updated} updated"

    def _entry(self, number: int, line: dict[str, Any] | Problem) -> _Entry | None:
        try:
            if isinstance(line, Problem):
                raise line
            addresses = self._addresses(line)
            if self._dangles(addresses):
                # Refused only when it is stored: a repeated import is answered alike though its rows are gone.
                return _Entry(number, line, True, {}, {})
            row = self._row(addresses)
            new = row is None
            try:
                return _Entry(number, line if addresses else None, new, *self._lines.check(line, row))
            except Problem:
                if not new or not addresses:
                    raise
                # An earlier line may be about to make the row, of which this one need not say everything.
                return _Entry(number, line, False, *self._lines.load(line, new=False))
        except TooManyGuesses:
            raise  # no later line would be heard either
        except Problem as problem:
            self._unreadable.add(number, problem)
            self._unreadable.stop_if_full()
            return None

    def _checked(self) -> Iterator[list[_Entry]]:
        self._file.seek(0)
        while True:
            try:
                yield pickle.load(self._file)
            except EOFError:
                return

    def _take(self, entry: _Entry) -> None:
        addresses = self._addresses(entry.line or {})
        if not self._touched.isdisjoint(addresses):
            # An earlier line of the batch was about the same row: look again.
            self.store_waiting()
            for address in addresses:
                self._found.pop(address, None)
            self._found |= self._look_up([entry.line or {}], lock=True)
        if self._dangles(addresses):
            raise Problem.of([dangling("/id")], "invalid_body")
        row = self._row(addresses)
        body, read_only = entry.body, entry.read_only
        if entry.line is not None and (row is None) != entry.new:
            body, read_only = self._lines.load(entry.line, new=row is None, row=row)
        if row is None:
            self._touched.update(addresses)
            self._make(entry.number, body, read_only)
        else:
            self._change(row, body, read_only)

    def _make(self, number: int, body: Mapping[str, Any], read_only: Mapping[str, Any]) -> None:
        try:
            row = self._lines.draft(body, read_only)
        except Problem:
            if not self._waiting:
                raise
            # What the line refers to may be among the rows that wait.
            self.store_waiting()
            row = self._lines.draft(body, read_only)
        self._call.services.ownership.take(self._collection, row, self._call.access.allows, self)
        if self._collection.stores_plainly:
            self._waiting.append((number, row))
        else:
            self._database.attempt(lambda: self._lines.store(row))
            self._imported += 1

    def _change(self, row: Any, body: Mapping[str, Any], read_only: Mapping[str, Any]) -> None:
        before = self._addresses(row.__data__)
        try:
            if self._lines.change(row, body, read_only):
                self._touched.update(before, self._addresses(row.__data__))
        except _REFUSED:
            # The row in memory is no longer the one that is stored.
            self._touched.update(before, self._addresses(row.__data__))
            raise
        self._updated += 1

    def store_waiting(self) -> None:
        """Store the new rows that wait."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        rows = [row for _, row in waiting]
        try:
            self._database.attempt(lambda: bulk.insert(self._database, self._call.tenant_id, rows))
            self._imported += len(waiting)
            return
        except _REFUSED:
            pass
        store = self._collection.rows(self._call).insert
        for number, row in waiting:
            try:
                self._database.attempt(partial(store, row))
                self._imported += 1
            except _REFUSED as error:
                self._faults.add(number, errors.translate(error))

    # Which row a line means

    def _addresses(self, line: Mapping[str, Any]) -> list[Address]:
        """The values by which a line may name a row that is there: its id before its key."""
        found = []
        if isinstance(id := line.get("id"), str) and is_id(id):
            found.append(("id", id))
        if self._key is not None and isinstance(value := line.get(self._key), str):
            found.append((self._key, value))
        return found

    def _dangles(self, addresses: Iterable[Address]) -> bool:
        """Whether a line has an id that finds no row, absent and hidden alike, and may not make one of that id."""
        return not self._keeps_ids and any(
            name == "id" and (name, value) not in self._found for name, value in addresses)

    def _row(self, addresses: Iterable[Address]) -> Any:
        """The row that is meant, of those that were found."""
        return next((self._found[address] for address in addresses if address in self._found), None)

    def _look_up(self, lines: Iterable[Mapping[str, Any]], *, lock: bool = False) -> dict[Address, Any]:
        """The rows that these lines may mean, of those that the caller may view, by their addresses."""
        addresses = [address for line in lines for address in self._addresses(line)]
        if not addresses:
            return {}
        rows, model = self._collection.rows(self._call), self._collection.model
        ids = {value for name, value in addresses if name == "id"}
        if values := {value for name, value in addresses if name != "id"}:
            column = model._meta.fields[self._key]
            ids.update(id for id, in rows.select(model.id).where(column.in_(sorted(values))).tuples())
        return {address: row for row in rows.find_all(ids, lock=lock)
                if self._call.access.allows(self._collection.view, row.__data__)
                for address in self._addresses(row.__data__)}
