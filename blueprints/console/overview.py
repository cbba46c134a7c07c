"""The start page of administrators: health, recent refusals and next steps. Others are led to their data.

Features add parts and steps by `pages.show_part` and `pages.suggest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response

from blueprints.console.data.listed import listed
from blueprints.console.frame import HOME, LOGIN, page, routes, see_other, show
from blueprints.console.naming import sentence
from blueprints.console.navigation import LAST, Page, enter, entries
from gatepost import Call, Message, Problem
from gatepost.collections.names import USERS
from models.engine.errors import TimedOut, Unavailable

OVERVIEW = "/console/overview"
SEEN_WITH = "policy.view"
_COST = 8  # roughly the cost of the endpoints that its parts call
_AWAY = Message("The database did not answer. Refresh the page in a moment. The service log has the reason.")


@dataclass(frozen=True)
class Part:
    """A part of the start page, for callers who may have the permission on some object.

    path        the page that shows more of it; without this page, the part is left out
    template    its template, as `package:name.html`
    values      takes the call; returns the variables of the template. None: nothing to show
    place       the smaller, the earlier it comes
    """

    path: str
    permission: str
    template: str
    values: Callable[[Call], Mapping[str, Any] | None]
    place: int = LAST


@dataclass(frozen=True)
class Step:
    """A next step of a new instance, for callers who may have the permission on some object.

    path        the page on which it is done; without this page, the step is left out
    title       what to do; `about` says why, in one sentence
    is_done     takes the call; True if there is nothing left to do
    command     a command that does the same
    """

    path: str
    permission: str
    title: Message
    about: Message
    is_done: Callable[[Call], bool]
    command: str = ""
    place: int = LAST


_parts, _steps = dict[str, Part](), dict[str, Step]()
enter(Page(OVERVIEW, Message("Overview"), SEEN_WITH, place=0))


def show_part(part: Part) -> None:
    """Adds a part to the start page."""
    _parts[part.template] = part


def suggest(step: Step) -> None:
    """Adds a step to the start page."""
    _steps[step.path] = step


@routes.get(HOME, **page(public="it leads to the first page that the caller may see"))
def home(call: Call) -> Response:
    """Go to the overview, or to the first collection that the caller may list, or to the first other page."""
    if call.principal.kind != "user":
        return see_other(call, LOGIN)
    served, may_look_after = call.services.registry.paths, call.access.may_ever(SEEN_WITH)
    kinds = [kind.path for kind in listed(call).values() if kind.path in served and kind.name != USERS]
    pages = [one.path for one in entries(served) if one.is_for(call.access)]
    first = next(iter([*pages, *kinds] if may_look_after else [*kinds, *pages]), None)
    return show(call, "nothing.html") if first is None else see_other(call, first)


@routes.get(OVERVIEW, **page(SEEN_WITH, cost=_COST))
def overview(call: Call) -> Response:
    """Show the state of the service, recent refusals, and next steps."""
    return show(call, "overview.html", parts_of_page=_drawn(call), steps=_next_steps(call))


def _offered(call: Call, path: str, permission: str) -> bool:
    return path in call.services.registry.paths and call.access.may_ever(permission)


def _drawn(call: Call) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns (template, its variables) of each part. A refusal or failure becomes a sentence in place of the part."""
    drawn = list[tuple[str, Mapping[str, Any]]]()
    for part in sorted(_parts.values(), key=lambda one: one.place):
        if _offered(call, part.path, part.permission):
            values = _kept(call, part)
            if values is not None:
                drawn.append((part.template, {"problem": "", **values}))
    return drawn


def _kept(call: Call, part: Part) -> Mapping[str, Any] | None:
    try:
        return part.values(call)
    except Problem as refusal:
        return {"problem": sentence(call, refusal)}
    except (Unavailable, TimedOut):
        return {"problem": call.services.translations.wanted(call.request).say(_AWAY)}


def _next_steps(call: Call) -> list[tuple[Step, bool]]:
    """Returns (step, whether it is done); [] if all are done. A step whose state is unknown is left out."""
    found = list[tuple[Step, bool]]()
    for step in sorted(_steps.values(), key=lambda one: one.place):
        if _offered(call, step.path, step.permission):
            try:
                found.append((step, step.is_done(call)))
            except (Problem, Unavailable, TimedOut):
                continue
    return [] if all(done for _, done in found) else found
