"""Queue of refusals for the audit log: a flood becomes few rows, and no text that a client can choose freely.

Exports use the same queue, because they have no write transaction that would record them.

A source is a principal, or for guests the network of an address as the limits count it. In each minute its first
`OWN` distinct refusals are rows of their own, stored within about a second with their current count. All others,
repeated or distinct, become one row for each tenant and result, stored at the end of the minute or when the service
stops. So a source makes at most about `OWN` + 1 rows a minute.

Guesses are failed logins, and logins that were refused unchecked. They are counted separately from other refusals, so
that the attacked account stays visible. Exports are separate from both. Principals are separate from guests, so that no
number of networks can hide the attempts of a principal.

A killed process (SIGKILL, a power cut) loses up to a minute of repetitions. It loses the first occurrence of a refusal
only in the last second.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import NamedTuple

from models.base import new_id, now
from models.tables.audit import Audit

from ..operations.counters import MINUTE
from ..operations.limits import network_of

OWN = 50  # distinct refusals of one source that have rows of their own in a minute
SOURCES = 1000  # distinct sources of each kind in a minute; the rest share the source `*`
MOST = 10_000  # rows that wait while the database is unavailable; further ones are only counted, for the source `*`
ANY = "*"
GUESS = "refuse"  # action of a guess that was refused unchecked: `session.refuse`


class Refusal(NamedTuple):
    """Content of one refusal, or of an export (`result` is `allowed`). `facts` is JSON of limited size.

    decided  True if the facts are those of the policy's decision. Such facts do not distinguish refusals: if several
             become one row, it has the facts of the first.
    """

    tenant_id: str
    principal: str
    role: str
    action: str
    resource: str
    resource_id: str | None
    address: str | None
    result: str
    reason: str | None
    policy_version: str | None
    facts: str | None = None
    decided: bool = False

    @property
    def source(self) -> str:
        """Source that is limited: the principal, or the network of a guest."""
        return network_of(self.address or "-") if self.principal == "guest" else self.principal

    @property
    def kind(self) -> str:
        """Kind under which sources are counted (`SOURCES`)."""
        if self.result == "allowed":
            return "allowed"
        if self.result == "failed" or self.action == GUESS:
            return "guess"
        return "guest" if self.principal == "guest" else "principal"

    @property
    def identity(self) -> tuple[str | int | None, ...]:
        """Values that distinguish the refusals of one source."""
        # A hash instead of the facts, because the keys of a minute stay in memory.
        return (self.tenant_id, self.action, self.resource, self.reason, self.resource_id, self.result,
                self.policy_version, None if self.decided else hash(self.facts))


_FACTS = Refusal._fields.index("facts")
Key = tuple[str | int | None, ...]
"""Source, and the values of its refusal; for a minute's row only tenant and result."""


@dataclass
class Merged:
    """Future row: the common values of its refusals, and their number."""

    refusal: Refusal
    request_id: str
    time: str = field(default_factory=now)
    count: int = 1

    def add(self, refusal: Refusal, count: int = 1) -> None:
        self.count += count
        if self.refusal.decided and refusal[:_FACTS] == self.refusal[:_FACTS]:
            return
        if refusal != self.refusal:
            self.refusal = Refusal._make(
                value if value == new else blank
                for value, new, blank in zip(self.refusal, refusal, _BLANK, strict=True))

    def row(self) -> Audit:
        """Returns the audit event with a new id. Its reason has the number of refusals."""
        times = None if self.count == 1 else f"({self.count} times)"
        reason = " ".join(filter(None, (self.refusal.reason, times))) or None
        columns = self.refusal._replace(reason=reason)._asdict()
        del columns["decided"]
        return Audit(**columns, id=new_id(), time=self.time, count=self.count, request_id=self.request_id)


class Taken(NamedTuple):
    """Rows that a flush is about to store, by their keys."""

    own: dict[Key, Merged]
    rest: dict[Key, Merged]

    def rows(self) -> list[Audit]:
        return [merged.row() for merged in (*self.own.values(), *self.rest.values())]


class Refusals:
    """Refusals of one process that wait to be stored. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._distinct: dict[Key, Merged] = {}
        self._summed: dict[Key, Merged] = {}
        # By kind and source: the keys that have, or will have, a row of their own in this minute.
        self._distinct_keys: defaultdict[str, dict[str, set[Key]]] = defaultdict(dict)
        self._ends = monotonic() + MINUTE

    def add(self, refusal: Refusal, request_id: str) -> None:
        """Adds one refusal, for the next `take`."""
        source, identity = refusal.source, refusal.identity
        with self._lock:
            merged = self._distinct.get((source, *identity))
            if merged is not None:
                merged.add(refusal)
                return
            sources = self._distinct_keys[refusal.kind]
            keys = sources.get(source)
            if keys is None:
                if len(sources) >= SOURCES:
                    source = ANY
                keys = sources.setdefault(source, set())
            if source != ANY and identity not in keys and len(keys) < OWN and len(self._distinct) < MOST:
                keys.add(identity)
                self._distinct[source, *identity] = Merged(refusal, request_id)
            else:
                self._count(source, Merged(refusal, request_id))

    def take(self, *, early: bool = False) -> Taken:
        """Takes the refusals that are to be stored now; `early`: also those of the current minute."""
        with self._lock:
            own, self._distinct = self._distinct, {}
            rest: dict[Key, Merged] = {}
            if early or monotonic() >= self._ends:
                rest, self._summed = self._summed, {}
                self._distinct_keys.clear()
                self._ends = monotonic() + MINUTE
        return Taken(own, rest)

    def put_back(self, taken: Taken) -> None:
        """Keeps rows that could not be stored, for the next `take`."""
        with self._lock:
            newer, self._distinct = self._distinct, taken.own
            for key, merged in newer.items():
                if key in self._distinct:
                    self._distinct[key].add(merged.refusal, merged.count)
                elif len(self._distinct) < MOST:
                    self._distinct[key] = merged
                else:
                    self._count(merged.refusal.source, merged)
            for (source, *_), merged in taken.rest.items():
                self._count(str(source), merged)

    def _count(self, source: str, merged: Merged) -> None:
        """Merges into the source's row of this minute."""
        key = source, merged.refusal.tenant_id, merged.refusal.result
        if key not in self._summed and len(self._summed) >= MOST:
            source, key = ANY, (ANY, *key[1:])
        merged.refusal = _for_a_minute(merged.refusal, source)
        stored = self._summed.get(key)
        if stored is None:
            self._summed[key] = merged
        else:
            stored.add(merged.refusal, merged.count)


def _for_a_minute(refusal: Refusal, source: str) -> Refusal:
    """Reduces a refusal to the row of a minute: no object, no facts, and for a guest the network as the address."""
    text = refusal.reason or ""
    reason = text if text.endswith(_MORE) else f"{text}, {_MORE}" if text else _MORE
    refusal = refusal._replace(resource_id=None, reason=reason, facts=None, decided=False)
    if source == ANY:
        return refusal._replace(principal=ANY, role=ANY, address=None)
    return refusal._replace(address=source) if refusal.principal == "guest" else refusal


_MORE = "more of the same minute"
# Values of a row whose refusals differ. Tenant and result never differ: they are part of the key.
_BLANK = Refusal(ANY, ANY, ANY, ANY, ANY, None, None, ANY, _MORE, None)
