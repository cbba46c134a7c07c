"""Flips bytes of SQLite's log under a running app, a hundred times, and counts what is answered then.

A script of its own, `damage.py INSTANCE EMAIL PASSWORD`, since it imports the app of the checkout that it is run for.
`flipped` and `spot_of_log` serve the tests, too.
"""

from __future__ import annotations

import logging
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
from click.testing import CliRunner

TRIALS, BYTES, SEED = 100, 20, 1
HEADER, FRAME, PAGE = 32, 24, 4096  # bytes: of a log's head, a frame's, a page (https://sqlite.org/walformat.html)
PATHS = ("/api/articles?limit=20", "/api/articles?q=the", "/api/articles/export", "/api/audit?limit=50",
         "/api/users?limit=20", "/api/comments?limit=20", "/api/admin/stats", "/api/profile", "/api/health")
COMMANDS = (["audit", "verify"], ["export", "articles"], ["user", "list"])


@contextmanager
def flipped(file: int, spots: Iterable[int], chance: random.Random) -> Iterator[None]:
    """The bytes of an open file at these offsets are others meanwhile; at the end they are as before."""
    before = [(spot, os.pread(file, 1, spot)) for spot in spots]
    for spot, byte in before:
        os.pwrite(file, bytes([byte[0] ^ chance.randrange(1, 256)]), spot)
    try:
        yield
    finally:
        for spot, byte in reversed(before):
            os.pwrite(file, byte, spot)


def spot_of_log(size: int, chance: random.Random) -> int:
    """The offset of a byte of some page in a log of that size; damage to a head ends the log instead."""
    frame = chance.randrange((size - HEADER) // (FRAME + PAGE))
    return HEADER + frame * (FRAME + PAGE) + FRAME + chance.randrange(PAGE)


def main(folder: Path, email: str, password: str) -> None:
    from app import cli, create_app

    logging.disable(logging.CRITICAL)
    app = create_app({"instance": folder, "rate_limits": "off"})
    services = app.extensions["gatepost"]
    services.ensure_running = lambda: None
    file = folder / "gatepost.db"
    holder = apsw.Connection(str(file))
    holder.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
    holder.execute("VACUUM").fetchall()  # now every page is in the log
    client = app.test_client()
    login = client.post("/api/login", json={"email": email, "password": password}).get_json()
    bearer = {"Authorization": f"Bearer {login['access_token']}"}
    chance, seen = random.Random(SEED), Counter[str]()
    log = Path(f"{file}-wal")
    with log.open("r+b", buffering=0) as damaged:
        size = os.fstat(damaged.fileno()).st_size
        for _ in range(TRIALS):
            services.database.close_all()  # what a connection has in its memory is not damaged
            with flipped(damaged.fileno(), [spot_of_log(size, chance) for _ in range(BYTES)], chance):
                for path in PATHS:
                    seen[answered(client, path, bearer)] += 1
                for command in COMMANDS:
                    done = CliRunner().invoke(cli, command, env={"GATEPOST_INSTANCE": str(folder)})
                    if done.exception is not None and not isinstance(done.exception, SystemExit):
                        seen["traceback"] += 1
    print(f"{TRIALS * len(PATHS)} requests: {seen['200']}× 200, {seen['503']}× 503, {seen['401']}× 401, {seen['500']}× "
          f"500, {seen['broken']} broken; {TRIALS * len(COMMANDS)} commands: {seen['traceback']} tracebacks")


def answered(client: Any, path: str, headers: dict[str, str]) -> str:
    try:
        answer = client.get(path, headers=headers)
        answer.get_data()
    except Exception:  # of a stream, which has begun with 200
        return "broken"
    return str(answer.status_code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
