"""Long answers, which hold a thread until the client has read them: exports.

A concurrency limit, for each caller and for all, keeps threads free for other requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from weakref import finalize

from flask import Response

from ..operations.limits import payer
from ..operations.slots import RETRY_AFTER
from ..protocol.problems import Problem

if TYPE_CHECKING:
    from ..request.call import Call


def answer(call: Call, make: Callable[[], Iterable[bytes]], **options: Any) -> Response:
    """Returns a Response of the chunks from `make`, which holds a slot of its caller until it is closed.

    Raises `Problem` (`overloaded`) if no slot is free, and the exceptions of `make`.
    """
    slots, key = call.services.long_answers, payer(call.principal, call.address)
    if not slots.acquire(key):
        raise Problem("overloaded", "Too many long answers are being sent. Try again when one has ended.",
                      headers={"Retry-After": RETRY_AFTER})
    try:
        response = Response(make(), **options)
    except BaseException:
        slots.release(key)
        raise
    # A server closes a Response that it sends. After an error behind the handler, a Response is never sent.
    response.call_on_close(finalize(response, slots.release, key))
    return response
