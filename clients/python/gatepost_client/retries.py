"""Retries of requests: their conditions, number and pauses."""

from __future__ import annotations

from collections.abc import Callable
from random import uniform
from time import monotonic, sleep
from typing import TypeVar

from .problems import GatepostError

_FIRST, _MOST = 0.1, 5.0  # seconds of the first pause, which doubles, and of the longest one
_PATIENCE = 60.0  # seconds: a longer `Retry-After` raises the error instead of a pause
T = TypeVar("T")


def repeated(attempt: Callable[[], T], *, attempts: int, within: float = float("inf")) -> T:
    """Calls `attempt()`, again after each error that may pass, and returns its result. Raises the last error.

    Calls it at most `attempts` times, and not again after `within` seconds. Between two calls it waits for the time
    that the service asked for, and a random pause (up to 0.1 s, 0.2 s and so on up to 5 s).
    """
    began = monotonic()
    for number in range(1, attempts + 1):
        try:
            return attempt()
        except GatepostError as error:
            error.attempts = number
            wait = error.retry_after or 0.0
            late = monotonic() - began + wait > within
            if number == attempts or late or wait > _PATIENCE or not error.may_pass:
                raise
            sleep(wait + pause(number))
    raise ValueError("attempts must be at least 1")


def pause(number: int, first: float = _FIRST) -> float:
    """Returns the seconds to wait after attempt `number`, counted from 1: random, to spread the clients' retries."""
    return uniform(0, min(_MOST, first * 2 ** min(number - 1, 30)))
