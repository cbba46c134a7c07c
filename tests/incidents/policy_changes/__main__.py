"""Checks that the policy history is complete when policies change in every way and the database fails in between.

`python -m tests.incidents.policy_changes --seed 1 --rows 1000`: on Postgres with two workers, and on SQLite with one.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.databases import find_programs, running_server
from tests.incidents.policy_changes.account import Account
from tests.incidents.policy_changes.story import Scene, on_postgres, on_sqlite, play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--rows", type=int, default=1000, help="rows that the trail should have at least, on each")
    parser.add_argument("--only", choices=("postgres", "sqlite"))
    parser.add_argument("--explained", type=int, default=100, help="rows of which the command `explain` is asked")
    parser.add_argument("--verbose", action="store_true", help="tell of each change")
    options = parser.parse_args()
    print(f"--seed {options.seed}")

    def played(name: str, scene: Scene) -> Account:
        found = play(scene, random.Random(options.seed), rows=options.rows, explained=options.explained,
                     say=lambda text: print(f"  {text}", flush=True) if options.verbose else None)
        if found.agreeing < options.rows:
            found.wrong.append(f"{found.agreeing} decisions are too few to say anything")
        print(f"{name}: {found}", *found.wrong[:20], sep="\n  ", flush=True)
        return found

    wrong = 0
    with tempfile.TemporaryDirectory(prefix="gatepost-policies-") as folder:
        if options.only != "postgres":
            wrong += len(played("SQLite, waitress", on_sqlite(Path(folder), "waitress")).wrong)
    if options.only == "sqlite":
        sys.exit(wrong > 0)
    if find_programs() is None:
        sys.exit("There is no Postgres on this machine.")
    with tempfile.TemporaryDirectory(prefix="gatepost-policies-") as folder, running_server() as postgres:
        postgres.execute("CREATE DATABASE policies TEMPLATE template0")
        scene = on_postgres(Path(folder), "granian", postgres, postgres.url("policies"))
        wrong += len(played("Postgres, granian with two workers", scene).wrong)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
