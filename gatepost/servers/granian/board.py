"""What the first process of granian and its workers tell each other: memory that they share across the fork."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from time import monotonic

_STATE = struct.Struct("=d?7x")  # when the worker was last alive (monotonic, 0: not yet), whether it accepts
_START = 8  # bytes before the first worker's


class Board:
    """Whether the service stops, and when each worker was last alive; made before the fork.

    Each value has one writer, and is read whole: 8 bytes at a multiple of 8, or one.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._shared = mmap(-1, _START + workers * _STATE.size)

    @property
    def stopping(self) -> bool:
        """Whether no more connections are accepted, and each one ends with its next answer."""
        return self._shared[0] != 0

    def stop(self) -> None:
        self._shared[0] = 1

    def began(self) -> bool:
        """Whether every worker has been alive."""
        return all(seen for seen, _ in self._states())

    def alive(self, within: float) -> bool:
        """Whether every worker has been alive in the last `within` seconds."""
        return all(monotonic() - seen < within for seen, _ in self._states())

    def accepts(self) -> bool:
        """Whether a worker accepts connections."""
        return any(accepts for _, accepts in self._states())

    def sign(self, worker: int, accepts: bool) -> None:
        """The worker is alive, now, and accepts connections or not; the first one is 0."""
        _STATE.pack_into(self._shared, _START + worker * _STATE.size, monotonic(), accepts)

    def _states(self) -> Iterator[tuple[float, bool]]:
        for worker in range(self._workers):
            yield _STATE.unpack_from(self._shared, _START + worker * _STATE.size)
