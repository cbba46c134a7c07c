"""One turn of waitress's loop: what happened on the connections since the last one."""

from __future__ import annotations

import select
from typing import Any

from waitress import wasyncore


def turn(sockets: dict[int, Any], timeout: float) -> None:
    """Wait for events on the sockets, `timeout` seconds at most, and handle them.

    sockets  by descriptor

    An event reaches the connection that it was asked for, or none. `wasyncore.loop` looks only at the descriptor, which
    a connection that is closed in a turn leaves to the next one that is accepted in it: that one was closed at once.
    """
    pollster, asked = select.poll(), {}
    for descriptor, each in list(sockets.items()):
        flags = select.POLLIN | select.POLLPRI if each.readable() else 0
        if not each.accepting and each.writable():
            flags |= select.POLLOUT
        if flags and sockets.get(descriptor) is each:  # the listener closes slow connections when it is asked
            pollster.register(descriptor, flags)
            asked[descriptor] = each
    for descriptor, flags in pollster.poll(int(timeout * 1000)):
        each = asked[descriptor]
        if sockets.get(descriptor) is each:
            wasyncore.readwrite(each, flags)
