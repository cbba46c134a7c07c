"""The `gatepost` command. Its script imports this module: a foreign `app` or `gatepost` is told of, not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from blueprints.commands import commands, owners
from blueprints.commands.lazy import importing
from blueprints.commands.plugins import Commands
from gatepost.http.operations import program

if TYPE_CHECKING:
    from flask import Flask


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
    Commands("gatepost", commands=commands, callback=owners.watch, context_settings={"obj": _create_app},
             help="A self-hosted JSON API whose access rules you can read."))
