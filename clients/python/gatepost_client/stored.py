"""An object together with the version that it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Stored(Generic[T]):
    """An object as the service answered it.

    Handed to `update`, `replace`, `delete` or an action in place of its id, it has the write done only if the object
    is still at this version (`If-Match`).
    """

    id: str
    row: T = field(repr=False)  # it may hold what is shown once, such as a service token
    etag: str
