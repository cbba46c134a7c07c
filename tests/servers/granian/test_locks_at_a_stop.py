"""A worker that accepts no more connections keeps its file locks: SQLite needs them until its files are closed."""

from __future__ import annotations

import fcntl
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.servers.granian.server import stop_accepting

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="NOT TESTED: Linux only")
TAKE = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def test_locks_on_files_outlast_the_end_of_a_listener(tmp_path: Path) -> None:
    file = tmp_path / "gatepost.db"
    file.touch()
    with file.open("r+b") as held, socket.create_server(("127.0.0.1", 0)) as listener:
        fcntl.lockf(held, fcntl.LOCK_SH)
        address = listener.getsockname()
        stop_accepting(address[1])
        with pytest.raises(OSError):
            socket.create_connection(address, timeout=5)
        taken = subprocess.run([sys.executable, "-c", TAKE, str(file)], capture_output=True, text=True, check=False)
        assert taken.returncode == 1 and "BlockingIOError" in taken.stderr
