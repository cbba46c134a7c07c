"""An object together with its version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Stored(Generic[T]):
    """An object as the service returned it.

    Pass it to `update`, `replace`, `delete` or an action instead of its id: the write then succeeds only if the object
    still has this version (`If-Match`).
    """

    id: str
    row: T = field(repr=False)  # it may hold a value that is shown only once, such as a service token
    etag: str
