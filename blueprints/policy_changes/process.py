"""The process of a trial: it reads a pickled `Question` from standard input and writes a line of JSON for each part.

It ends when the parent process ends, because its standard input then ends.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
from contextlib import suppress
from math import ceil
from threading import Thread
from typing import Any

from .trial import JUDGING, STATEMENT, answer

MOST_WORK = ceil(15.0 + 3 * JUDGING + STATEMENT)  # seconds of a processor, those of its start among them


def main() -> None:
    """Answers the one question, at low priority, because requests come first.

    At 5, it gets a quarter of a processor that one other process wants. At 10 it gets a tenth: with two processors and
    eight busy processes, a trial took longer than the minute that proxies wait.
    """
    with suppress(OSError):  # a sandbox may refuse it
        os.nice(5)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_WORK, MOST_WORK + 1))
    question = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_parent, daemon=True).start()
    answer(question, _tell)


def _tell(part: str, found: Any) -> None:
    print(json.dumps([part, found]), flush=True)


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)
