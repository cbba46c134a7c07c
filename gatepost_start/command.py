"""The `gatepost` command. Its script imports this module: a foreign `app` or `gatepost` is told of, not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gatepost.commands import owners
from gatepost.commands.lazy import Lazy, importing
from gatepost.commands.plugins import Commands
from gatepost.http.operations import program

if TYPE_CHECKING:
    from flask import Flask

COMMANDS: list[click.Command] = [
    Lazy("init", "gatepost.commands.server:init", "Make an instance, unless there is one."),
    Lazy("serve", "gatepost.commands.server:serve", "Serve until SIGTERM or Ctrl-C."),
    Lazy("worker", "blueprints.jobs.worker:worker", "Run jobs until SIGTERM or Ctrl-C, and serve nothing."),
    Lazy("demo", "blueprints.demo.commands:demo", "Add N invented articles to the default tenant."),
    Lazy("import", "blueprints.transfer.commands:import_", "Make or change rows of COLLECTION from FILE."),
    Lazy("export", "blueprints.transfer.commands:export", "Write the rows of COLLECTION to FILE, as NDJSON or CSV."),
    Lazy("user", "blueprints.sessions.commands.accounts:user",
         "Add users, set passwords, disable and enable accounts."),
    Lazy("tenant", "blueprints.sessions.commands.accounts:tenant",
         "Add tenants: groups of users who do not see one another's rows."),
    Lazy("token", "blueprints.sessions.commands.tokens:token", "Give programs tokens that act for a user."),
    Lazy("jobs", "blueprints.jobs.commands:jobs", "Look at jobs, cancel them, and try them again."),
    Lazy("policy", "blueprints.policy.commands.group:policy", "Check, explain, test and compare the access rules."),
    Lazy("keys", "gatepost.commands.keys:keys", "List the generations of keys, and rotate them."),
    Lazy("audit", "blueprints.audit.commands:audit", "Show the audit trail, export it, verify it."),
    Lazy("migrate", "gatepost.commands.migrate:migrate", "Bring the database up to date, after a backup."),
    Lazy("backup", "blueprints.backups.commands:backup", "Write the instance to one file, while it serves."),
    Lazy("restore", "blueprints.backups.commands:restore_",
         "Make an instance of a backup, or prove that it can be done."),
    Lazy("move", "gatepost.commands.move:move", "Move all rows from SQLite to an empty Postgres database."),
    Lazy("compact", "gatepost.commands.compact:compact",
         "Give back room that deleted rows have left, and index words anew."),
    Lazy("plugin", "gatepost.commands.plugin.group:plugin", "Begin a plugin, and list those that are installed."),
    Lazy("doctor", "gatepost.commands.doctor:doctor", "Check what the service relies on."),
    Lazy("openapi", "gatepost.commands.server:openapi", "Print the OpenAPI description of the API."),
    Lazy("settings", "gatepost.commands.settings:settings", "Show every setting, its value and its meaning."),
]


def _create_app(*arguments: Any, **options: Any) -> Flask:
    with importing("app"):
        from app import create_app  # takes longer to import than most commands take
    return create_app(*arguments, **options)


def _show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"gatepost, version {program.version()}, {program.build()}")
        context.exit()


cli = click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
                   help="Show the version and the commit or build, and exit.")(
    Commands("gatepost", commands=COMMANDS, callback=owners.watch, context_settings={"obj": _create_app},
             help="A self-hosted JSON API whose access rules you can read."))
