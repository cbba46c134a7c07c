"""The `gatepost` command. Its script imports this module, so that a foreign `app` or `gatepost` is reported first."""

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
    Lazy("init", "gatepost.commands.server:init", "Create an instance, unless there is one."),
    Lazy("serve", "gatepost.commands.server:serve", "Serve until SIGTERM or Ctrl-C."),
    Lazy("keys", "gatepost.commands.keys:keys", "List the generations of keys, and rotate them."),
    Lazy("migrate", "gatepost.commands.migrate:migrate", "Bring the database up to date, after a backup."),
    Lazy("move", "gatepost.commands.move:move", "Move all rows from SQLite to an empty Postgres database."),
    Lazy("compact", "gatepost.commands.compact:compact",
         "Free the space of deleted rows, and repair indexes of words."),
    Lazy("plugin", "gatepost.commands.plugin.group:plugin", "Create a plugin, and list the installed ones."),
    Lazy("doctor", "gatepost.commands.doctor:doctor", "Check what the service relies on."),
    Lazy("openapi", "gatepost.commands.server:openapi", "Print the OpenAPI description of the API."),
    Lazy("settings", "gatepost.commands.settings:settings", "Show every setting, its value and its meaning."),
]


def _create_app(*arguments: Any, **options: Any) -> Flask:
    with importing("app"):
        from app import create_app  # takes longer to import than most commands take
    return create_app(*arguments, **options)


def _show_version(context: click.Context, _option: click.Parameter, shown: bool) -> None:
    if shown:
        click.echo(f"gatepost, version {program.version()}, {program.build()}")
        context.exit()


cli = click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
                   help="Show the version and the commit or build, and exit.")(
    Commands("gatepost", commands=COMMANDS, callback=owners.watch, context_settings={"obj": _create_app},
             help="A self-hosted JSON API whose access rules you can read."))
