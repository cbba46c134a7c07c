"""`gatepost plugin …`: begin a plugin, and see what the installed ones bring."""

from __future__ import annotations

import click

from blueprints.commands.plugin.listing import list_command
from blueprints.commands.plugin.new import new_command
from blueprints.commands.printing import Group


@click.group(cls=Group)
def plugin() -> None:
    """Begin a plugin, and list those that are installed."""


for _command in (new_command, list_command):
    plugin.add_command(_command)
