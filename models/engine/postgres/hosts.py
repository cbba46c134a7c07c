"""Servers that a Postgres URL names: the primary, and standbys that may take its place.

We try each server ourselves instead of giving libpq the list. So we know which one is silent, and it does not delay
each new connection.
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
    """Servers of one URL, in its order. The last server that took a connection is tried first.

    given  parameters of the URL, by libpq's names; `host`, `hostaddr` and `port` may be lists with commas
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.each = _each(parameters)
        self._first = 0

    @property
    def several(self) -> bool:
        return len(self.each) > 1

    def connect(self, connect: Callable[[Mapping[str, str]], Connection]) -> Connection:
        """Returns the result of `connect(parameters)` for the first server that accepts.

        If all fail, raises ConnectionTimeout when one of them is silent, else the last error. With several servers, the
        message contains the errors of all.
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
        errors = "; ".join(f"{_name(self.each[index])}: {error}" for index, error in sorted(failed.items()))
        return type(last)(errors)


def _each(parameters: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the parameters of each server: host, address and port, and that it must take writes. A single server has
    none.

    Raises ValueError where the lists differ in length.
    """
    lists = {name: str(parameters[name]).split(",") for name in _LISTED if parameters.get(name)}
    number = max((len(lists.get(name, ())) for name in ("host", "hostaddr")), default=0)
    if number < 2:
        return [{}]
    for name, values in lists.items():
        if len(values) == 1 and name == "port":
            lists[name] = values * number
        elif len(values) != number:
            raise ValueError(f"the Postgres URL names {number} hosts and {len(values)} times a {name}")
    # A standby also answers, but takes no writes.
    attributes = str(parameters.get("target_session_attrs") or "read-write")
    return [{**{name: values[index] for name, values in lists.items()}, "target_session_attrs": attributes}
            for index in range(number)]


def _name(place: Mapping[str, str]) -> str:
    return f"{place.get('host') or place.get('hostaddr')}:{place.get('port') or 5432}"
