"""Health checks: each returns the state of one thing. They raise only the errors in their docstrings."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from gatepost.health.check_result import CheckResult, State
from gatepost.http.operations.addresses import UnreadableAddresses
from gatepost.http.operations.write_probe import PATIENCE, ProbeResult
from gatepost.http.security.keys import KeyFileError, Keys, fingerprints, prepared_fingerprint
from gatepost.http.security.known_keys import WrongKeys
from models.base import now
from models.engine.database import Database
from models.migrate import obstacle
from models.records.times import elapsed
from models.tables.audit import newest_time
from models.tables.instance import the_instance
from models.tables.job import Backlog
from settings import Settings

# Names of the framework's own checks in health. Some have another name in `gatepost doctor`.
OWN = frozenset(("database", "policy", "limits", "addresses", "disk", "migrations", "keys", "clock", "jobs"))
NO_DISK = 2**20  # bytes below which a row of a common size cannot be written
LEAST_DISK = 200 * 2**20  # bytes below which a busy SQLite may soon be unable to write
BUILT = datetime(2026, 1, 1, tzinfo=UTC)  # an earlier clock is wrong, and so would be the times in tokens
LOOPBACK = ("127.0.0.1", "localhost", "::1")  # addresses that only this machine reaches
BEHIND = 300.0  # seconds that a clock may be behind the newest audit event
LONGEST_WAIT = 3600  # seconds that a job may wait if some process runs jobs
REFUSED = 10.0  # seconds that a failed write of a client is reported


def worst(states: Iterable[State]) -> State:
    """Returns the worst state; OK if there are none."""
    order = list(State)
    return max(states, key=order.index, default=State.OK)


def writes(probe: ProbeResult) -> CheckResult:
    """Rates the result of the write probe."""
    if probe.waiting is not None and probe.waiting >= PATIENCE:
        return CheckResult(
            State.DOWN,
            f"a write has been waiting for {probe.waiting:.0f} s: another program holds the "
            "database, or its disk or server does not answer")
    if probe.error is not None:
        return CheckResult(State.DOWN, f"nothing can be written: {probe.error}")
    if probe.waiting is not None:
        return CheckResult(State.DEGRADED, f"a write has been waiting for {probe.waiting:.1f} s")
    if probe.refused is not None and probe.refused < REFUSED:
        if probe.full:
            return CheckResult(
                State.DOWN,
                f"the disk of the database is full: the write of a client has failed "
                f"{probe.refused:.1f} s ago")
        return CheckResult(
            State.DEGRADED,
            f"a row was written {probe.age or 0:.1f} s ago, but the write of a client has "
            f"failed {probe.refused:.1f} s ago: too many at once, or a row or table is locked")
    return CheckResult(State.OK, f"a row was written {probe.age or 0:.1f} s ago")


def migrations(database: Database, directories: Mapping[str, Path]) -> CheckResult:
    """Checks that all migrations are applied, and no newer ones. Raises `RowError`."""
    reason = obstacle(database, directories)
    return CheckResult(State.OK, "none are missing") if reason is None else CheckResult(State.DOWN, reason)


def keys(database: Database, ring: Keys, file: Path) -> CheckResult:
    """Checks that the key ring in use, and the one in the key file, belong to the database. Raises `RowError`."""
    with database.connected():
        fingerprint = the_instance().key_fingerprint
    if fingerprint is not None and fingerprint not in fingerprints(ring):
        return CheckResult(State.DOWN, str(WrongKeys()))
    try:
        stored = Keys.load(file)
    except KeyFileError as error:
        return CheckResult(State.DEGRADED, f"the keys in use stay, but a restart would fail: {error}")
    if fingerprint is not None and fingerprint not in fingerprints(stored):
        return CheckResult(State.DEGRADED, f"the keys in use stay, but a restart would fail: {WrongKeys()}")
    text = f"{len(stored.ring('access token'))} in {file.name}"
    if fingerprint is not None and fingerprint == prepared_fingerprint(stored):
        text += "; other nodes sign with the one that is prepared here: gatepost keys rotate"
    return CheckResult(State.OK, text)


def addresses(unreadable: UnreadableAddresses) -> CheckResult:
    """Checks that the addresses of clients can be read."""
    if (recent := unreadable.recent) is None:
        return CheckResult(State.OK, "all can be read")
    number, age = recent
    return CheckResult(
        State.DEGRADED,
        f"{number} requests since the start came from an address that cannot be read, the "
        f"last one {age:.0f} s ago. No rule about addresses allows them. The log quotes the "
        "address. Let the proxy write IP addresses into X-Forwarded-For, and set "
        "trusted_proxies to the number of proxies")


def clients(settings: Settings, host: str) -> CheckResult:
    """Checks that slow clients cannot occupy all threads if the service listens on this address."""
    if settings.workers and not settings.trusted_proxies and host not in LOOPBACK:
        return CheckResult(
            State.DEGRADED,
            f"slow clients are not bounded: without a proxy in front of {host}, each of them "
            "holds a thread of a worker. Put nginx or Caddy in front (deploy/) and set "
            "trusted_proxies, or serve without workers")
    return CheckResult(State.OK, "slow clients hold no thread")


def disk(settings: Settings) -> CheckResult:
    """Checks the free space on the disks of the instance and its database. Raises OSError."""
    size = free(folders(settings))
    text = f"{size // 2**20} MiB free"
    if size < NO_DISK and settings.database_url.startswith("sqlite:"):
        return CheckResult(
            State.DOWN,
            f"the disk is full, {size // 2**10} KiB are free; gatepost doctor says what is large")
    if size < LEAST_DISK:
        return CheckResult(State.DEGRADED, f"{text}; gatepost doctor says what is large")
    return CheckResult(State.OK, text)


def free(folders: Iterable[Path]) -> int:
    """Returns the free bytes on the fullest disk of these folders. Raises OSError."""
    return min(shutil.disk_usage(folder).free for folder in folders)


def kept_backups(folder: Path) -> list[int]:
    """Lists the size in bytes of each file in the folder of backups; [] if it does not exist. Raises OSError."""
    return [file.stat().st_size for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []


def folders(settings: Settings) -> list[Path]:
    """Lists the existing folders that the instance writes to."""
    path = settings.database_url.removeprefix("sqlite:///")
    candidates = {settings.instance} if path == settings.database_url else {settings.instance, Path(path).parent}
    return [folder for folder in candidates if folder.is_dir()]


def clock(database: Database) -> CheckResult:
    """Checks that the clock is not behind the newest audit event, nor before this version. Raises `RowError`."""
    moment = datetime.now(UTC)
    if moment < BUILT:
        return CheckResult(State.DEGRADED, f"the clock says {moment:%Y-%m-%d}, before this program was written; set it")
    with database.connected():
        newest = newest_time()
    if newest is not None and (behind := elapsed(now(), newest)) > BEHIND:
        return CheckResult(
            State.DEGRADED,
            f"the clock is {behind / 60:.0f} minutes behind the newest audit event: it is "
            "wrong now, or was wrong then; sessions and limits depend on it")
    return CheckResult(State.OK, f"{moment:%Y-%m-%d %H:%M} UTC")


def jobs(backlog: Backlog) -> CheckResult:
    """Checks that some process runs the waiting jobs."""
    text = f"{backlog.waiting} waiting, {backlog.running} running, {backlog.failed} failed"
    if backlog.seconds > LONGEST_WAIT:
        return CheckResult(
            State.DEGRADED,
            f"{backlog.waiting} wait, one of them for {backlog.seconds / 3600:.0f} hours: no "
            "process runs jobs; serve with the setting run_jobs, or run gatepost worker")
    return CheckResult(State.OK, f"{text}; gatepost jobs list --state failed" if backlog.failed else text)
