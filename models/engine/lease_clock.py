"""Clock for the expiry of leases. All processes of an instance share it, and nobody sets it back.

On Postgres it is the server's clock. On SQLite, whose processes share one machine, it is the time since boot: a wall
clock may be set back, and a lease would then last for hours.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from models.engine.database import Database

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# CLOCK_BOOTTIME also counts while the machine sleeps. Only Linux has it.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Moment(NamedTuple):
    """Time of the clock named `epoch`, in seconds. Moments of two epochs cannot be compared."""

    epoch: str
    seconds: float


def moment(database: Database) -> Moment:
    """Returns the present time of the clock. On Postgres it runs a query on the connection that the caller holds."""
    if database.dialect == "postgres":
        return Moment("server", float(database.query("SELECT extract(epoch FROM clock_timestamp())")[0][0]))
    return Moment(_boot(), time.clock_gettime(_SINCE_BOOT))


@cache
def _boot() -> str:
    """Returns the id of this boot of the machine, or "" if the system has none."""
    with suppress(OSError):
        return _BOOT_ID.read_text("ascii").strip()
    return ""
