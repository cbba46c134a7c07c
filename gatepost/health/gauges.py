"""Metrics of the instance as a whole, computed for each request of Prometheus: sizes, ages, checks.

Each takes a short time whatever the size of the database. If the database fails, only its metrics are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING

from gatepost.http.operations.write_probe import WriteProbe
from gatepost.http.security.keys import Keys
from models.base import now
from models.engine.database import Database
from models.engine.errors import RowError
from models.records.times import elapsed
from models.tables import audit, load, session
from models.tables.job import backlog
from models.tables.sizes import length_of_files, lengths
from settings import LiveSettings

from ..features import Features, Installation
from . import checks
from .check_result import State

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_NUMBERS = {State.OK: 0, State.DEGRADED: 1, State.DOWN: 2}


class Gauges:
    """A collector of prometheus-client for the metrics of one instance."""

    def __init__(self, live: LiveSettings, database: Database, keys: Keys, write_probe: WriteProbe,
                 features: Features) -> None:
        self._live, self._database, self._keys = live, database, keys
        self._write_probe, self._features = write_probe, features

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily as Gauge

        names = set()
        for metric in self._own():
            names.add(metric.name)
            yield metric
        for number in self._features.numbers(self._installation):
            if number.name not in names:
                yield Gauge(number.name, number.about, value=number.value)

    def _own(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily as Gauge

        build = Gauge("gatepost_build_info", "The version of Gatepost.", labels=("version",))
        build.add_metric((version("gatepost"),), 1)
        yield build
        states = Gauge("gatepost_check", "Each check of the instance: 0 ok, 1 degraded, 2 down.", labels=("check",))
        for name, state in sorted(self._states().items()):
            states.add_metric((name,), _NUMBERS[state])
        yield states
        for name, value in self._files():
            yield Gauge(name, _FILES[name], value=value)
        with suppress(RowError):
            yield from self._rows()

    @property
    def _installation(self) -> Installation:
        return Installation(self._live.current, self._database)

    def _states(self) -> dict[str, State]:
        states = {"database": checks.writes(self._write_probe.probe()).state}
        with suppress(RowError, OSError):
            states["keys"] = checks.keys(self._database, self._keys, self._live.current.secret_file).state
            states["clock"] = checks.clock(self._database).state
            states["jobs"] = checks.jobs(backlog(self._database)).state
        states |= {name: check().state for name, check in self._features.checks(self._installation)}
        with suppress(OSError):
            states["disk"] = checks.disk(self._live.current).state
        return states

    def _files(self) -> Iterator[tuple[str, float]]:
        with suppress(OSError):
            yield "gatepost_disk_free_bytes", checks.free(checks.folders(self._live.current))
        with suppress(RowError, OSError), self._database.connected():
            whole, log = lengths(self._database)
            yield "gatepost_database_bytes", whole
            if log is not None:
                yield "gatepost_database_log_bytes", log
            if (files := length_of_files(self._database)) is not None:
                yield "gatepost_export_files_bytes", files
        with suppress(OSError):
            yield "gatepost_backups_bytes", sum(checks.kept_backups(self._live.current.backups))

    def _rows(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily as Gauge

        with self._database.connected():
            queue = backlog(self._database)
            unsealed, since = audit.unsealed()
            sessions, loads = session.live(), load.open_loads(self._database)
        jobs = Gauge("gatepost_jobs", "Jobs by state.", labels=("state",))
        for state in ("waiting", "running", "failed"):
            jobs.add_metric((state,), getattr(queue, state))
        yield jobs
        yield Gauge("gatepost_jobs_oldest_seconds", "Time since the oldest job that waits was due.",
                    value=queue.seconds)
        yield Gauge("gatepost_sessions", f"Sessions that are live; {session.COUNTED} may be more.", value=sessions)
        yield Gauge("gatepost_imports_open", "Imports under way that store rows in batches (SQLite).", value=loads)
        yield Gauge("gatepost_audit_unsealed_rows", "Audit rows that have no seal yet.", value=unsealed)
        yield Gauge("gatepost_audit_unsealed_seconds", "Age of the oldest audit row without a seal.", value=_age(since))


_FILES = {
    "gatepost_disk_free_bytes": "Room on the disk of the instance, or of its database where there is less.",
    "gatepost_database_bytes": "Size of the database.",
    "gatepost_database_log_bytes": "Size of the write-ahead log (SQLite).",
    "gatepost_export_files_bytes": "Size of the files of exports beside the database (SQLite).",
    "gatepost_backups_bytes": "Size of the folder of backups.",
}


def _age(time: str | None) -> float:
    return 0.0 if time is None else max(0.0, elapsed(time, now()))
