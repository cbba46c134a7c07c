"""`kill -9` of commands, servers and workers at random moments: `make kills`.

The next command removes their temporary files, and no acknowledged write is lost.
`python -m tests.incidents.command_kills --kills 200` runs the campaign.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

from models.engine.connect import open_database
from models.tables.article import Article
from models.tables.tenant import Tenant
from tests.databases import Server, running_server
from tests.incidents.backup_kills import run, url_of
from tests.incidents.load import SERVERS, Load
from tests.running import GATEPOST, Instance

SERVES = tuple(f"serve ({server})" for server in SERVERS)
WORKER = "worker"
LONGEST = 2.0  # seconds for which a server or a worker runs at most until it is killed
MARKS = (".gatepost-", ".policies")  # the first characters of the names of temporary files in the instance
# It has one name, holds two numbers, and the next process that writes the pair replaces it.
REPLACED = "gatepost.db.pair.new"


@dataclass
class Place:
    """An instance, and the folders that its commands write to.

    beside   a folder for backups and exports
    tenants  that a command has acknowledged
    slugs    of articles that a server has acknowledged
    """

    instance: Instance
    beside: Path
    temporary: Path
    tenants: set[str] = field(default_factory=set)
    slugs: set[str] = field(default_factory=set)

    def commands(self) -> dict[str, Sequence[str]]:
        """Commands that write files: name → arguments. Each can run repeatedly."""
        rules = self.beside / "rules"
        return {
            "backup": ["backup", self.fresh("tar.gz")],
            "restore --verify": ["restore", "--verify", str(self.beside / "a.tar.gz")],
            "restore --replace": ["restore", "--replace", "--yes", self.newest_backup()],
            "policy apply": ["policy", "apply", str(rules), "--yes"],
            "policy check FILE": ["policy", "check", str(self.beside / "articles.csv")],
            "policy export": ["policy", "export", "--to", self.fresh("policies")],
            "policy matrix": ["policy", "matrix", "--html", self.fresh("html")],
            "user export": ["user", "export", "admin@example.org", self.fresh("json")],
            "user erasures": ["user", "erasures", self.fresh("jsonl")],
            "export": ["export", "articles", self.fresh("ndjson")],
            "keys rotate": ["keys", "rotate"],
            "tenant add": ["tenant", "add", f"someone-{next(_numbers)}"],
            "migrate": ["migrate"],
            "doctor": ["doctor"],
            "init": ["init", "--no-demo"],
        }

    def fresh(self, suffix: str) -> str:
        return str(self.beside / f"{next(_numbers)}.{suffix}")

    def newest_backup(self) -> str:
        return str(self.beside / "a.tar.gz")

    def prepare(self) -> None:
        """Changes the rules for `policy apply`, so that it has something to write."""
        rules = self.beside / "rules"
        if not rules.exists():
            shutil.copytree(self.instance.folder / "policies", rules)
            shutil.copy(rules / "articles.csv", self.beside)
        text = (rules / "articles.csv").read_text(encoding="utf-8")
        (rules / "articles.csv").write_text(f"# {next(_numbers)}\n{text}", encoding="utf-8")

    def left(self) -> list[str]:
        """Returns the temporary files that remain after the next command."""
        done = subprocess.run([*GATEPOST, "token", "list", "admin@example.org"], env=self.instance.environ(), text=True,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        folders = (self.instance.folder, self.beside)
        return sorted(map(str, [*(place for place in self.temporary.iterdir() if not is_probe(place)), *(
            place for folder in folders for place in folder.rglob("*")
            if place.name.startswith(MARKS) or (place.suffix == ".new" and place.name != REPLACED))]))

    def lost(self) -> set[str]:
        """Returns the acknowledged tenants and slugs that are not in the database."""
        database = open_database(url_of(self.instance), pool_size=4)
        try:
            with database.connected():
                kept = {tenant.name for tenant in Tenant.all()} | {
                    slug for (slug,) in Article.select(Article.slug).tuples()}
        finally:
            database.close_all()
        return (self.tenants | self.slugs) - kept


def is_probe(place: Path) -> bool:
    """True for the nameless file by which Python's `tempfile` tries the folder; it is not Gatepost's to remove."""
    return not place.name.startswith(MARKS) and place.is_file() and place.read_bytes() in (b"", b"blat")


_numbers = itertools.count(1)


@contextmanager
def placed(folder: Path, server: Server | None) -> Iterator[Place]:
    """An instance with a backup, whose temporary files go to a folder of their own."""
    beside, temporary = folder / "beside", folder / "tmp"
    beside.mkdir()
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary), "GATEPOST_RATE_LIMITS": "off"}
    if server is not None:
        name = f"command_kills_{next(_numbers)}"
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        environment["GATEPOST_DATABASE_URL"] = server.url(name)
    place = Place(Instance(folder / "instance", environment).initialised(), beside, temporary)
    place.prepare()
    assert place.instance.run("backup", place.newest_backup()).returncode == 0
    yield place


def kill_command(place: Place, name: str, *, step: int = 0, after: float | None = None) -> list[str]:
    """Runs a command and kills it. Returns the temporary files that remain after the next one."""
    place.prepare()
    if name == "restore --replace":
        # A restore removes the writes acknowledged since the backup.
        place.tenants.clear()
        place.slugs.clear()
    run(place.instance, list(place.commands()[name]), step=step, after=after)
    return place.left()


def kill_server(place: Place, server: str, after: float) -> list[str]:
    """Kills a server under writes. Returns the temporary files that remain."""
    with place.instance.served(*SERVERS[server]) as service:
        with Load(service, service.log_in(), name=f"kill-{next(_numbers)}") as load:
            sleep(after)
            service.process.kill()
        place.slugs |= set(load.created)
    return place.left()


def kill_worker(place: Place, after: float) -> list[str]:
    """Kills a worker. Returns the temporary files that remain."""
    with subprocess.Popen([*GATEPOST, "worker"], env=place.instance.environ(), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        sleep(after)
        process.kill()
    return place.left()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=46)
    options = parser.parse_args()
    chance, wrong = random.Random(options.seed), 0
    with running_server() as server:
        for dialect, postgres in (("SQLite", None), ("Postgres", server)):
            with (tempfile.TemporaryDirectory(prefix="gatepost-kills-") as folder,
                  placed(Path(folder), postgres) as place):
                wrong += _campaign(place, dialect, options.kills // 2, chance)
    sys.exit(bool(wrong))


def _campaign(place: Place, dialect: str, kills: int, chance: random.Random) -> int:
    """Counts the kills that left files behind or lost a write."""
    seconds = {}
    for name in place.commands():
        steps, seconds[name] = run(place.instance, list(place.commands()[name]))
        assert steps, f"{name} fails"
    names = [*seconds, *SERVES, WORKER]
    killed, wrong = Counter[str](), 0
    for number in range(kills):
        name = names[number % len(names)]
        tenant = f"kept-{next(_numbers)}"
        if place.instance.run("tenant", "add", tenant).returncode == 0:
            place.tenants.add(tenant)
        if name in SERVES:
            left = kill_server(place, list(SERVERS)[SERVES.index(name)], chance.uniform(0, LONGEST))
        elif name == WORKER:
            left = kill_worker(place, chance.uniform(0, LONGEST))
        else:
            left = kill_command(place, name, after=chance.uniform(0, seconds[name]))
        killed[name], lost = killed[name] + 1, place.lost()
        if left or lost:
            wrong += 1
            print(f"{dialect}: {name}: left {left}, lost {lost}", flush=True)
    sealed = place.instance.run("audit", "verify")
    print(f"{dialect}: {killed.total()} kills of {', '.join(killed)}: {wrong} with files that are left or writes that "
          f"are lost; the audit log is {'not ' if sealed.returncode else ''}whole", flush=True)
    return wrong + bool(sealed.returncode)


if __name__ == "__main__":
    main()
