"""Processes that open a database, write, change its schema, compact it and close it, all at the same time.

`python -m tests.incidents.openings --seconds 60` counts refusals and reports of damage; there must be none.
`test_openings.py` runs a sample.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from models.base import new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.sqlite import checkpoints
from models.tables.tenant import Tenant
from tests.incidents.pair_kills import ROOT, made, url_of

WRITES = 3  # between opening and closing


def _change_schema(database: Database, number: int) -> None:
    if number % 5 == 0:
        with database.migrating():
            database.query(f"CREATE TABLE made_{number} (id INTEGER PRIMARY KEY) STRICT")


def _compact(database: Database, number: int) -> None:
    if number % 10 == 0:
        database.compact()


DOES: dict[str, Callable[[Database, int], None]] = {
    "writes": lambda database, number: None, "writes, too": lambda database, number: None,
    "changes the schema": _change_schema, "compacts": _compact,
}


def work(url: str, does: str, seconds: float) -> None:
    """Opens the database, works and closes it repeatedly. The log is short, so that checkpoints restart it often."""
    checkpoints.LONG, checkpoints.LAST, checkpoints.VERY_LONG = 60, 30, 240
    until, number = monotonic() + seconds, 0
    while monotonic() < until:
        database = open_database(url, pool_size=2)
        try:
            for _ in range(WRITES):
                database.transact(lambda: [Tenant.add(new_id()) for _ in range(4)])
                DOES[does](database, number)
                number += 1
            with database.connected():
                assert database.query("SELECT count(*) FROM tenants")
            for found in (database.loss(), database.fault()):
                assert found is None, found
        finally:
            database.close_all()
    print(f"{does}: opened {number // WRITES} times")


def run(place: Path, seconds: float) -> dict[str, str]:
    """Runs the processes. Returns the output of each, and the error of one that failed."""
    folder = made(place / "here").parent
    command = [sys.executable, "-m", "tests.incidents.openings", "--seconds", str(seconds), "--url", url_of(folder)]
    running = {does: subprocess.Popen([*command, "--does", does], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) for does in DOES}
    said = {does: process.communicate() for does, process in running.items()}
    return {does: f"{output}{errors[-2000:]}" if running[does].returncode else output
            for does, (output, errors) in said.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--url")
    parser.add_argument("--does", choices=DOES)
    given = parser.parse_args()
    if given.url:
        return work(given.url, given.does, given.seconds)
    with tempfile.TemporaryDirectory() as place:
        said = run(Path(place), given.seconds)
    print("".join(said.values()))
    sys.exit(any("opened" not in each for each in said.values()))


if __name__ == "__main__":
    main()
