"""One instance whose policy changes in every way while its callers write, and the comparison afterwards."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from models.engine.connect import open_database
from models.engine.database import Database
from models.tables.audit import of_all
from tests.databases import Server, turn_held
from tests.incidents.load import SERVERS
from tests.incidents.policy_changes.account import Account, account
from tests.incidents.policy_changes.clients import Answered, Client, Shop, opened, working
from tests.incidents.policy_changes.ways import WAYS, Way, Ways, prepare, served, version_of
from tests.running import Instance

_ENVIRONMENT = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_POLICY_EDIT": "on", "GATEPOST_ACCESS_TOKEN_MINUTES": "600"}


@dataclass(frozen=True)
class Scene:
    """An instance, its server and its database, and a way to make the database fail."""

    instance: Instance
    arguments: Sequence[str]
    url: str
    fails: Callable[[], AbstractContextManager[None]]


def on_sqlite(folder: Path, server: str) -> Scene:
    """An instance on SQLite. To fail, another process holds the write lock."""
    instance = Instance(folder / "instance", _ENVIRONMENT).made()
    file = instance.folder / "gatepost.db"
    return Scene(instance, SERVERS[server], f"sqlite:///{file}", lambda: turn_held(file))


def on_postgres(folder: Path, server: str, postgres: Server, url: str) -> Scene:
    """An instance on an empty database of Postgres. To fail, it ends all connections and refuses new ones."""
    instance = Instance(folder / "instance", {**_ENVIRONMENT, "GATEPOST_DATABASE_URL": url}).made()
    return Scene(instance, SERVERS[server], url, lambda: postgres.refusing(url))


def play(scene: Scene, chance: random.Random, *, ways: Sequence[Way] = WAYS, rows: int = 0, explained: int = 20,
         say: Callable[[str], None] = lambda text: None) -> Account:
    """Changes the policy in each of `ways` once, and repeats until the audit log has `rows` events.

    Runs `gatepost policy explain --audit` for `explained` of them.
    """
    policies = scene.instance.folder / "policies"
    begun = version_of(policies)
    prepare(policies)
    answers: list[Answered] = []
    with _database(scene.url) as database:
        with served(scene.instance, *scene.arguments) as serving:
            assert serving.now is not None
            shop = Shop()
            callers = opened(scene.instance, serving.now, shop, chance)
            people = [one.principal for one in callers if one.name in ("user-1", "user-2")]
            clients = [Client(one, serving.url, shop, random.Random(chance.random())) for one in callers]
            changes = Ways(serving, database, scene.fails, people, chance, scene.instance.folder.parent)
            changes.enter(begun)
            with working(clients):
                while not changes.rounds or _stored(database) < rows:
                    changes.go_round(ways, say)
            for client in clients:
                answers += client.answers
        found = account(database, changes.told, answers)
    for id in chance.sample(sorted(found.agrees), min(explained, len(found.agrees))):
        found.wrong += _explained(scene.instance, id, found.agrees[id])
    return found


def _explained(instance: Instance, id: str, agrees: bool) -> Iterator[str]:
    """Yields the errors in the command's explanation of an audit event."""
    done = instance.run("policy", "explain", "--audit", id, "--json")
    if done.returncode != 0:
        yield f"row {id} cannot be explained: {done.stderr}"
    elif [one["agrees"] for one in json.loads(done.stdout)["decisions"]] != [agrees]:
        yield f"row {id} is explained otherwise: {done.stdout}"


@contextmanager
def _database(url: str) -> Iterator[Database]:
    database = open_database(url, pool_size=4, synchronous="normal", statement_timeout=60)
    try:
        yield database
    finally:
        database.close_all()


def _stored(database: Database) -> int:
    with database.connected():
        return of_all().count()
