"""Cost of a call, counted by address before the caller is identified, then by principal.

The units and their windows are those of `operations/limits`; every function raises `Problem` (`rate_limited`).
"""

from __future__ import annotations

from flask import Response, after_this_request

from ..operations.limits import JSON_PIECE
from ..request.call import Call


def spend_by_address(call: Call) -> None:
    """Takes the call's cost from its address, and an attempt if the endpoint counts attempts."""
    limits, address = call.services.limits, call.address
    note_units(call)
    if call.units:
        limits.spend_of_address(address, call.units)
    if call.endpoint.tight:
        limits.attempt(call.endpoint.name, address)


def spend_by_principal(call: Call) -> None:
    """Takes the call's cost from the principal's limit. A guest has only the limit of the address."""
    if call.principal.kind != "guest" and call.units:
        call.services.limits.spend_of_principal(call.principal, call.units)


def note_units(call: Call) -> None:
    """Notes the units of the call: for its endpoint, and for the announced length of its body."""
    call.units = _cost(call)


def allow_body(call: Call) -> None:
    """Limits the body to the size that the endpoint accepts. Takes the cost of a body without an announced length."""
    # Also set if it is the default, so that Flask does not look it up in the configuration each time.
    call.request.max_content_length = _largest_body(call)
    if call.request.content_length is None:
        spend_more(call, len(call.request.get_data()) // JSON_PIECE)


def spend_more(call: Call, cost: int) -> None:
    """Takes further units, after the content of the request is known."""
    if cost:
        call.units += cost
        call.services.limits.spend_of_address(call.address, cost)
        if call.principal.kind != "guest":
            call.services.limits.spend_of_principal(call.principal, cost)


def give_back(call: Call) -> None:
    """Returns all units of the call except one: it was refused because of load, and did nothing."""
    if call.units:
        call.services.limits.give_back(getattr(call, "principal", None), call.address, call.units)


def count_for_the_day(call: Call, name: str) -> None:
    """Counts a row that the operator has to store, by address and day, unless the call fails."""
    give_back = call.services.limits.spend_of_day(name, call.address)

    @after_this_request
    def look(response: Response) -> Response:
        # A replayed answer has no result.
        if response.status_code >= 400 or call.write.result is None:
            give_back()
        return response


def _cost(call: Call) -> int:
    """Returns the cost of the endpoint plus that of the announced length of a body that is kept in memory."""
    if call.endpoint.body is None and call.endpoint.read_form is None:
        return call.endpoint.cost
    # A body above the limit is refused unread.
    length = min(call.request.content_length or 0, _largest_body(call))
    return call.endpoint.cost + length // JSON_PIECE


def _largest_body(call: Call) -> int:
    return call.endpoint.largest_body or call.services.settings.body_limit
