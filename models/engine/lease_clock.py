"""The clock by which leases run out: one that all processes of an instance share and that nobody sets back.

On Postgres it is the server's. On SQLite, whose processes are on one machine, it is the machine's since its boot: a
wall clock may be set back, and a lease would last for hours.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from models.engine.database import Database

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Unlike CLOCK_MONOTONIC it goes on while the machine sleeps; only Linux has it.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Moment(NamedTuple):
    """`seconds` of the clock of `epoch`; those of two epochs cannot be compared."""

    epoch: str
    seconds: float


def moment(database: Database) -> Moment:
    """What the clock shows now; on Postgres a query on the connection that the caller holds."""
    if database.dialect == "postgres":
        return Moment("server", float(database.query("SELECT extract(epoch FROM clock_timestamp())")[0][0]))
    return Moment(_boot(), time.clock_gettime(_SINCE_BOOT))


@cache
def _boot() -> str:
    """Which boot of the machine this is; empty where the system does not say."""
    with suppress(OSError):
        return _BOOT_ID.read_text("ascii").strip()
    return ""
