"""Flips bytes of SQLite's log under a running app, a hundred times, and counts what is answered then.

A script of its own, `damage.py INSTANCE EMAIL PASSWORD`, since it imports the app of whichever checkout it is run for.
"""

from __future__ import annotations

import logging
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
from click.testing import CliRunner

TRIALS, BYTES, SEED = 100, 20, 1
HEADER, FRAME, PAGE = 32, 24, 4096  # bytes of a log: its header, a frame's, a page
PATHS = ("/api/articles?limit=20", "/api/articles?q=the", "/api/articles/export", "/api/audit?limit=50",
         "/api/users?limit=20", "/api/comments?limit=20", "/api/admin/stats", "/api/profile", "/api/health")
COMMANDS = (["audit", "verify"], ["export", "articles"], ["user", "list"])


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
    frames = (log.stat().st_size - HEADER) // (FRAME + PAGE)
    with log.open("r+b", buffering=0) as damaged:
        for _ in range(TRIALS):
            services.database.close_all()  # what a connection has in its memory is not damaged
            spots = [HEADER + chance.randrange(frames) * (FRAME + PAGE) + FRAME + chance.randrange(PAGE)
                     for _ in range(BYTES)]
            before = [(spot, os.pread(damaged.fileno(), 1, spot)) for spot in spots]
            for spot, byte in before:
                os.pwrite(damaged.fileno(), bytes([byte[0] ^ chance.randrange(1, 256)]), spot)
            for path in PATHS:
                seen[answered(client, path, bearer)] += 1
            for command in COMMANDS:
                done = CliRunner().invoke(cli, command, env={"GATEPOST_INSTANCE": str(folder)})
                if done.exception is not None and not isinstance(done.exception, SystemExit):
                    seen["traceback"] += 1
            for spot, byte in reversed(before):
                os.pwrite(damaged.fileno(), byte, spot)
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
