"""Pages of the console, in the order of its navigation, and other ways to log in."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass

from gatepost import Call, Message
from gatepost.http.request.access import Access

LAST = 100  # the place of a page that needs none of its own


@dataclass(frozen=True)
class Page:
    """An entry of the navigation: drawn where its path is served, for callers who may have the permission on some
    object.

    permission  None: the page decides by itself what each caller sees of it
    place       the smaller, the earlier it comes
    """

    path: str
    title: Message
    permission: str | None
    place: int = LAST

    def is_for(self, access: Access) -> bool:
        """True if the navigation shows the page to the caller of `access`."""
        return not access.is_lost if self.permission is None else access.may_ever(self.permission)


_pages = {page.path: page for page in (
    Page("/console/people", Message("Users"), "user.view", place=60),
    Page("/console/data", Message("Data"), None, place=70),
    Page("/console/running", Message("Status"), "policy.view", place=80),
)}


def enter(page: Page) -> None:
    """Add an entry to the navigation."""
    _pages[page.path] = page


def entries(served: Container[str]) -> list[Page]:
    """Returns the entries of those paths that are served."""
    return sorted((page for page in _pages.values() if page.path in served), key=lambda page: page.place)


@dataclass(frozen=True)
class Way:
    """Another way to log in, as a button of the login page: a page that takes `next`."""

    path: str
    title: Message


_ways = list[Callable[[Call], Iterable[Way]]]()


def offer_login(ways: Callable[[Call], Iterable[Way]]) -> None:
    """Adds buttons to the login page. `ways` takes the call of the page, and returns those that are served."""
    _ways.append(ways)


def ways_to_log_in(call: Call) -> list[Way]:
    """Returns the other ways to log in."""
    return [way for ways in _ways for way in ways(call)]
