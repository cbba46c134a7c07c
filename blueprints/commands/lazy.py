"""Commands that are imported when they are called, so that `gatepost --help` and `--version` import none of them."""

from __future__ import annotations

import pkgutil
from typing import Any

import click


class Deferred(click.Command):
    """Stands in a group for a command that is imported when it is called."""

    def load(self) -> click.Command:
        """Import the command. Raises ClickException with a sentence for one that cannot be used."""
        raise NotImplementedError

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None,
                     **extra: Any) -> click.Context:
        return self.load().make_context(info_name, args, parent, **extra)


class Lazy(Deferred):
    """One of Gatepost's own commands.

    target  where it is: `module:attribute`
    help    what a list of commands says of it: the first sentence of its help
    """

    def __init__(self, name: str, target: str, help: str) -> None:
        super().__init__(name, short_help=help)
        self.target = target

    def load(self) -> click.Command:
        command: click.Command = pkgutil.resolve_name(self.target)
        return command


def loaded(command: click.Command) -> click.Command:
    """The command itself, imported if it is deferred."""
    return command.load() if isinstance(command, Deferred) else command
