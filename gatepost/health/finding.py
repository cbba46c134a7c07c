"""What a check finds: how a thing is, and a sentence about it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """How a thing is: as it should be, worth a look, or in the way of the service."""

    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


class Found(NamedTuple):
    """What a check has found; the detail is a sentence for the operator, which also says what to do."""

    state: State
    detail: str


UNKNOWN = Found(State.DOWN, "this cannot be told now")
