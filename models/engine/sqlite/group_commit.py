"""Writers that come at the same time share one transaction: group commit, for SQLite.

Only one transaction can write at a time, and a commit takes longer than the statements of most writers. So a writer
that finds no leader becomes the leader: it waits for as many other writers as came lately, then does its own work and
theirs, up to `MOST` members, in one transaction. `run` returns to none of them before that is committed.
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

REST = 0.001  # seconds without a new member, after which a leader waits no longer for the number that came lately
MOST = 32  # members of one transaction: the first of them waits until the last is done


class Writer(Protocol):
    """What is needed of a database."""

    def writing(self, wait: Wait) -> AbstractContextManager[Any]: ...

    def atomic(self) -> AbstractContextManager[Any]: ...

    def written(self) -> int:
        """A number that changes when this connection writes a row; -1 when its transaction is gone."""


class _Member(Generic[T]):
    """One piece of work, and what became of it."""

    __slots__ = ("_context", "_work", "done", "error", "result", "turn", "wait")

    def __init__(self, work: Callable[[], T], wait: Wait) -> None:
        self._work, self.wait = work, wait
        # Another thread may do the work: for it, the current request and database are those of this thread.
        self._context = copy_context()
        self.turn = Lock()
        self.turn.acquire()
        self.done = False
        self.result: T
        self.error: Exception | None = Unavailable("the transaction was given up")

    def run(self) -> None:
        self.result = self._context.run(self._work)


class GroupCommit:
    """The write transactions of one process. Of its members one at a time leads, and does the work of all.

    `waiting` are the members whose work was not begun. As many as have come lately are expected in a group, and
    `_gathered` is set when the last of them comes.
    """

    def __init__(self, database: Writer) -> None:
        self._database = database
        self._mutex = Lock()
        self.waiting: deque[_Member[Any]] = deque()
        self._led = False
        self._expected = 1
        self._gathered = Event()

    def run(self, work: Callable[[], T], wait: Wait) -> T:
        """Run `work()` in a transaction together with others, and return its result once that is committed.

        `work` must be repeatable: when a transaction cannot be kept because of one of its members, each has one of
        its own. Raises what `work` raises (everything undone), and what `wait` raises before it has a turn.
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
                # It knows this frame: known by it in turn, it would keep the request in memory.
                del error
        return me.result

    def _appointed(self, me: _Member[Any]) -> bool:
        """Wait until a leader has done the work (False), or until this thread is to lead (True)."""
        try:
            me.wait.acquire(me.turn)
        except Unavailable:
            with self._mutex:
                has_turn = me.turn.acquire(blocking=False)  # just now
                if not has_turn and me in self.waiting:
                    self.waiting.remove(me)
                    raise
            if not has_turn:
                # Its work has begun, and ends.
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
                    # No lock, or no transaction to begin with. The other members have not waited that long.
                    self.waiting.remove(me)
                follower = self.waiting[0] if self.waiting else None
                self._led = follower is not None
                if follower is not None:
                    # Under the mutex: a member that gives up must not have been chosen.
                    follower.turn.release()
            for one in group:
                one.done = True
                one.turn.release()

    def _next(self) -> _Member[Any] | None:
        with self._mutex:
            if not self.waiting:
                return None
            one = self.waiting.popleft()
        one.wait.end()
        return one

    def _gather(self) -> None:
        """Wait for as many members as came lately, up to `REST` for the next; the database is not locked yet."""
        if len(self.waiting) >= self._expected:
            return
        before = 0
        self._gathered.clear()  # before looking again: a member that comes from now on sets it
        while before < len(self.waiting) < self._expected:
            before = len(self.waiting)
            self._gathered.wait(REST)

    def _write(self, group: list[_Member[Any]]) -> None:
        """Do the work of the waiting members, and put them into `group`."""
        done: list[_Member[Any]] = []
        try:
            with self._database.atomic():
                while len(group) < MOST and (one := self._next()) is not None:
                    group.append(one)
                    if self._attempt(one):
                        done.append(one)
                    if self._database.written() < 0:
                        break  # without a transaction, what the next member writes would be kept at once
                # A writer that did not come this time may be gone: one fewer is waited for each time.
                self._expected = max(len(group), self._expected - 1)
        except Exception as error:
            if not group:
                raise
            if len(group) == 1:
                group[0].error = error
                return
        else:
            for one in done:
                one.error = None
            return
        # Not above: the error of one is not the context of another's.
        for one in group:
            self._alone(one)

    def _attempt(self, one: _Member[Any]) -> bool:
        """Whether the work is done. Raises what it raises, if it has written before: that cannot stay."""
        before = self._database.written()
        try:
            one.run()
        except Exception as error:
            if self._database.written() != before:
                raise
            one.error = error
            return False
        return True

    def _alone(self, one: _Member[Any]) -> None:
        try:
            with self._database.atomic():
                one.run()
            one.error = None
        except Exception as error:
            one.error = error
