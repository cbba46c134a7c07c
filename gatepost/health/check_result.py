"""The result of a health check: a state, and a sentence about it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """The state of a check: good, worth attention, or blocking the service."""

    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


class CheckResult(NamedTuple):
    """The result of a check; `detail` is a sentence for the operator, which also says what to do."""

    state: State
    detail: str


UNKNOWN = CheckResult(State.DOWN, "this cannot be told now")
