"""Long answers, which hold a thread until the client has read them: exports.

A concurrency limit, for each caller and for all, keeps threads free for other requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from weakref import finalize

from flask import Response

from ..operations.concurrency import RETRY_AFTER
from ..operations.limits import payer
from ..protocol.problems import Problem

if TYPE_CHECKING:
    from ..request.call import Call


def answer(call: Call, make: Callable[[], Iterable[bytes]], **options: Any) -> Response:
    """Returns a Response of the chunks from `make`. It counts against the concurrency limit until it is closed.

    Raises `Problem` (`overloaded`) if the limit is reached, and the exceptions of `make`.
    """
    limit, key = call.services.long_answers, payer(call.principal, call.address)
    if not limit.acquire(key):
        raise Problem("overloaded", "Too many long answers are being sent. Try again when one has ended.",
                      headers={"Retry-After": RETRY_AFTER})
    try:
        response = Response(make(), **options)
    except BaseException:
        limit.release(key)
        raise
    # A server closes a Response that it sends. After an error behind the handler, a Response is never sent.
    response.call_on_close(finalize(response, limit.release, key))
    return response
