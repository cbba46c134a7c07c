"""Cost of a call, counted by address before the caller is identified, then by principal.

The units and their windows are those of `operations/limits`; every function raises `Problem` (`rate_limited`).
"""

from __future__ import annotations

from flask import Response, after_this_request

from ..operations.limits import JSON_PIECE
from ..request.call import Call


def spend_by_address(call: Call) -> None:
    """Take the call's cost from its address, and one attempt where those are counted."""
    limits, address = call.services.limits, call.address
    note_units(call)
    if call.units:
        limits.spend_of_address(address, call.units)
    if call.endpoint.tight:
        limits.attempt(call.endpoint.name, address)


def spend_by_principal(call: Call) -> None:
    """Take the call's cost from the principal's limit; a guest is counted by address alone."""
    if call.principal.kind != "guest" and call.units:
        call.services.limits.spend_of_principal(call.principal, call.units)


def note_units(call: Call) -> None:
    """Note the units that the call takes for its endpoint and the announced length of its body."""
    call.units = _cost(call)


def allow_body(call: Call) -> None:
    """Limit the body to what the endpoint takes. Take what a body costs whose length was not announced, and is known
    once it is read."""
    # Set, too, where it stays: else Flask looks it up in the configuration once more for each look at the body.
    call.request.max_content_length = _largest_body(call)
    if call.request.content_length is None:
        spend_more(call, len(call.request.get_data()) // JSON_PIECE)


def spend_more(call: Call, cost: int) -> None:
    """Take units besides, once it is known what is asked for."""
    if cost:
        call.units += cost
        call.services.limits.spend_of_address(call.address, cost)
        if call.principal.kind != "guest":
            call.services.limits.spend_of_principal(call.principal, cost)


def give_back(call: Call) -> None:
    """Give back what the call took but for one unit: it was refused because of load, and did nothing."""
    if call.units:
        call.services.limits.give_back(getattr(call, "principal", None), call.address, call.units)


def count_for_the_day(call: Call, name: str) -> None:
    """Count one row that the call leaves for the operator to keep, by its address and day, unless the call fails."""
    give_back = call.services.limits.spend_of_day(name, call.address)

    @after_this_request
    def look(response: Response) -> Response:
        # An answer that is repeated for its Idempotency-Key has no result.
        if response.status_code >= 400 or call.write.result is None:
            give_back()
        return response


def _cost(call: Call) -> int:
    """Returns the cost of the endpoint plus that of the announced length of a body that is kept in memory."""
    if call.endpoint.body is None and call.endpoint.read_form is None:
        return call.endpoint.cost
    # More than the limit is refused unread.
    length = min(call.request.content_length or 0, _largest_body(call))
    return call.endpoint.cost + length // JSON_PIECE


def _largest_body(call: Call) -> int:
    return call.endpoint.largest_body or call.services.settings.body_limit
