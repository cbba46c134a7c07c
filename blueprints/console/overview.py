"""Parts and next steps of the overview. Features add them by `pages.show_part` and `pages.suggest`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from blueprints.console.naming import sentence
from blueprints.console.navigation import LAST, Page, enter
from gatepost import Call, Message, Problem
from models.engine.errors import TimedOut, Unavailable

OVERVIEW = "/console/overview"
SEEN_WITH = "policy.view"
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


def _offered(call: Call, path: str, permission: str) -> bool:
    return path in call.services.registry.paths and call.access.may_ever(permission)


def drawn_parts(call: Call) -> list[tuple[str, Mapping[str, Any]]]:
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


def next_steps(call: Call) -> list[tuple[Step, bool]]:
    """Returns (step, whether it is done); [] if all are done. A step whose state is unknown is left out."""
    steps = list[tuple[Step, bool]]()
    for step in sorted(_steps.values(), key=lambda one: one.place):
        if _offered(call, step.path, step.permission):
            try:
                steps.append((step, step.is_done(call)))
            except (Problem, Unavailable, TimedOut):
                continue
    return [] if all(done for _, done in steps) else steps
