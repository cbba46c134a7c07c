"""The servers that a Postgres URL names: of several, the primary and the standbys that may take its place.

Each is tried by itself, and not by libpq one after another, so that a silent one is known to be silent, and does not
delay each new connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import psycopg
from psycopg.errors import ConnectionTimeout

from models.engine.postgres.connection import Connection

_LISTED = ("host", "hostaddr", "port")


class Hosts:
    """The servers of one URL, in its order; the one that was connected to last is tried first.

    given  what the URL says, by the names of libpq; `host`, `hostaddr` and `port` may be lists with commas
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.each = _each(given)
        self._first = 0

    @property
    def several(self) -> bool:
        return len(self.each) > 1

    def connect(self, connect: Callable[[Mapping[str, str]], Connection]) -> Connection:
        """A connection by `connect(parameters)` to the first server that takes it.

        Raises ConnectionTimeout when one of them is silent, else what the last one was refused by, with what all said.
        """
        first, failed = self._first, dict[int, psycopg.OperationalError]()
        for index in (*range(first, len(self.each)), *range(first)):
            try:
                conn = connect(self.each[index])
            except psycopg.OperationalError as error:
                failed[index] = error
                continue
            self._first = index
            if self.several:
                conn.leave = partial(self._leave, index)
            return conn
        raise self._all(failed)

    def _leave(self, index: int) -> None:
        if self._first == index:
            self._first = (index + 1) % len(self.each)

    def _all(self, failed: Mapping[int, psycopg.OperationalError]) -> psycopg.OperationalError:
        silent = next((error for error in failed.values() if isinstance(error, ConnectionTimeout)), None)
        last = silent or list(failed.values())[-1]
        if not self.several:
            return last
        said = "; ".join(f"{_name(self.each[index])}: {error}" for index, error in sorted(failed.items()))
        return type(last)(said)


def _each(given: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is to be connected to, one after another; nothing is said of a single server that the URL does not say.

    Raises ValueError where the lists do not fit.
    """
    lists = {name: str(given[name]).split(",") for name in _LISTED if given.get(name)}
    number = max((len(lists.get(name, ())) for name in ("host", "hostaddr")), default=0)
    if number < 2:
        return [{}]
    for name, values in lists.items():
        if len(values) == 1 and name == "port":
            lists[name] = values * number
        elif len(values) != number:
            raise ValueError(f"the Postgres URL names {number} hosts and {len(values)} times a {name}")
    # A standby answers, too, and takes no writes.
    wanted = str(given.get("target_session_attrs") or "read-write")
    return [{**{name: values[index] for name, values in lists.items()}, "target_session_attrs": wanted}
            for index in range(number)]


def _name(place: Mapping[str, str]) -> str:
    return f"{place.get('host') or place.get('hostaddr')}:{place.get('port') or 5432}"
