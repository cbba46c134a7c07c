"""A typed client of Gatepost: `Gatepost(url)` is where it begins, `types` has what it takes and answers."""

from __future__ import annotations

from .client import Gatepost
from .problems import (
    Conflict,
    Forbidden,
    GatepostError,
    Invalid,
    JobFailed,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)
from .stored import Stored

__all__ = [
    "Conflict", "Forbidden", "Gatepost", "GatepostError", "Invalid", "JobFailed", "NotFound", "RateLimited", "Stored",
    "Unauthenticated", "Unavailable", "VersionConflict",
]
