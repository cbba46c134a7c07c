"""What the process of a trial does: it reads a pickled `Question` from standard input, and writes a line of JSON to
standard output for each part. It ends with the process that asks: then its standard input ends.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from contextlib import suppress
from threading import Thread
from typing import Any

from .trial import answer


def main() -> None:
    """Answer the one question. Requests go first: this is more work than any of them."""
    with suppress(OSError):  # a sandbox may refuse it
        os.nice(10)
    question = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_the_asker, daemon=True).start()
    answer(question, _tell)


def _tell(part: str, found: Any) -> None:
    print(json.dumps([part, found]), flush=True)


def _end_with_the_asker() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)
