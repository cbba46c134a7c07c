"""Import of a file into a collection, for HTTP and `gatepost import`.

Every line is read and checked while no other writer waits. Then one transaction stores all lines, and the policy
decides on each. A line whose `id` or key finds a row changes it; any other line without an `id` creates a row. Only
`gatepost import` creates rows with given ids. New rows are stored in batches. If a batch is refused, its rows are
stored one by one, so that every error has its line.

On SQLite other writers would have to wait. So many new rows are stored before that transaction, in a load: in short
transactions, and hidden from all readers. The last transaction changes the existing rows and reveals the new ones
(docs/decisions/0029-loads.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, BinaryIO

from gatepost.http.writing.lines import Entry, Faults, Last, Lines, Sizes, too_many_changes, too_many_lines
from models.engine.errors import AlreadyExists, InvalidReference, InvalidState, InvalidValue, Outdated, StillReferenced
from models.indexes import unique
from models.records import bulk
from models.tables import load

from ..operations.limits import TooManyGuesses
from ..pipeline import errors
from ..protocol.problems import Problem, dangling
from ..request import audit, events
from ..request.call import Call
from ..request.decision import Grouped
from ..schemas import file_formats
from .lines import LineWriter, TargetRows
from .planned import Plan
from .writable import Writable

_AT_ONCE = 500  # lines looked up and stored together
FEW = 500  # new rows that one transaction stores, regardless of the other lines: takes some 50 ms

# Errors of one row. Any other error of the database concerns the whole import.
_REFUSED = (Problem, AlreadyExists, InvalidReference, InvalidState, InvalidValue, Outdated, StillReferenced)
_Counts = tuple[int, int, Faults, list[tuple[str, str]], Grouped]  # imported, updated, refused, events, decided

class Import:
    """Import of one file into a collection, for the caller of `call`.

    key        unique field by which a line may name its row
    skip       skips lines that fail; otherwise one failing line undoes all. A thousand errors always undo all
    keeps_ids  an `id` without a row becomes the id of the new row, for an operator; otherwise it is refused
    plan       of a dry run: collects what each line would do. The caller must undo the transaction of `store`
    full       owners whose row quota is full
    """

    def __init__(self, collection: Writable, call: Call, *, key: str | None = None, skip: bool = False,
                 keeps_ids: bool = False, plan: Plan | None = None) -> None:
        self._collection, self._call, self._skip = collection, call, skip or plan is not None
        self._plan = plan
        self._targets = TargetRows(collection, call, key, keeps_ids)
        self._database = call.services.database
        self._lines = LineWriter(collection, call)
        self._checked: Lines[Entry] = Lines()
        self._new = self._changes_of_rows = 0
        self._most_changes = call.services.settings.import_changes
        self._unreadable = Faults()
        self._load: load.Load | None = None
        self._loading = False
        self._last: Last[Entry] = Last(self._most_changes)
        self._loaded: _Counts = (0, 0, self._unreadable, [], Grouped())
        self._has_subscribers = bool(call.services.registry.subscribers)
        self._begin()

    def _begin(self) -> None:
        self._imported, self._updated, faults, changes, decided = self._loaded
        self._faults, self._changes, self._lines.decided = faults.copy(), list(changes), decided.copy()
        self._waiting: list[tuple[Entry, Any]] = []
        self._own_ids: set[str] = set()
        self._targets.by_address = {}
        if self._plan is not None:
            self._plan.begin()
        self._touched: set[tuple[str, Any]] = set()
        self.full: set[str] = set()

    @property
    def outcome(self) -> dict[str, Any]:
        """Result of the import."""
        return {"imported": self._imported, "updated": self._updated, "failed": self._faults.lines,
                "errors": self._faults.answer(), **({} if self._plan is None else self._plan.answer())}

    def check(self, media_type: str, stream: BinaryIO) -> Iterator[int]:
        """Reads and checks every line, outside any transaction. Yields the number of lines of each step.

        Raises `Problem` for an unreadable file, or one with too many errors.
        """
        lines = file_formats.read(media_type, stream, self._collection.body_schema)
        while batch := list(islice(lines, _AT_ONCE)):
            with self._database.connected():  # holds no connection while the client sends more
                self._targets.by_address = {}
                self._targets.find([line for _, line in batch if not isinstance(line, Problem)])
                entries = [entry for number, line in batch if (entry := self._entry(number, line))]
            if self._collection.prepares:
                entries = [ready for entry in entries if (ready := self._prepared(entry))]
            if self._changes_of_rows > self._most_changes:
                raise too_many_changes(self._most_changes)
            self._checked.add(entries)
            yield len(batch)

    @contextmanager
    def load(self) -> Iterator[bool]:
        """Context manager around the transaction of `store`: opens a load if one is needed, and undoes it on failure.

        Yields True if it has opened a load; then the caller runs `store_new` first. Raises `Busy` while the table has
        another load, and `Problem` if there are too many lines and the table allows no load.
        """
        if self._plan is not None:
            # A load would commit its rows. So all lines are in one transaction, and there must not be too many.
            if self._new > self._most_changes:
                raise too_many_lines(self._most_changes)
            yield False
        elif self._database.dialect != "sqlite" or self._new <= FEW:
            yield False
        elif not self._collection.stores_plainly or not load.can_load(self._database, self._collection.model):
            if self._new > self._most_changes:
                raise too_many_lines(self._most_changes)
            yield False
        else:
            with load.opened(self._database, self._call.tenant_id, self._collection.model) as self._load:
                yield True

    def store_new(self) -> Iterator[int]:
        """Stores the new rows, hidden, in short transactions. Yields the number of lines of each step.

        Leaves to `store` the lines that change other rows, and lines that may depend on them. Raises the same
        exceptions as `store`.
        """
        assert self._load is not None
        self._begin()
        self._loading, sizes = True, Sizes()
        for lines in self._checked:
            for batch in sizes.split(lines):
                self._load.store(partial(self._store, batch))
                self._last.end_batch()
                sizes.took(batch, self._load.held)
                yield len(batch)
        self._loading = False
        self._loaded = self._imported, self._updated, self._faults, self._changes, self._lines.decided

    def store(self) -> Iterator[int]:
        """Creates and changes the rows, inside a transaction. Yields the number of lines of each step.

        May run again after a rollback of its transaction. Raises `Problem` with all errors, unless lines may be skipped
        and there are fewer than a thousand errors. After a load it also raises if the caller may no longer import.
        """
        self._begin()
        if self._load is not None:
            self._lines.ask_again()
        for batch in self._checked if self._load is None else self._last:
            self._store(batch)
            yield len(batch)
        if self._faults.lines and not self._skip:
            raise self._faults.problem()
        if self._load is not None:
            self._load.close()
        for what, id in self._changes:
            events.note(self._call, self._collection.name, what, id)
        self._call.write.facts = audit.facts_of_import(self._call, self._faults.listed, self._lines.decided)
        self._call.write.note = f"{self._imported} imported, {self._updated} updated"

    def _entry(self, number: int, line: dict[str, Any] | Problem) -> Entry | None:
        try:
            if isinstance(line, Problem):
                raise line
            addresses = self._targets.addresses(line)
            if self._targets.dangles(addresses):
                # Refused only when it is stored: a repeated import gets the same answer after its rows were deleted.
                return Entry(number, line, True, {}, {})
            row = self._targets.row(addresses)
            new = row is None
            self._new, self._changes_of_rows = self._new + new, self._changes_of_rows + (not new)
            try:
                return Entry(number, line if addresses else None, new, *self._lines.check(line, row))
            except Problem:
                if not new or not addresses:
                    raise
                # An earlier line may create the row, so that this one may omit required fields.
                return Entry(number, line, False, *self._lines.load(line, new=False))
        except TooManyGuesses:
            raise  # every later line would fail as well
        except Problem as problem:
            self._unreadable.add(number, problem)
            self._unreadable.stop_if_full()
            return None

    def _prepared(self, entry: Entry) -> Entry | None:
        row = self._targets.row(self._targets.addresses(entry.line or {}))
        try:
            return entry._replace(prepared=self._lines.prepare(entry.body, row))
        except Problem as problem:
            self._unreadable.add(entry.number, problem)
            self._unreadable.stop_if_full()
            return None

    def _store(self, batch: Sequence[Entry]) -> None:
        self._targets.by_address = {}
        self._look_up([entry.line for entry in batch if entry.line is not None])
        self._touched.clear()
        for entry in batch:
            try:
                self._store_line(entry)
            except _REFUSED as error:
                self._refuse(entry, error)
                self._faults.stop_if_full()
        self.store_waiting()
        self._faults.stop_if_full()

    def _look_up(self, lines: Sequence[Mapping[str, Any]]) -> None:
        rows = self._targets.find(lines, lock=True)
        if self._loading and rows and self._load is not None:
            self._own_ids |= self._load.own(self._collection.model, [row.id for row in rows])

    def _refuse(self, entry: Entry, error: Exception) -> None:
        if self._loading and self._last:
            # The conflicting row may be deleted before this one is stored.
            self._last.add(entry, self._marks(entry))
        else:
            self._faults.add(entry.number, errors.translate(error, entry.body))

    def _store_line(self, entry: Entry) -> None:
        addresses = self._targets.addresses(entry.line or {})
        row = self._targets.row(addresses)
        marks = self._marks(entry, row)
        if not self._touched.isdisjoint(marks):
            # An earlier line of the batch means the same row, or conflicts with it: look again.
            self.store_waiting()
            for address in addresses:
                self._targets.by_address.pop(address, None)
            self._look_up([entry.line or {}])
            row = self._targets.row(addresses)
        if self._loading and ((row and row.id not in self._own_ids) or not self._last.marks.isdisjoint(marks)):
            self._last.add(entry, marks)
            return
        if self._targets.dangles(addresses):
            raise Problem.of([dangling("/id")], "invalid_body")
        body, read_only = entry.body, entry.read_only
        if entry.line is not None and (row is None) != entry.new:
            body, read_only = self._lines.load(entry.line, new=row is None, row=row)
        self._touched.update(marks)
        if row is None:
            self._make(entry, body, read_only)
        else:
            self._change(entry, row, body, read_only)

    def _marks(self, entry: Entry, row: Any = None) -> set[tuple[str, Any]]:
        """Returns the values by which another line may mean the same row, or conflict with this one."""
        old = {} if row is None else row.__data__
        return {*self._targets.addresses(entry.line or {}), *self._targets.addresses(old),
                *((name, values[name]) for name in unique(self._collection.model) for values in (entry.body, old)
                  if values.get(name) is not None)}

    def _make(self, entry: Entry, body: Mapping[str, Any], read_only: Mapping[str, Any]) -> None:
        try:
            row = self._lines.draft(body, read_only, entry.prepared)
        except Problem:
            if not self._waiting:
                raise
            # The line may refer to a row that waits to be stored.
            self.store_waiting()
            row = self._lines.draft(body, read_only, entry.prepared)
        self._call.services.row_quota.take(self._collection, row, self._call.access.allows, self)
        if self._collection.stores_plainly:
            self._waiting.append((entry, row))
        else:
            self._database.attempt(lambda: self._lines.store(row))
            self._count_created((entry, row))

    def _count_created(self, *stored: tuple[Entry, Any]) -> None:
        self._imported += len(stored)
        if self._has_subscribers:
            self._changes += [(events.CREATED, row.id) for _, row in stored]
        if self._plan is not None:
            for entry, row in stored:
                self._plan.create(entry.number, row.__data__, {**entry.body, **entry.read_only})

    def _change(self, entry: Entry, row: Any, body: Mapping[str, Any], read_only: Mapping[str, Any]) -> None:
        old, values = self._targets.addresses(row.__data__), dict(row.__data__)
        try:
            changed = self._lines.change(row, body, read_only, entry.prepared)
            if changed and self._has_subscribers:
                self._changes.append((events.UPDATED, row.id))
            if self._plan is not None:
                self._plan.change(entry.number, values, row.__data__, changed=changed)
        finally:
            # After a refusal, the row in memory differs from the stored one.
            self._touched.update(old, self._targets.addresses(row.__data__))
        self._updated += 1

    def store_waiting(self) -> None:
        """Stores the new rows that wait."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        rows = [row for _, row in waiting]
        try:
            self._database.attempt(lambda: bulk.insert(self._database, self._call.tenant_id, rows))
            self._count_created(*waiting)
            return
        except _REFUSED:
            pass
        store = self._collection.rows(self._call).insert
        for entry, row in waiting:
            try:
                self._database.attempt(partial(store, row))
                self._count_created((entry, row))
            except _REFUSED as error:
                self._refuse(entry, error)
