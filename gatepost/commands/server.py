"""The commands `init`, `serve` and `openapi`: create, run and describe an instance."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from socket import socket
from typing import TextIO

import click
from flask import Flask, request

from gatepost.collections.plugins.leaving_out import to_begin_with
from gatepost.commands.context import address, load_settings, password_file, registry, show_path
from gatepost.commands.install import OtherRules, Outcome, install
from gatepost.commands.instance import AppFactory, app_for, database_of, open_instance, read_password
from gatepost.commands.plugins import refuse_clashes
from gatepost.commands.printing import echo, echo_json, echo_lines
from gatepost.features import FeatureError
from gatepost.health import checks
from gatepost.health.check_result import State
from gatepost.http.operations import affinity, logs, metrics
from gatepost.http.request.call import Services
from gatepost.http.request.urls import url_of
from gatepost.http.security.keys import KeyFileError
from gatepost.http.security.known_keys import LOST
from gatepost.http.security.passwords import CannotHash
from gatepost.servers.activation import HeldSocketError, held_sockets
from gatepost.servers.notify import Notifier
from gatepost.servers.waitress.server import serve as serve_waitress
from models.engine.errors import RowError
from policies.loading.rule_sets import RULE_SETS
from settings import SettingError, Settings
from settings.supervisor import take_supervisor

_OPENAPI = {"3.1": "3.1.0", "3.0": "3.0.3"}


@click.command()
@click.option("--demo/--no-demo", default=True, help="Add example users, articles and a shop.")
@click.option("--admin-email", default="admin@example.org", show_default=True, metavar="E",
              help="The administrator's address.")
@password_file("--admin-password-file")
@click.option("--rules", type=click.Choice(RULE_SETS),
              help="The rules to begin with: `full` has nine roles and is the default, `small` has six.")
@click.option("--new-key", is_flag=True, help=f"Continue with other keys than those of the database: {LOST}.")
def init(demo: bool, admin_email: str, admin_password_file: TextIO | None, rules: str | None, new_key: bool) -> None:
    """Create an instance, unless there is one.

    It has secrets, policies, a database and an administrator, whose password is shown once. A second run completes
    an interrupted one.

    \b
    Example: gatepost init --no-demo --admin-email me@example.org --admin-password-file -
    """
    settings = load_settings()
    admin_email = address(admin_email)
    password = read_password(admin_password_file, admin_email) if admin_password_file else None
    installed = registry()
    with database_of(settings) as database:
        try:
            outcome = install(load_settings(installed.settings), database, installed, email=admin_email,
                              password=password, demo=demo, new_key=new_key, rules=rules)
            with database.connected():
                if (fault := database.locale_fault()) is not None:
                    echo(f"Warning: the database works, but {fault}.", err=True)
        except (KeyFileError, OtherRules) as error:
            raise click.ClickException(str(error)) from error
        except (OSError, RowError, CannotHash, FeatureError) as error:
            why = f"the password cannot be hashed: {error}" if isinstance(error, CannotHash) else error
            raise click.ClickException(
                f"The instance in {settings.instance} is not complete: {why}\n"
                "What was made stays; run `gatepost init` again to go on."
            ) from error
    _report(settings, outcome)


def _report(settings: Settings, outcome: Outcome) -> None:
    where = show_path(settings.instance)
    if not outcome.done:
        echo(f"There is an instance in {where}/ already; nothing was changed.")
        echo("A forgotten password: gatepost user password EMAIL")
        return
    echo(f"Made in {where}/: {', '.join(outcome.done)}.")
    if outcome.email is None:
        echo("The database was there already; its accounts are as they were.")
        return
    url, first = settings.url, to_begin_with(settings.without)
    shown = outcome.password or "the one that you gave"
    pages = "".join(f"  {name:13}  {url}{path}\n" for feature, name, path in (
        ("public", "Documentation", "/docs"), ("health", "Health", "/api/health")) if feature not in settings.without)
    console = f"  Console        {url}/console\n" if _has_console(settings) else ""
    body = json.dumps({"email": outcome.email, "password": outcome.password or "YOUR-PASSWORD"})
    echo_lines(f"""
{console}  API            {url}/api/{first}
{pages}
  Administrator  {outcome.email}
  Password       {shown}{"   (shown only now)" if outcome.password else ""}

Once it is served, {"log in to the console in a browser, or " if console else ""}paste in another terminal:

  curl {url}/api/{first}
  TOKEN=$(curl -s {url}/api/login -H 'Content-Type: application/json' -d '{body}' | sed 's/.*"access_token": *"\\([^"]*\\)".*/\\1/')
  curl -H "Authorization: Bearer $TOKEN" {url}/api/profile
""")  # noqa: E501


@click.command()
@click.option("--host", metavar="H", help="Address to listen on.")
@click.option("--port", metavar="P", help="Port to listen on; 0 chooses a free one.")
@click.option("--threads", metavar="N", help="Requests that one process handles at a time.")
@click.option("--workers", metavar="N", help="Processes of granian (extra `fast`); without it, one of waitress.")
@click.pass_obj
def serve(create_app: AppFactory, /, **options: str | None) -> None:
    """Serve until SIGTERM or Ctrl-C.

    It then finishes current requests. Changed policy files are loaded while it runs. SIGHUP loads them at once, and
    also settings.toml: `gatepost settings` marks the settings that take effect without a restart.

    If systemd passes sockets, they replace --host and --port.

    \b
    Example: gatepost serve --host 0.0.0.0 --port 8080 --workers 4
    """
    settings = load_settings(**options)
    refuse_clashes()
    place = _place(settings)
    with open_instance() as instance:
        instance.tenant()
    logs.configure(settings.log_level)
    if settings.trusted_proxies and place.host not in checks.LOOPBACK:
        echo(f"The setting trusted_proxies is {settings.trusted_proxies}: a client that reaches {place.host} "
             "past the proxies can claim any address.", err=True)
    serve_with = _several_processes if settings.workers else _one_process
    try:
        serve_with(lambda: _lasting(app_for(create_app, serves=True, **options)), settings, place)
    except OSError as error:
        address = f"{place.host}:{place.port}"
        raise click.ClickException(f"Cannot listen on {address}: {error.strerror}. --host and --port, or "
                                   "GATEPOST_HOST and GATEPOST_PORT, choose another address.") from error


@dataclass(frozen=True)
class _Place:
    """The address of the service and its supervisor; `held` are the supervisor's sockets.

    console  True if the console is served
    """

    host: str
    port: int
    notifier: Notifier
    console: bool
    held: list[socket] = field(default_factory=list)

    def announce(self, host: str, port: int) -> None:
        """Prints the URL, and tells the supervisor that requests are answered now."""
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        held = "; the supervisor holds the socket, the settings host and port do not count" if self.held else ""
        if self.console:
            echo(f"Console: {url}/console")
        echo(f"Serving on {url} (Ctrl-C stops{held})")
        self.notifier.ready(url)


def _place(settings: Settings) -> _Place:
    try:
        supervisor = take_supervisor()
        held = held_sockets(supervisor.sockets, settings.workers) if supervisor.sockets else []
    except (SettingError, HeldSocketError) as error:
        raise click.ClickException(str(error)) from error
    host, port = held[0].getsockname()[:2] if held else (settings.host, settings.port)
    return _Place(host, port, Notifier(supervisor.notify, supervisor.watchdog), _has_console(settings), held)


def _has_console(settings: Settings) -> bool:
    return settings.console and "console" not in settings.without


def _lasting(app: Flask) -> Flask:
    """Excludes the objects of the app from garbage collection: a hundred thousand that live as long as the process.

    A full collection of them takes 60 ms and stops every thread.
    """
    gc.collect()
    gc.freeze()
    return app


def reload_on_hangup(services: Services) -> None:
    """Rereads settings.toml and the policy files on SIGHUP. Call it in the main thread."""
    _follow_log_level(services)
    signal.signal(signal.SIGHUP, lambda number, frame: _look_soon(services))


def _look_soon(services: Services) -> None:
    services.live.look_soon()
    services.policy.look_soon()


def _follow_log_level(services: Services) -> None:
    services.live.followers.append(lambda settings: logs.set_level(settings.log_level))


def _one_process(make_app: Callable[[], Flask], settings: Settings, place: _Place) -> None:
    app = make_app()
    services: Services = app.extensions["gatepost"]
    reload_on_hangup(services)
    try:
        if settings.one_core:
            affinity.keep(os.getpid())
        services.ensure_running()
        serve_waitress(app, host=place.host, port=place.port, threads=services.threads,
                       body_limit=settings.body_limit, import_limit=settings.import_limit,
                       trusted_proxies=settings.trusted_proxies, drain_timeout=settings.drain_timeout,
                       ready=place.announce, held=place.held, notifier=place.notifier)
    finally:
        services.stop()
        affinity.roam()


def _several_processes(make_app: Callable[[], Flask], settings: Settings, place: _Place) -> None:
    try:
        from gatepost.servers.granian.server import serve as serve_granian
    except ImportError:
        raise click.ClickException("--workers needs granian. Run: pip install granian") from None
    if (check := checks.clients(settings, place.host)).state is not State.OK:
        echo(f"Warning: {check.detail}.", err=True)
    if metrics.are_served(settings):
        metrics.share_between_processes(settings.instance / "metrics")
    app = make_app()
    services: Services = app.extensions["gatepost"]
    services.stop()
    _follow_log_level(services)

    def ready(host: str, port: int) -> None:
        # A worker that replaces another inherits the current settings of this process.
        services.live.start()
        place.announce(host, port)

    def begin() -> None:
        # A replacement worker may start days after the app was made. Changed files are loaded when two polls in a row
        # see the same content.
        services.policy.poll()
        services.policy.poll()
        services.ensure_running()

    serve_granian(app, begin=begin, end=services.stop, host=place.host, port=place.port,
                  workers=settings.workers, threads=services.threads, drain_timeout=settings.drain_timeout,
                  one_core=settings.one_core, ready=ready,
                  reload=lambda: _look_soon(services), held=place.held, notifier=place.notifier)


@click.command()
@click.option("--openapi-version", type=click.Choice(list(_OPENAPI)), default="3.1", show_default=True,
              help="Version of OpenAPI; 3.0 is for tools that do not read 3.1.")
@click.pass_obj
def openapi(create_app: AppFactory, openapi_version: str) -> None:
    """Print the OpenAPI description of the API.

    \b
    Example: gatepost openapi > openapi.json
    """
    from gatepost.http.openapi.document import Served, document  # with flask-smorest, which no other command needs

    app = app_for(create_app)
    services: Services = app.extensions["gatepost"]
    try:
        with app.test_request_context():
            text = document(services.registry, _OPENAPI[openapi_version],
                            Served.by(services, request), url_of(services.settings, request))
    finally:
        services.stop()
    echo_json(json.loads(text), indent=2)
