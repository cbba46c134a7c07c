"""Which pages the console has, in the order of its navigation."""

from __future__ import annotations

from dataclasses import dataclass

from gatepost import Message
from gatepost.http.request.access import Access


@dataclass(frozen=True)
class Page:
    """An entry of the navigation: drawn for callers who may have the permission on some object.

    permission  None: the page decides by itself what each caller sees of it
    """

    path: str
    title: Message
    permission: str | None

    def is_for(self, access: Access) -> bool:
        """Whether it is drawn for the caller of `access`."""
        return not access.is_lost if self.permission is None else access.may_ever(self.permission)


PAGES = (
    Page("/console/rules", Message("Rules"), "policy.view"),
    Page("/console/why", Message("Why?"), "policy.view"),
    Page("/console/try", Message("Try a change"), "policy.view"),
    Page("/console/history", Message("History"), "policy.view"),
    Page("/console/audit", Message("Audit"), "audit.view"),
    Page("/console/people", Message("People"), "user.view"),
    Page("/console/data", Message("Data"), None),
    Page("/console/running", Message("Running"), "policy.view"),
)
