"""One round: the primary fails, and the standby replaces it under writes. In the end both are as before."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import monotonic, sleep

from tests.databases import Server
from tests.incidents.failover.cluster import Cluster, Member
from tests.incidents.failover.nodes import Nodes
from tests.incidents.failover.revoking import revoked
from tests.incidents.failover.writers import Writers
from tests.incidents.proxies import AGAIN
from tests.running import wait_until

PLAYED = 150  # acknowledged writes of each phase of a round
GONE = 6.0  # seconds without a standby: longer than a client waits for an answer
UNFENCED = 6.0  # seconds for which an old primary accepts connections beside the new one
KINDS = ("killed", "silent", "stopped", "killed and back", "silent and back", "standby gone")


@dataclass
class Seen:
    """The results of a round.

    after     seconds from the end of the promotion (or until an operator no longer has commits wait for a standby that
              is gone) to the first write that each node acknowledged
    promotion seconds that the promotion took
    outage    seconds without any acknowledged write, from the failure on
    revoked   seconds until the last of the other nodes refused a credential that one of them has ended, by what it was
    local     writes that the old primary alone stored, beside the new one
    claimed   those of them that a client was told are stored
    """

    kind: str
    writes: int = 0
    after: list[float] = field(default_factory=list)
    promotion: float = 0.0
    outage: float = 0.0
    longest: float = 0.0
    local: int = 0
    claimed: int = 0
    revoked: dict[str, float] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def play(cluster: Cluster, nodes: Nodes, kind: str, name: str, chance: random.Random,
         say: Callable[[str], None] = lambda text: None, played: int = PLAYED) -> Seen:
    """Plays a round of kind `kind` (`KINDS`) with `played` writes in each phase. All names begin with `name`."""
    seen = Seen(kind)
    token = nodes.each[0].asked().log_in()
    article = _article(nodes, token, name)
    with ExitStack() as stack:
        # Exits first: each client ends once its last write is acknowledged, also after an error here.
        writers = stack.enter_context(Writers(nodes, token, article, name))
        _go_on(writers, played)
        if kind == "standby gone":
            _lose_standby(cluster, writers, seen)
        else:
            _fail_over(cluster, nodes, writers, chance, seen, say)
            seen.revoked = revoked(nodes, token, name)
            for number in range(len(nodes.each)):
                nodes.restart(number)
                # A rolling restart continues once nginx uses this node again.
                sleep(AGAIN + 1)
                _go_on(writers, played)
            say("each node was killed and started")
    seen.writes, seen.longest = len(writers.acknowledged), writers.longest
    seen.answers = dict(writers.answers)
    seen.wrong += writers.wrong
    _compare(cluster, writers, seen)
    return seen


def _fail_over(cluster: Cluster, nodes: Nodes, writers: Writers, chance: random.Random, seen: Seen,
               say: Callable[[str], None]) -> None:
    old, back = _promote(cluster, writers, seen.kind, chance, seen)
    say(f"promoted, first writes after {', '.join(f'{each:.1f}' for each in seen.after)} s")
    if back:
        _let_back(cluster, nodes, old, writers, seen)
        say(f"{seen.local} writes on the old primary alone")
    _rejoin(cluster, old, chance)
    say("the old primary is the standby")


def _lose_standby(cluster: Cluster, writers: Writers, seen: Seen) -> None:
    """Kills the standby. No write is acknowledged until an operator stops the commits' wait for it."""
    cluster.standby.kill()
    gone = monotonic()
    sleep(GONE)
    late = [one.marker for one in writers.all() if one.began > gone]
    seen.wrong += [f"acknowledged without a standby: {marker}" for marker in late]
    cluster.primary.wait_for_nobody()
    alone = monotonic()
    seen.after = _first_writes(writers, alone)
    seen.outage = _longest_gap(writers, gone)
    cluster.standby.start()
    cluster.primary.wait_for(cluster.standby)


def _promote(cluster: Cluster, writers: Writers, kind: str, chance: random.Random, seen: Seen) -> tuple[Member, bool]:
    """Makes the primary fail and promotes the standby. Returns the old primary, stopped unless it comes back."""
    old, back = cluster.primary, kind.endswith(" and back")
    with ExitStack() as silence:
        failed = monotonic()
        if kind.startswith("silent"):
            silence.enter_context(old.silent())
        elif kind == "stopped":
            old.stop_cleanly()
        else:
            old.kill()
        sleep(chance.uniform(0, 3))
        began = monotonic()
        cluster.promote()
        promoted = monotonic()
        seen.promotion = promoted - began
        seen.after = _first_writes(writers, promoted)
        seen.outage = _longest_gap(writers, failed)
        if not back:
            # Fenced while it is still silent: it never answers again.
            old.kill()
    return old, back


def _let_back(cluster: Cluster, nodes: Nodes, old: Member, writers: Writers, seen: Seen) -> None:
    """Starts the old primary beside the new one. It accepts writes, and waits for its former standby.

    A node without knowledge of the failover starts, and an operator cancels the waiting commits.
    """
    if old.process is None:
        old.start()
    nodes.restart(0)
    until = monotonic() + UNFENCED
    while monotonic() < until:
        old.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        sleep(0.1)
    theirs = _stored(old, writers.name)
    ours = _stored(cluster.primary, writers.name)
    acknowledged = {one.marker: one.id for one in writers.all()}
    alone = {(marker, id) for marker, ids in theirs.items() for id in ids if id not in ours.get(marker, [])}
    claimed = [marker for marker, id in alone if acknowledged.get(marker) == id]
    seen.local, seen.claimed = len(alone), len(claimed)
    seen.wrong += [f"acknowledged, and on the old primary alone: {marker}" for marker in claimed]
    old.kill()


def _rejoin(cluster: Cluster, old: Member, chance: random.Random) -> None:
    if chance.random() < 0.5:
        old.standby_of(cluster.primary)
    else:
        old.made_anew(cluster.primary)
    cluster.primary.wait_for(old)


def _article(nodes: Nodes, token: str, name: str) -> str:
    status, made = nodes.each[0].asked().call(
        "POST", "/api/articles", {"title": name, "slug": f"{name}-article", "body": "b"}, token)
    assert status == 201, made
    return str(made["id"])


def _go_on(writers: Writers, played: int) -> None:
    enough = len(writers.all()) + played
    wait_until(lambda: len(writers.all()) >= enough or writers.wrong)


def _first_writes(writers: Writers, moment: float) -> list[float]:
    """Returns the seconds from that moment to the first acknowledged write of each node."""
    clients = range(len(writers.nodes.each))
    for client in clients:
        wait_until(lambda client=client: writers.first_of(client, moment))
    return [writers.first_of(client, moment) - moment for client in clients]


def _longest_gap(writers: Writers, failed: float) -> float:
    """Returns the longest time without an acknowledged write since the failure."""
    times = sorted(one.ended for one in writers.all() if one.ended > failed)
    return max((later - earlier for earlier, later in zip([failed, *times], times, strict=False)), default=0.0)


def _stored(server: Server, name: str) -> dict[str, list[str]]:
    """Returns marker → ids of the rows on a server."""
    found: dict[str, list[str]] = {}
    for marker, id in server.ask("SELECT body, id::text FROM comments WHERE body LIKE %s", f"{name}-%"):
        found.setdefault(marker, []).append(id)
    return found


def _compare(cluster: Cluster, writers: Writers, seen: Seen) -> None:
    """Checks that both servers store each acknowledged write once, and no other write."""
    wait_until(lambda: cluster.standby.has_all_of(cluster.primary))
    wanted = {one.marker: [one.id] for one in writers.acknowledged}
    if len(wanted) != len(writers.acknowledged):
        seen.wrong.append("a marker was used twice")
    for server in (cluster.primary, cluster.standby):
        stored = _stored(server, writers.name)
        seen.wrong += [f"lost on {server.name}: {marker}" for marker in wanted.keys() - stored.keys()]
        seen.wrong += [f"on {server.name}: {marker} is {ids}, acknowledged {wanted.get(marker)}"
                       for marker, ids in stored.items() if ids != wanted.get(marker)]
