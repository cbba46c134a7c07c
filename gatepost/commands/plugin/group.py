"""`gatepost plugin …`: begins a plugin, and lists the installed ones with their contents."""

from __future__ import annotations

import click

from gatepost.commands.lazy import Lazy
from gatepost.commands.printing import Group


@click.group(cls=Group)
def plugin() -> None:
    """Create a plugin, and list the installed ones."""


for _command in (
    Lazy("new", "gatepost.commands.plugin.new:new_command", "Create a working plugin as a start for yours."),
    Lazy("list", "gatepost.commands.plugin.listing:list_command", "List the installed plugins and their contents."),
):
    plugin.add_command(_command)
