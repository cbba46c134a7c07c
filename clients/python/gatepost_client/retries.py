"""When a request is sent again, how often, and after how long."""

from __future__ import annotations

from collections.abc import Callable
from random import uniform
from time import monotonic, sleep
from typing import TypeVar

from .problems import GatepostError

_FIRST, _MOST = 0.1, 5.0  # seconds of the first pause, which doubles, and of the longest
_PATIENCE = 60.0  # seconds: whoever is asked to wait for longer is told so
T = TypeVar("T")


def repeated(attempt: Callable[[], T], *, attempts: int, within: float = float("inf")) -> T:
    """What `attempt()` returns, called again while it raises what may pass.

    It is called `attempts` times at most, and not again after `within` seconds. Between two calls lies a random pause
    (up to 0.1 s, 0.2 s and so on up to 5 s), and at least the time that the service asked for. Raises the last error.
    """
    began = monotonic()
    for number in range(1, attempts + 1):
        try:
            return attempt()
        except GatepostError as error:
            error.attempts = number
            asked = error.retry_after or 0.0
            late = monotonic() - began + asked > within
            if number == attempts or late or asked > _PATIENCE or not error.may_pass:
                raise
            sleep(asked + pause(number))
    raise ValueError("attempts must be at least 1")


def pause(number: int, first: float = _FIRST) -> float:
    """Seconds to wait after attempt `number`, counted from 1: chosen by chance, so that clients do not come at once."""
    return uniform(0, min(_MOST, first * 2 ** min(number - 1, 30)))
