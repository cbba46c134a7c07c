"""`kill -9` of processes that write a SQLite file and copy its log, and then another file beside that log.

`python -m tests.incidents.pair_kills --kills 60` counts the results; `test_pair_kills.py` runs a sample.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from threading import Thread
from time import sleep

import apsw

from models import migrate
from models.engine.connect import open_database
from models.engine.errors import ForeignLog
from models.engine.sqlite import checkpoints, copies
from models.engine.sqlite.pair import Pair
from tests.models.engine import writer

NAME = "x.db"
ROOT = Path(__file__).parents[2]
PROCESSES = 3


def write(url: str) -> None:
    """Writes until killed. The log is short, so that checkpoints restart it many times a second."""
    checkpoints.LONG, checkpoints.LAST, checkpoints.VERY_LONG = 60, 30, 240
    writer.main(url, 2, 10**9, True)


def made(folder: Path) -> Path:
    """A migrated database in a new folder."""
    folder.mkdir()
    database = open_database(url_of(folder), pool_size=2)
    database.create()
    migrate.upgrade(database)
    database.close_all()
    return folder / NAME


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder / NAME}"


def killed(folder: Path, chance: random.Random, copied: dict[str, Path]) -> set[str]:
    """Copies the database under writing processes, and kills them later. Returns the names that they stored."""
    command = [sys.executable, "-m", "tests.incidents.pair_kills", "--write", url_of(folder)]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
               for _ in range(PROCESSES)]
    for each in running:
        assert each.stdout is not None
        each.stdout.readline()  # it has begun
    stored: list[set[str]] = [set() for _ in running]

    def read(number: int) -> None:
        stdout = running[number].stdout
        assert stdout is not None
        stored[number].update(line.decode().strip() for line in stdout if line.endswith(b"\n"))

    readers = [Thread(target=read, args=(number,)) for number in range(PROCESSES)]
    for reader in readers:
        reader.start()
    sleep(chance.uniform(0, 0.5))
    for name, path in copied.items():
        with closing(apsw.Connection(str(folder / NAME))) as source:
            source.set_busy_timeout(5000)
            if name == "a backup of Gatepost":
                copies.copy(source, str(path))
            elif "VACUUM" in name:
                source.create_scalar_function("gatepost_words", lambda *_: "", 2, deterministic=True)
                source.execute("VACUUM INTO ?", (str(path),))
            else:
                with closing(apsw.Connection(str(path))) as target, target.backup("main", source, "main") as step:
                    step.step(-1)
    sleep(chance.uniform(0, 0.5))
    assert not any(each.poll() for each in running), "a writer was refused"
    for each in chance.sample(running, PROCESSES):
        each.kill()
    for each in running:
        each.wait()
    for reader in readers:
        reader.join()
    for each in running:
        assert each.stdout is not None
        each.stdout.close()
    return set().union(*stored)


def outcome(folder: Path, stored: set[str]) -> str:
    """Opens the file and its log, which no process has open, and names the result."""
    log = folder / f"{NAME}-wal"
    begun = Pair(folder / NAME).log_has_frames()
    database = open_database(url_of(folder), pool_size=2)
    before = log.read_bytes() if begun else b""
    try:
        with database.connected():
            sound = database.query("PRAGMA integrity_check") == [("ok",)]
            names = {name for name, in database.query("SELECT name FROM tenants")}
    except ForeignLog:
        database.close_all()
        return "refused" if log.read_bytes() == before else "refused, and the log is gone"
    except Exception as error:
        return f"broken: {error!r}"
    finally:
        database.close_all()
    if not sound:
        return "corrupt"
    if database.loss() is not None:
        return "said to be damaged"
    return f"intact{'' if begun else ', without a log'}{', the newest state' if stored <= names else ''}"


def put_in(folder: Path, other: Path, by: str) -> Path:
    """Returns a copy of the folder in which `cp` or `mv` has replaced the database by another file."""
    target = Path(shutil.copytree(folder, folder.with_name(f"{folder.name} {random.random()}")))
    if by == "cp":
        (target / NAME).write_bytes(other.read_bytes())
    else:
        copy = Path(shutil.copy(other, target / "other"))
        copy.rename(target / NAME)
    return target


def trial(place: Path, seed: str, seen: Counter[tuple[str, str]], again: float = 0.7) -> None:
    """Kills once, and tries each file as a replacement. `again` is the probability of an earlier kill."""
    chance = random.Random(seed)
    folder, elsewhere = place / "here", place / "elsewhere"
    old = place / "old.db"
    shutil.copy(made(folder), old)
    early = {"an early copy by another program": place / "early.db",
             "an early copy by VACUUM INTO": place / "early-vacuumed.db"}
    if chance.random() < again:
        killed(folder, chance, early)
    copied = {"a backup of Gatepost": place / "backup.db", "a late copy by another program": place / "late.db",
              "a late copy by VACUUM INTO": place / "late-vacuumed.db"}
    stored = killed(folder, chance, copied)
    shutil.copytree(folder, place / "kept")
    seen["killed", outcome(folder, stored)] += 1
    kept = place / "kept"
    files = {"the file of before": old, **early, **copied, "another instance": made(elsewhere)}
    for name, path in files.items():
        for by in ("cp", "mv"):
            if path.exists():
                target = put_in(kept, path, by)
                seen[f"{name}, {by}", outcome(target, stored)] += 1
                shutil.rmtree(target)
    stored = killed(elsewhere, chance, {})
    shutil.copy(kept / f"{NAME}.pair", elsewhere)
    seen["file and log together from elsewhere", outcome(elsewhere, stored)] += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", default="25")
    parser.add_argument("--write")
    given = parser.parse_args()
    if given.write:
        write(given.write)
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(given.kills):
        with tempfile.TemporaryDirectory() as place:
            trial(Path(place), f"{given.seed} {number}", seen)
    for (case, found), times in sorted(seen.items()):
        print(f"{case:45} {found:40} {times}")


if __name__ == "__main__":
    main()
