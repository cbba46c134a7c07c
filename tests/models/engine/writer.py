"""A process that writes: `python -m tests.models.engine.writer URL THREADS ROWS [alone]`; prints each committed row.

`alone`: no two writers share a transaction.

It is a separate program, because the tests need one writer lock for each process.
"""

from __future__ import annotations

import os
import sys
import threading

from models.engine.connect import open_database
from models.tables.tenant import Tenant


def main(url: str, threads: int, rows: int, group_commit: bool) -> None:
    database = open_database(url, pool_size=threads, synchronous="normal", statement_timeout=30,
                             group_commit=group_commit)
    failures: list[BaseException] = []

    def write(thread: int) -> None:
        try:
            for number in range(rows):
                name = f"{os.getpid()}-{thread}-{number}"
                database.transact(lambda name=name: Tenant.add(name), grouped=number % 3 > 0)
                # One system call for each line, so that lines of several threads do not mix.
                os.write(1, f"{name}\n".encode())
        except BaseException as error:
            failures.append(error)
            raise

    running = [threading.Thread(target=write, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    database.close_all()
    sys.exit(bool(failures))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "alone" not in sys.argv[4:])
