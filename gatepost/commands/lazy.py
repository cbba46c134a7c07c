"""Commands that are imported when they are called. `gatepost --help` and `--version` import none of them."""

from __future__ import annotations

import gc
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click

from gatepost.http.operations.garbage import collection_paused


@contextmanager
def importing(module: str) -> Iterator[None]:
    """Excludes the objects of modules imported in the block from garbage collection, if `module` is among them.

    They live as long as the process. Collecting them takes a fifth of the time of a short command.
    """
    imported_before = module in sys.modules
    with nullcontext() if imported_before else collection_paused():
        yield
        if not imported_before:
            gc.freeze()


class Deferred(click.Command):
    """A placeholder in a group for a command that is imported when it is called."""

    def load(self) -> click.Command:
        """Imports the command. Raises ClickException for one that cannot be used."""
        raise NotImplementedError

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None,
                     **extra: Any) -> click.Context:
        return self.load().make_context(info_name, args, parent, **extra)


class Lazy(Deferred):
    """One of Gatepost's own commands.

    target  its place: `module:attribute`
    help    the first sentence of its help, for lists of commands
    """

    def __init__(self, name: str, target: str, help: str) -> None:
        super().__init__(name, short_help=help)
        self.target = target

    def load(self) -> click.Command:
        with importing(self.target.partition(":")[0]):
            command: click.Command = pkgutil.resolve_name(self.target)
        return command


def loaded(command: click.Command) -> click.Command:
    """Returns the command itself, imported if it is deferred."""
    return command.load() if isinstance(command, Deferred) else command
