"""Answers that last as long as their readers like, and hold a thread meanwhile: exports.

So that other requests find threads, few of them are sent to one caller at a time, and to all together.
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
    """A Response of the chunks that `make` returns, which holds a slot of its caller's until it is closed.

    Raises `Problem` (`overloaded`) when there is no slot, and what `make` raises.
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
    # A server closes what it sends. What fails after the handler leaves a Response that is never sent.
    response.call_on_close(finalize(response, slots.release, key))
    return response
