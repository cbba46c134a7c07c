"""`gatepost doctor`: is everything that the service relies on in order?"""

from __future__ import annotations

import logging
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path

import apsw
import click

from blueprints.commands.context import MAKE_ADMINISTRATOR, database_of, load_settings, migrations
from blueprints.commands.printing import echo_lines
from blueprints.commands.server import AppFactory, services_for
from blueprints.http.resources.registry import GROUP
from blueprints.http.security.keys import Keys
from models.migrate import missing, pending
from models.tables.job import backlog
from models.tables.service_token import ServiceToken
from models.tables.sizes import measure
from models.tables.user import User
from policies.lint.warnings import warnings
from policies.loading.lost import lost
from settings import Settings

LEAST_DISK = 200 * 2**20  # bytes below which a busy SQLite may soon be unable to write
BUILT = datetime(2026, 1, 1, tzinfo=UTC)  # a clock before this is wrong, and tokens would be too
LONGEST_WAIT = 3600  # seconds that a job may wait where some process runs jobs
LARGEST = 5  # tables that are named
MOST_USERS = 20  # that are named

Check = Callable[[Settings], str]


@click.command()
@click.pass_obj
def doctor(create_app: AppFactory) -> None:
    """Check what the service relies on.

    That is versions, permissions, keys, database, plugins, migrations, policy, administrators, clock and disk; it also
    says how large things have become. What needs missing migrations is left out. Exit code 1 on a finding.

    \b
    Example: gatepost doctor
    """
    settings = load_settings()
    findings = 0
    for name, check in _checks(create_app, settings):
        try:
            text, good = check(settings), True
        except Exception as error:
            text, good = str(error).replace("\n", f"\n{' ' * 6}"), False
        findings += not good
        mark = click.style("ok  ", fg="green") if good else click.style("FAIL", fg="red", bold=True)
        echo_lines(f"  {name:12} {text}", mark=mark)
    sys.exit(bool(findings))


def _checks(create_app: AppFactory, settings: Settings) -> Iterator[tuple[str, Check]]:
    yield "versions", lambda _: f"Python {platform.python_version()}, SQLite {apsw.sqlitelibversion()}"
    yield "instance", _instance
    # Everything else is in the instance: without one, it would be one finding said five times.
    if not settings.instance.is_dir():
        return
    yield "keys", _keys
    yield "database", _database
    yield "plugins", _plugins
    migrated = True
    # Migrations and rules are those of the plugins, too: with a broken one, each would say the same again.
    with suppress(click.ClickException):
        directories = migrations()
        migrated = not _waiting(settings, directories)
        yield "migrations", lambda settings: _migrations(settings, directories)
        if migrated:
            yield "policy", lambda _: _policy(create_app)
            yield "tokens", _tokens
    # In a database that waits for migrations, what reads its tables would only say that a column is not there.
    if migrated:
        yield "admins", _administrators
        yield "jobs", _jobs
    yield "clock", _clock
    yield "disk", _disk
    if migrated:
        yield "sizes", _sizes


def _instance(settings: Settings) -> str:
    if not settings.instance.is_dir():
        raise RuntimeError(f"there is none in {settings.instance}; gatepost init")
    mode = stat.S_IMODE(settings.instance.stat().st_mode)
    if mode & 0o077:
        raise RuntimeError(f"mode {mode:o} lets others in; chmod 700 {settings.instance}")
    return str(settings.instance)


def _keys(settings: Settings) -> str:
    generations = len(Keys.load(settings.secret_file).ring("access token"))
    return f"{generations} in {settings.secret_file.name}"


def _database(settings: Settings) -> str:
    with database_of(settings) as database:
        database.ping()
        if (damage := database.examine(10.0)) is not None:
            raise damage
        return database.dialect


def _plugins(_: Settings) -> str:
    migrations()
    return ", ".join(sorted(point.name for point in entry_points(group=GROUP))) or "none"


def _migrations(settings: Settings, directories: Mapping[str, Path]) -> str:
    with database_of(settings) as database:
        waiting = pending(database, directories)
    if waiting:
        raise RuntimeError(missing(waiting))
    return "none are missing"


def _waiting(settings: Settings, directories: Mapping[str, Path]) -> list[str]:
    """The migrations that are missing; none where the database cannot say."""
    with suppress(Exception), database_of(settings) as database:
        return pending(database, directories)
    return []


def _tokens(settings: Settings) -> str:
    with database_of(settings) as database, database.connected():
        valid, endless = ServiceToken.valid()
    return f"{valid} service tokens are valid, {endless} of them without end"


def _jobs(settings: Settings) -> str:
    with database_of(settings) as database:
        found = backlog(database)
    if found.seconds > LONGEST_WAIT:
        raise RuntimeError(f"{found.waiting} wait, one of them for {found.seconds / 3600:.0f} hours: no process runs "
                           "jobs; serve with the setting run_jobs, or run gatepost worker")
    failed = "; gatepost jobs list --state failed" if found.failed else ""
    return f"{found.waiting} waiting, {found.running} running, {found.failed} failed{failed}"


def _policy(create_app: AppFactory) -> str:
    with _unlogged("gatepost.policy"), services_for(create_app) as services:
        policy, state = services.policy.current, services.policy.status
        if state.error is not None:
            raise RuntimeError(f"version {policy.version}, the last good one, stays in use, because the files are "
                               f"broken:\n{state.error}")
        with services.database.connected():
            held = User.held_roles(services.database)
            if gone := lost(policy, held):
                raise RuntimeError(_without_role(gone))
        return f"version {policy.version}, {len(policy.rules)} rules, {len(warnings(policy, held))} warnings"


def _without_role(gone: list[str]) -> str:
    """Who may do nothing until they are given another role, or roles.csv declares theirs."""
    number, some = User.number_with_roles(gone), User.with_roles(gone, MOST_USERS)
    others = f" and {number - len(some)} others" if number > len(some) else ""
    return (f"users may do nothing, because the policy has lost their role ({', '.join(gone)}): {', '.join(some)}"
            f"{others}. Give them another one (PATCH /api/users/<id>), or declare theirs in roles.csv: "
            f"g, {gone[0]}, guest")


@contextmanager
def _unlogged(name: str) -> Iterator[None]:
    """Without what a server would log meanwhile: here it is the finding itself."""
    log = logging.getLogger(name)
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = False


def _administrators(settings: Settings) -> str:
    with database_of(settings) as database, database.connected():
        number = len(User.administrators())
    if number == 0:
        raise RuntimeError(f"no active user is an administrator. {MAKE_ADMINISTRATOR}")
    return f"{number} active" if number > 1 else "1 active; a second one could let the first in again"


def _clock(settings: Settings) -> str:
    here = datetime.now(UTC)
    if here < BUILT:
        raise RuntimeError(f"the clock says {here:%Y-%m-%d}, before this program was written")
    return f"{here.astimezone(settings.zone):%Y-%m-%d %H:%M %Z}"


def _disk(settings: Settings) -> str:
    free = shutil.disk_usage(settings.instance).free
    if free < LEAST_DISK:
        raise RuntimeError(f"{free // 2**20} MiB free")
    return f"{free // 2**20} MiB free"


def _sizes(settings: Settings) -> str:
    with database_of(settings) as database, database.connected():
        found = measure(database)
    parts = [f"database {_mebibytes(found.database)}"]
    if found.log is not None:
        parts.append(f"its log {_mebibytes(found.log)}")
    folder = settings.instance / "backups"
    backups = [file.stat().st_size for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
    parts.append(f"{len(backups)} backups {_mebibytes(sum(backups))}")
    parts += [f"{table.name} about {table.rows} rows" + ("" if table.bytes is None else f" {_mebibytes(table.bytes)}")
              for table in found.tables[:LARGEST] if table.rows or table.bytes]
    if found.since is not None:
        parts.append(f"audit since {found.since[:10]}")
    return ", ".join(parts)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
