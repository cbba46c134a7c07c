"""A typed client of Gatepost: begin with `Gatepost(url)`. `types` has the types of requests and answers."""

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
