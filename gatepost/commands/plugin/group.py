"""`gatepost plugin …`: begins a plugin, and lists the installed ones with their contents."""

from __future__ import annotations

import click

from gatepost.commands.lazy import Lazy
from gatepost.commands.printing import Group


@click.group(cls=Group)
def plugin() -> None:
    """Begin a plugin, and list those that are installed."""


for _command in (
    Lazy("new", "gatepost.commands.plugin.new:new_command", "Write a plugin that works, to be changed."),
    Lazy("list", "gatepost.commands.plugin.listing:list_command", "List what is installed, and what each brings."),
):
    plugin.add_command(_command)
