"""The batches of an import whose rows are hidden until it is whole: how long each is, and which lines come last."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from time import sleep
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import finalize

from ..protocol.messages import Message
from ..protocol.problems import Problem

AIM = 0.02  # seconds for which a batch keeps other writers waiting
FEWEST, MOST = 10, 500  # lines of a batch
PAUSE = 0.001  # seconds between two batches: a thread that waits for the lock would not get it before the next one
IN_MEMORY = 2**20  # bytes of lines that are kept in memory; more goes to a temporary file


class Numbered(Protocol):
    @property
    def number(self) -> int: ...


L = TypeVar("L", bound=Numbered)


class Entry(NamedTuple):
    """A line that was checked. `line` itself is kept where it may name a row, which may come or go meanwhile.

    prepared  what the collection's `prepare` made ready for it
    """

    number: int
    line: Mapping[str, Any] | None
    new: bool
    body: Mapping[str, Any]
    read_only: Mapping[str, Any]
    prepared: Any = None


class Lines(Generic[L]):
    """Lines that are kept, in the order in which they were added."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed with its owner
        finalize(self, self._file.close)

    def add(self, lines: Sequence[L]) -> None:
        pickle.dump(lines, self._file)

    def __iter__(self) -> Iterator[list[L]]:
        """The lines, as many at a time as were added together."""
        self._file.seek(0)
        while True:
            try:
                yield pickle.load(self._file)
            except EOFError:
                return


class Last(Generic[L]):
    """Lines that change rows which everybody sees, and later ones that may depend on them: for the last transaction.

    most   so many may be kept
    marks  columns and values by which later lines may mean the same rows, or collide with them
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
        """Bring the lines of a batch into their order. Raises `Problem` when there are too many."""
        if self._count > self._most:
            raise too_many_changes(self._most)
        if self._batch:
            self._lines.add(sorted(self._batch, key=lambda line: line.number))
            self._batch = []

    def __iter__(self) -> Iterator[list[L]]:
        return iter(self._lines)


class Sizes:
    """How many lines the next batch takes, so that each takes about `AIM` seconds."""

    def __init__(self) -> None:
        self._size = FEWEST * 5

    def split(self, lines: Sequence[L]) -> Iterator[Sequence[L]]:
        """Batches of `lines`; after each, the caller says how long it `took`."""
        begin = 0
        while begin < len(lines):
            yield lines[begin:(begin := begin + self._size)]
            sleep(PAUSE)

    def took(self, batch: Collection[L], seconds: float) -> None:
        """The last batch kept other writers waiting for so long."""
        fitting = int(len(batch) * AIM / max(seconds, 1e-6))
        # At most twice as many: the next lines may be of another kind.
        self._size = max(FEWEST, min(MOST, fitting, self._size * 2))


def too_many_changes(most: int) -> Problem:
    """The refusal of a file with more than `most` lines about rows that are there already."""
    return Problem("invalid_body", Message("More than {number} lines change rows that are there already; nothing was "
                                           "imported. Send several files.", number=most))


def too_many_lines(most: int) -> Problem:
    """The refusal of a file of more than `most` lines, for a table whose new rows cannot be hidden."""
    return Problem("invalid_body", Message("These rows can be imported {number} lines at a time; nothing was "
                                           "imported. Send several files.", number=most))
