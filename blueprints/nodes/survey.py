"""Comparison of the nodes on one database: program, policy, keys and clock of each."""

from __future__ import annotations

from collections.abc import Iterator

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State
from gatepost.http.operations import program
from models.engine.database import Database
from models.tables import policy_version
from models.tables.instance import the_instance
from models.tables.node import Node, alive, places

CLOCKS = 2.0  # seconds that the clock of a node may differ from that of the database


def section(installation: Installation) -> Iterator[CheckResult]:
    """Yields the findings of `gatepost doctor --nodes`."""
    return survey(installation.database)


def survey(database: Database) -> Iterator[CheckResult]:
    """Yields a finding for each running node: `degraded` if it differs. Raises `RowError`."""
    with database.connected():
        rows = alive(database)
        keys, policy = the_instance().key_fingerprint, policy_version.newest_version()
    if not rows:
        yield CheckResult(State.OK, "none is serving this database now")
    # Prepared keys that no node signs with yet. A node that is behind may still have the current key as prepared.
    following = {row.prepared_fingerprint for row in rows} - {None, keys}
    for place in places(rows):
        yield _finding([row for row in rows if (row.host, row.folder) == place], keys, following, policy)


def _finding(rows: list[Node], keys: str | None, following: set[str | None], policy: str | None) -> CheckResult:
    """Returns the finding about one node, from the rows of its processes."""
    sentences = (sentence for row in rows for sentence in _differences(row, keys, following, policy))
    differences = list(dict.fromkeys(sentences))
    first = rows[0]
    processes = f"{len(rows)} processes" if len(rows) > 1 else "1 process"
    clock = max((row.clock_ahead for row in rows if row.clock_ahead is not None), key=abs, default=None)
    text = (f"{first.host}:{first.folder}: {processes}, Gatepost {first.version}, policy {first.policy_version}, "
            f"keys {first.key_fingerprint[:8]}")
    text += "" if first.prepared_fingerprint is None else f", next {first.prepared_fingerprint[:8]}"
    text += "" if clock is None else f", clock {clock:+.2f} s"
    return CheckResult(State.DEGRADED if differences else State.OK, "\n".join([text, *differences]))


def _differences(row: Node, keys: str | None, following: set[str | None], policy: str | None) -> Iterator[str]:
    own_version = program.described()
    if row.version != own_version:
        yield (f"it runs Gatepost {row.version}, and this is {own_version}: "
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
    elif missing := following - {row.prepared_fingerprint}:
        names = ", ".join(sorted(fingerprint[:8] for fingerprint in missing if fingerprint))
        yield f"it has no key {names}, which another node has prepared: copy secret.key from there"
