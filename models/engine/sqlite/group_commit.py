"""Group commit for SQLite: writers that come at the same time share one transaction.

Only one transaction can write at a time, and a commit takes longer than the statements of most writers. So a writer
that finds no leader becomes the leader. It waits for as many other writers as came lately. Then it does its own work
and theirs, up to `MOST` members, in one transaction. `run` returns to each of them only after the commit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from threading import Event, Lock
from typing import Any, Generic, Protocol, TypeVar

from models.engine.errors import Unavailable
from models.engine.waiting import Wait

T = TypeVar("T")

REST = 0.001  # seconds without a new member, after which a leader stops waiting for the expected number
MOST = 32  # members of one transaction: the first of them waits for the last


class Writer(Protocol):
    """Methods of a database that group commit needs."""

    def writing(self, wait: Wait) -> AbstractContextManager[Any]: ...

    def atomic(self) -> AbstractContextManager[Any]: ...

    def written(self) -> int:
        """Returns a number that changes when this connection writes a row; -1 if its transaction has ended."""


class _Member(Generic[T]):
    """One piece of work and its outcome."""

    __slots__ = ("_context", "_work", "done", "error", "result", "turn", "wait")

    def __init__(self, work: Callable[[], T], wait: Wait) -> None:
        self._work, self.wait = work, wait
        # Another thread may do the work, with this thread's current request and database.
        self._context = copy_context()
        self.turn = Lock()
        self.turn.acquire()
        self.done = False
        self.result: T
        self.error: Exception | None = Unavailable("the transaction was given up")

    def run(self) -> None:
        self.result = self._context.run(self._work)


class GroupCommit:
    """Write transactions of one process. One member at a time leads, and does the work of all.

    `waiting` are the members whose work has not begun. The expected size of a group is the number that came lately. The
    last expected member sets `_gathered`.
    """

    def __init__(self, database: Writer) -> None:
        self._database = database
        self._mutex = Lock()
        self.waiting: deque[_Member[Any]] = deque()
        self._led = False
        self._expected = 1
        self._gathered = Event()

    def run(self, work: Callable[[], T], wait: Wait) -> T:
        """Runs `work()` in a transaction together with others, and returns its result after the commit.

        `work` must be repeatable: if one member spoils the shared transaction, each member gets its own. Raises what
        `work` raises after undoing all that it did, and what `wait` raises before it has a turn.
        """
        me = _Member(work, wait)
        with self._mutex:
            self.waiting.append(me)
            leads, self._led = not self._led, True
            if not leads and len(self.waiting) == self._expected:
                self._gathered.set()
        if leads or self._appointed(me):
            self._lead(me)
        error, me.error = me.error, None
        if error is not None:
            try:
                raise error
            finally:
                # The error refers to this frame. A reference back would keep the request in memory.
                del error
        return me.result

    def _appointed(self, me: _Member[Any]) -> bool:
        """Waits until a leader has done the work (False), or until this thread must lead (True)."""
        try:
            me.wait.acquire(me.turn)
        except Unavailable:
            with self._mutex:
                has_turn = me.turn.acquire(blocking=False)  # the turn may have come just now
                if not has_turn and me in self.waiting:
                    self.waiting.remove(me)
                    raise
            if not has_turn:
                # A leader has begun this member's work, and will finish it.
                me.turn.acquire()
        return not me.done

    def _lead(self, me: _Member[Any]) -> None:
        group: list[_Member[Any]] = []
        try:
            self._gather()
            with self._database.writing(me.wait):
                self._write(group)
        except Exception as error:
            me.error = error
        finally:
            with self._mutex:
                if me in self.waiting:
                    # There was no lock, or no transaction. The other members have not waited as long.
                    self.waiting.remove(me)
                follower = self.waiting[0] if self.waiting else None
                self._led = follower is not None
                if follower is not None:
                    # Under the mutex: otherwise it may choose a member that is giving up.
                    follower.turn.release()
            for member in group:
                member.done = True
                member.turn.release()

    def _next(self) -> _Member[Any] | None:
        with self._mutex:
            if not self.waiting:
                return None
            member = self.waiting.popleft()
        member.wait.end()
        return member

    def _gather(self) -> None:
        """Waits for as many members as came lately, up to `REST` for the next one. The database is not locked yet."""
        if len(self.waiting) >= self._expected:
            return
        last_number = 0
        self._gathered.clear()  # before the next check: a member that comes from now on sets it
        while last_number < len(self.waiting) < self._expected:
            last_number = len(self.waiting)
            self._gathered.wait(REST)

    def _write(self, group: list[_Member[Any]]) -> None:
        """Does the work of the waiting members, and adds them to `group`."""
        successful: list[_Member[Any]] = []
        try:
            with self._database.atomic():
                while len(group) < MOST and (member := self._next()) is not None:
                    group.append(member)
                    if self._attempt(member):
                        successful.append(member)
                    if self._database.written() < 0:
                        break  # without a transaction, each statement of the next member would be committed at once
                # A writer that did not come this time may not come again: expects one fewer each time.
                self._expected = max(len(group), self._expected - 1)
        except Exception as error:
            if not group:
                raise
            if len(group) == 1:
                group[0].error = error
                return
        else:
            for member in successful:
                member.error = None
            return
        # Outside of the `except` block: the error of one member must not become the context of another's.
        for member in group:
            self._run_alone(member)

    def _attempt(self, member: _Member[Any]) -> bool:
        """Runs the work. Returns False, with the error noted, if it failed before it wrote.

        Raises its error if it has written: those changes must be undone.
        """
        start = self._database.written()
        try:
            member.run()
        except Exception as error:
            if self._database.written() != start:
                raise
            member.error = error
            return False
        return True

    def _run_alone(self, member: _Member[Any]) -> None:
        try:
            with self._database.atomic():
                member.run()
            member.error = None
        except Exception as error:
            member.error = error
