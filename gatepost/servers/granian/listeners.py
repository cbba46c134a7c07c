"""The listening sockets of a process and the connections to its port, of which granian tells nothing."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

_ESTABLISHED = "01"


def stop_accepting(port: int) -> None:
    """Let this process accept no more connections to the port, and keep those that it has.

    granian cannot: when it stops, it also closes the connections that it has accepted and not read. So another
    listening socket, which no client knows, takes the descriptor of each that listens on the port. Connections that
    were not accepted wait for the next process where a supervisor holds the socket.
    """
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind("")  # a name that the kernel chooses
        nobody.listen()
        nobody.setblocking(False)
        with suppress(FileNotFoundError):
            for descriptor in map(int, os.listdir("/proc/self/fd")):
                with suppress(OSError):  # it is gone by now, or no socket
                    if _listens(descriptor, port):
                        os.dup2(nobody.fileno(), descriptor, inheritable=False)


def connected(port: int) -> bool:
    """Whether connections to the port of this machine have been accepted; True where the kernel does not tell."""
    tables = [Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6")]
    known = False
    for table in tables:
        with suppress(OSError):
            for line in table.read_text("ascii").splitlines()[1:]:
                _, local, _, state, _, _, _, _, _, inode, *_ = line.split()
                # A connection has no inode before it is accepted.
                if state == _ESTABLISHED and inode != "0" and int(local.rpartition(":")[2], 16) == port:
                    return True
            known = True
    return not known


def _listens(descriptor: int, port: int) -> bool:
    """Raises OSError for what is not there any more, or no socket."""
    # Of a file not even a copy may be closed: that ends the locks of SQLite on it (fcntl(2), Advisory record locking),
    # and another process takes itself for the last and deletes the log.
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as found:
        if found.family not in (socket.AF_INET, socket.AF_INET6) or found.type != socket.SOCK_STREAM:
            return False
        accepts = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
        return accepts and found.getsockname()[1] == port
