"""`gatepost doctor`: checks everything that the service relies on."""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import apsw
import click

from gatepost.collections.plugins.entry_points import COLLECTIONS, points_of
from gatepost.collections.registry import Registry, why_left_out
from gatepost.commands import doctor_checks as own
from gatepost.commands.context import load_settings, migrations, registry
from gatepost.commands.instance import AppFactory, database_of, lacking, services_for, settle_restore
from gatepost.commands.plugins import refuse_clashes
from gatepost.commands.printing import echo_lines
from gatepost.features import Features, Installation
from gatepost.health import checks
from gatepost.health.check_result import CheckResult, State
from gatepost.http.operations import program
from gatepost.http.operations.write_probe import WriteProbe
from gatepost.http.security.keys import Keys
from models.engine.database import Database
from models.migrate import obstacle
from models.tables.job import backlog
from models.tables.user import User
from policies.lint.warnings import warnings
from policies.loading.lost import lost
from policies.loading.outdated import UNTIL_CHANGED
from settings import Settings

Check = Callable[[], CheckResult]


@click.command()
@click.option("--nodes", is_flag=True, help="Compare the nodes that serve this database, too.")
@click.pass_obj
def doctor(create_app: AppFactory, nodes: bool) -> None:
    """Check what the service relies on.

    That is versions, permissions, owners, keys, database, plugins, migrations, policy, administrators, shares, words,
    backups, files of exports, clock and disk. It also prints sizes, and the departments and groups that no condition
    can name. It skips checks that need missing migrations.

    With --nodes it also prints the program, policy, keys and clock of each node. Exit code 1 on a finding.

    \b
    Example: gatepost doctor
    """
    settings = load_settings()
    findings = 0
    for name, check in _checks(create_app, settings, nodes=nodes):
        try:
            result = check()
        except Exception as error:
            result = CheckResult(State.DOWN, str(error))
        good = result.state is State.OK
        findings += not good
        mark = click.style("ok  ", fg="green") if good else click.style("FAIL", fg="red", bold=True)
        text = result.detail.replace("\n", f"\n{' ' * 6}")
        echo_lines(f"  {name:12} {text}", mark=mark)
    sys.exit(bool(findings))


def _checks(create_app: AppFactory, settings: Settings, *, nodes: bool) -> Iterator[tuple[str, Check]]:
    yield "versions", _versions
    yield "instance", lambda: own.instance(settings)
    # All other checks need the folder. Without it, each would repeat the same finding.
    if not settings.instance.is_dir():
        return
    yield "owners", lambda: own.owners(settings)
    settle_restore(settings)
    with database_of(settings) as database:
        yield from _of_the_database(create_app, settings, database)
        if nodes and _is_current(database):
            served = registry()
            if "nodes" in served.absent:
                raise click.ClickException(f"--nodes: {why_left_out('nodes', served.absent)}.")
            section = served.features.section("nodes", Installation(_with_plugins(served, settings), database))
            yield from (("node", partial(CheckResult, *finding)) for finding in section)
    yield "clients", lambda: checks.clients(settings, settings.host)
    yield "disk", lambda: checks.disk(settings)


def _of_the_database(create_app: AppFactory, settings: Settings, database: Database) -> Iterator[tuple[str, Check]]:
    yield "database", lambda: own.database(database)
    current = _is_current(database)
    if not current:
        # The fingerprints of the keys are in the database, which cannot be read yet.
        yield "keys", lambda: own.key_file(settings)
    table_fault = lacking(database) if current else None
    yield "plugins", lambda: _plugins(table_fault)
    # Plugins bring migrations, so a broken plugin fails here, too. The line `plugins` reported it already.
    with suppress(click.ClickException):
        directories = migrations()
        yield "migrations", lambda: checks.migrations(database, directories)
    # Without the migrations, these checks would only report missing columns.
    if current:
        yield "keys", lambda: checks.keys(database, Keys.load(settings.secret_file), settings.secret_file)
        yield "writes", lambda: checks.writes(own.probe_result(WriteProbe(database)))
        if table_fault is None:  # else the app cannot start, for the reason that `plugins` reported
            yield "policy", lambda: _policy(create_app)
        yield "tokens", lambda: own.tokens(database)
        yield "admins", lambda: own.administrators(database)
        yield "names", lambda: own.names(database)
        yield "mailboxes", lambda: own.mailboxes(database)
        yield "jobs", lambda: checks.jobs(backlog(database))
        yield "erasures", lambda: own.erasures(database)
        yield "shares", lambda: own.shares(database, registry(whole=True).collections.values())
        yield "words", lambda: own.words(settings, registry(whole=True).collections.values())
        yield from _of_features(settings, database)
    if database.files is not database:
        yield "files", lambda: own.files(database)
    yield "clock", lambda: checks.clock(database)
    if current:
        yield "sizes", lambda: own.sizes(settings, database)


def _of_features(settings: Settings, database: Database) -> Iterator[tuple[str, Check]]:
    with suppress(click.ClickException):  # the line `plugins` reported a broken plugin already
        served = registry()
        installation = Installation(_with_plugins(served, settings), database)
        yield from served.features.doctor(installation)
        yield from Features(served.absent.values()).left_out(installation)


def _with_plugins(served: Registry, settings: Settings) -> Settings:
    """Returns the settings with those of plugins; without them if these cannot be read."""
    try:
        return load_settings(served.settings)
    except click.ClickException:
        return settings


def _versions() -> CheckResult:
    return CheckResult(
        State.OK,
        f"Gatepost {program.described()}, Python {platform.python_version()}, "
        f"SQLite {apsw.sqlitelibversion()}")


def _plugins(missing: str | None) -> CheckResult:
    migrations()
    refuse_clashes()
    names = ", ".join(sorted(point.name for point in points_of(COLLECTIONS))) or "none"
    return CheckResult(State.OK, names) if missing is None else CheckResult(State.DOWN, missing)


def _is_current(database: Database) -> bool:
    """True if all migrations are applied; False also if the database or a plugin fails."""
    with suppress(Exception):
        return obstacle(database, migrations()) is None
    return False


def _policy(create_app: AppFactory) -> CheckResult:
    with _unlogged("gatepost.policy"), services_for(create_app) as services:
        policy, state = services.policy.current, services.policy.status
        if state.outdated:
            return CheckResult(
                State.DEGRADED,
                f"version {policy.version} is in use, but some of its lines are no longer "
                f"accepted. Until they are changed, {UNTIL_CHANGED}:\n{state.error}")
        if state.error is not None:
            return CheckResult(
                State.DEGRADED,
                f"version {policy.version}, the last good one, stays in use, because the "
                f"files are broken:\n{state.error}")
        if (drift := services.policy.drift) is not None:
            return CheckResult(State.DEGRADED, drift)
        with services.database.connected():
            roles = User.held_roles(services.database)
            if lost_roles := lost(policy, roles):
                return CheckResult(State.DEGRADED, own.without_role(lost_roles))
        number = len(warnings(policy, roles))
        return CheckResult(State.OK, f"version {policy.version}, {len(policy.rules)} rules, {number} warnings")


@contextmanager
def _unlogged(name: str) -> Iterator[None]:
    """Disables a logger within the block, because the finding says the same as its messages."""
    log = logging.getLogger(name)
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = False
