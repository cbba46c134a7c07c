"""What the nodes of a database run on, side by side: program, policy, keys and clock of each."""

from __future__ import annotations

from collections.abc import Iterator

from gatepost.features import Installation
from gatepost.health.finding import Found, State
from gatepost.http.operations import program
from models.engine.database import Database
from models.tables import policy_version
from models.tables.instance import the_instance
from models.tables.node import Node, alive, places

CLOCKS = 2.0  # seconds by which the clock of a node may differ from that of the database


def section(installation: Installation) -> Iterator[Found]:
    """What `gatepost doctor --nodes` shows."""
    return survey(installation.database)


def survey(database: Database) -> Iterator[Found]:
    """How each node is that is alive: `degraded` where it differs. Raises `RowError`."""
    with database.connected():
        rows = alive(database)
        keys, policy = the_instance().key_fingerprint, policy_version.newest_version()
    if not rows:
        yield Found(State.OK, "none is serving this database now")
    # A node on which the next key signs already may have prepared another one, and one that is behind has that of now.
    following = {row.prepared_fingerprint for row in rows} - {None, keys}
    for place in places(rows):
        yield _found([row for row in rows if (row.host, row.folder) == place], keys, following, policy)


def _found(rows: list[Node], keys: str | None, following: set[str | None], policy: str | None) -> Found:
    """What is said of one node by the rows of its processes."""
    found = (sentence for row in rows for sentence in _differences(row, keys, following, policy))
    wrong = list(dict.fromkeys(found))
    first = rows[0]
    processes = f"{len(rows)} processes" if len(rows) > 1 else "1 process"
    clock = max((row.clock_ahead for row in rows if row.clock_ahead is not None), key=abs, default=None)
    said = (f"{first.host}:{first.folder}: {processes}, Gatepost {first.version}, policy {first.policy_version}, "
            f"keys {first.key_fingerprint[:8]}")
    said += "" if first.prepared_fingerprint is None else f", next {first.prepared_fingerprint[:8]}"
    said += "" if clock is None else f", clock {clock:+.2f} s"
    return Found(State.DEGRADED if wrong else State.OK, "\n".join([said, *wrong]))


def _differences(row: Node, keys: str | None, following: set[str | None], policy: str | None) -> Iterator[str]:
    here = program.described()
    if row.version != here:
        yield (f"it runs Gatepost {row.version}, and this is {here}: "
               "upgrade one after the other (docs/running/upgrades.md)")
    if row.policy_error is not None:
        yield f"policy {row.policy_version} stays in force there: {row.policy_error}"
    elif policy is not None and row.policy_version != policy:
        yield (f"policy {row.policy_version} is in force there, and {policy} is the newest: with policy_source=files "
               "each node has files of its own")
    yield from _key_differences(row, keys, following)
    if row.clock_ahead is not None and abs(row.clock_ahead) > CLOCKS:
        yield f"its clock is {row.clock_ahead:+.1f} s from the server's: set it by NTP"


def _key_differences(row: Node, keys: str | None, following: set[str | None]) -> Iterator[str]:
    if keys is not None and row.key_fingerprint != keys:
        if row.prepared_fingerprint == keys:
            yield "it does not sign with the newest key yet, which is prepared there: gatepost keys rotate"
        else:
            yield "its newest key is not that of the database: copy secret.key from a node that has it"
    elif others := following - {row.prepared_fingerprint}:
        named = ", ".join(sorted(other[:8] for other in others if other))
        yield f"it has no key {named}, which another node has prepared: copy secret.key from there"
