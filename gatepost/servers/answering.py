"""Whether a server answers: it says that it serves only then."""

from __future__ import annotations

import socket

_ASKED = b"GET /api/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(host: str, port: int) -> bool:
    """True if a request is answered. That a connection is made says nothing where the kernel takes it for a worker."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(_ASKED)
            return connection.recv(1) != b""
    except OSError:
        return False
