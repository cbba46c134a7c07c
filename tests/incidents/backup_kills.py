"""`kill -9` at each step of a backup and of a restore: the result is the old instance or the new one.

`python -m tests.incidents.backup_kills --kills 60` kills at steps (changes of a file, seen by Python's audit hooks) and
at random moments, on both databases, and counts the results. `test_backup_kills.py` runs a sample.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from blueprints.backups.archive import unpack
from models.engine.connect import open_database
from models.tables.instance import the_instance
from models.tables.tenant import Tenant
from tests.databases import Server, running_server
from tests.running import Instance

# Runs a command, and kills itself before its nth change of a file. Without n it prints the number of changes.
AT_STEP = """
import os, signal, sys
CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree",
           "subprocess.Popen", "tempfile.mkdtemp", "fcntl.flock"}
left, seen, watching = int(sys.argv.pop(1)), 0, False
def look(event, given):
    global seen
    if not watching or not (event in CHANGES or event == "open" and isinstance(given[2], int)
                            and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        return
    seen += 1
    if seen == left:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(look)
from gatepost_start.command import cli
import blueprints.backups.restoring, blueprints.backups.proof
print("ready", flush=True)
watching = True
try:
    cli()
finally:
    watching = False
    print(seen, flush=True)
"""


@dataclass(frozen=True)
class Sides:
    """Contents that differ before and after a restore: names of tenants, keys, a rule file."""

    tenants: tuple[str, ...]
    keys: bytes
    rules: bytes


def seen(instance: Instance) -> tuple[Sides, str]:
    """Returns the instance's contents and its epoch, after a command has completed or undone a restore."""
    done = instance.run("token", "list", "admin@example.org")
    assert done.returncode == 0, done.stderr
    database = open_database(url_of(instance), pool_size=4)
    try:
        with database.connected():
            names, epoch = tuple(sorted(tenant.name for tenant in Tenant.all())), the_instance().epoch
    finally:
        database.close_all()
    left = [file.name for file in instance.folder.iterdir()
            if file.name == "restore.json" or (file.name.startswith(".gatepost-restore-") and journalled(file))]
    assert not left, left
    return Sides(names, (instance.folder / "secret.key").read_bytes(),
                 (instance.folder / "policies" / "articles.csv").read_bytes()), epoch


def journalled(staged: Path) -> bool:
    """True if a prepared restore has a journal. Without one the next restore removes it."""
    return (staged.parent / "restore.json").exists()


def url_of(instance: Instance) -> str:
    return instance.environment.get("GATEPOST_DATABASE_URL") or f"sqlite:///{instance.folder / 'gatepost.db'}"


@dataclass(frozen=True)
class Stage:
    """An instance that has changed since its backup: keys, rules and rows."""

    instance: Instance
    archive: Path
    before: Sides
    after: Sides

    def restore(self) -> list[str]:
        return ["restore", "--replace", "--yes", str(self.archive)]

    def change(self) -> None:
        """Brings the instance back to its state before a restore."""
        (self.instance.folder / "secret.key").write_bytes(self.before.keys)
        (self.instance.folder / "policies" / "articles.csv").write_bytes(self.before.rules)
        if "later" not in seen(self.instance)[0].tenants:
            assert self.instance.run("tenant", "add", "later").returncode == 0


@contextmanager
def staged(folder: Path, server: Server | None) -> Iterator[Stage]:
    environment = {}
    if server is not None:
        name = f"kills_{folder.name[-8:].lower().replace('-', '_')}"
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        environment["GATEPOST_DATABASE_URL"] = server.url(name)
    instance = Instance(folder / "instance", environment).made()
    archive = folder / "a.tar.gz"
    assert instance.run("backup", str(archive)).returncode == 0
    after = seen(instance)[0]
    assert instance.run("keys", "rotate", "--forget").returncode == 0
    with open(instance.folder / "policies" / "articles.csv", "ab") as file:
        file.write(b"# edited\n")
    assert instance.run("tenant", "add", "later").returncode == 0
    yield Stage(instance, archive, seen(instance)[0], after)


def run(instance: Instance, command: list[str], *, step: int = 0, after: float | None = None) -> tuple[int, float]:
    """Runs a command and kills it before step `step`, or `after` seconds after its start.

    Returns the number of its steps (0 if it was killed) and the seconds that it took.
    """
    with subprocess.Popen([sys.executable, "-c", AT_STEP, str(step), *command], env=instance.environ(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        began = monotonic()
        if after is not None:
            sleep(after)
            process.kill()
        said = process.stdout.read().split()
        status = process.wait()
    return int(said[-1]) if status == 0 else 0, monotonic() - began


def kill_restore(stage: Stage, *, step: int = 0, after: float | None = None) -> str:
    """Kills a restore. Returns `old` or `new`, the side that the instance has then, or what is wrong."""
    stage.change()
    (_, epoch), _ = seen(stage.instance), run(stage.instance, stage.restore(), step=step, after=after)
    found, now = seen(stage.instance)
    if found == stage.before and now == epoch:
        return "old"
    return "new" if found == stage.after and now != epoch else f"between: {found}"


def kill_backup(stage: Stage, place: Path, *, step: int = 0, after: float | None = None) -> str:
    """Kills a backup. Returns `none` if it left no archive, `whole` if it left a complete one."""
    run(stage.instance, ["backup", str(place)], step=step, after=after)
    if not place.exists():
        return "none"
    with tempfile.TemporaryDirectory() as folder:
        unpack(place, Path(folder))
    place.unlink()
    return "whole"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60, help="of each kind on each database")
    parser.add_argument("--seed", type=int, default=25)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    wrong = 0
    with running_server() as server:
        for postgres in (None, server):
            with (tempfile.TemporaryDirectory(prefix="gatepost-kills-") as folder,
                  staged(Path(folder), postgres) as stage):
                steps, seconds = run(stage.instance, stage.restore())
                name = "Postgres" if postgres else "SQLite"
                print(f"{name}: a restore has {steps} steps and takes {seconds:.2f} s", flush=True)
                chosen = sorted(chance.sample(range(1, steps + 1), min(steps, options.kills)))
                tell(name, "restore, at steps", found := Counter(kill_restore(stage, step=one) for one in chosen))
                wrong += sum(found.values()) - found["old"] - found["new"]
                moments = [chance.uniform(0, seconds) for _ in range(options.kills)]
                tell(name, "restore, at random", found := Counter(kill_restore(stage, after=one) for one in moments))
                wrong += sum(found.values()) - found["old"] - found["new"]
                place = Path(folder) / "b.tar.gz"
                steps, seconds = run(stage.instance, ["backup", str(Path(folder) / "whole.tar.gz")])
                chosen = sorted(chance.sample(range(1, steps + 1), min(steps, options.kills)))
                found = Counter(kill_backup(stage, place, step=one) for one in chosen)
                moments = [chance.uniform(0, seconds) for _ in range(options.kills)]
                found += Counter(kill_backup(stage, place, after=one) for one in moments)
                tell(name, "backup", found)
    sys.exit(bool(wrong))


def tell(name: str, what: str, found: Counter[str]) -> None:
    sides = ", ".join(f"{number} {side}" for side, number in found.items())
    print(f"{name}: {what}: {sum(found.values())} kills: {sides}", flush=True)


if __name__ == "__main__":
    main()
