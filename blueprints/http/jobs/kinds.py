"""Kinds of job: the name that the table holds, and the function that does the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models.tables.job import MOST_ATTEMPTS

if TYPE_CHECKING:
    from .task import Task


@dataclass(frozen=True, slots=True)
class Kind:
    """What runs the jobs of one name.

    run           does it, outside of any transaction and without a connection; returns what the job's owner may know,
                  JSON-ready, or None. Raises `Problem`: a 4xx ends the job, all else is tried again
    max_attempts  after so many it has failed
    """

    name: str
    run: Callable[[Task], Any]
    max_attempts: int = MOST_ATTEMPTS


Kinds = Mapping[str, Kind]
