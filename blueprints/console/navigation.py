"""Which pages the console has, in the order of its navigation."""

from __future__ import annotations

from dataclasses import dataclass

from gatepost import Message


@dataclass(frozen=True)
class Page:
    """An entry of the navigation: drawn for callers who may have the permission on some object."""

    path: str
    title: Message
    permission: str


PAGES = (
    Page("/console/rules", Message("Rules"), "policy.view"),
    Page("/console/why", Message("Why?"), "policy.view"),
    Page("/console/running", Message("Running"), "policy.view"),
)
