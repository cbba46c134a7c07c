"""The start page: the overview for administrators; others are led to their data."""

from __future__ import annotations

from flask import Response

from blueprints.console.data.listed import listed
from blueprints.console.frame import HOME, LOGIN, page, routes, see_other, show
from blueprints.console.navigation import entries
from blueprints.console.overview import OVERVIEW, SEEN_WITH, drawn_parts, next_steps
from gatepost import Call
from gatepost.collections.names import USERS

_COST = 8  # roughly the cost of the endpoints that its parts call


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
    return show(call, "overview.html", parts_of_page=drawn_parts(call), steps=next_steps(call))
