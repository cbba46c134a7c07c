"""Bytes of a file that are changed while it is open."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

HEADER, FRAME, PAGE = 32, 24, 4096  # bytes: of a log's head, a frame's, a page (https://sqlite.org/walformat.html)


@contextmanager
def flipped(file: int, spots: Iterable[int], chance: random.Random) -> Iterator[None]:
    """Changes the bytes of an open file at these offsets during the block, and restores them at the end."""
    before = [(spot, os.pread(file, 1, spot)) for spot in spots]
    for spot, byte in before:
        os.pwrite(file, bytes([byte[0] ^ chance.randrange(1, 256)]), spot)
    try:
        yield
    finally:
        for spot, byte in reversed(before):
            os.pwrite(file, byte, spot)


def spot_of_log(size: int, chance: random.Random) -> int:
    """Returns the offset of a byte of some page in a log of that size. Damage to a header would end the log instead."""
    frame = chance.randrange((size - HEADER) // (FRAME + PAGE))
    return HEADER + frame * (FRAME + PAGE) + FRAME + chance.randrange(PAGE)
