"""Check that a server answers. The server reports that it is ready only after it."""

from __future__ import annotations

import socket

_REQUEST = b"GET /api/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(host: str, port: int) -> bool:
    """True if the server answers a request. A connection alone proves nothing: the kernel may accept it."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(_REQUEST)
            length = 0
            # All of it: a client that leaves earlier is a line of the log.
            while part := connection.recv(4096):
                length += len(part)
            return length > 0
    except OSError:
        return False
