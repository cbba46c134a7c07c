"""Commands that are imported when they are called, so that `gatepost --help` and `--version` import none of them."""

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
    """Leave what is imported here with a module out of garbage collection: it is used as long as the process lives, and
    to go through it several times, and once more at the end, is a fifth of what a short command takes."""
    imported_before = module in sys.modules
    with nullcontext() if imported_before else collection_paused():
        yield
        if not imported_before:
            gc.freeze()


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
        with importing(self.target.partition(":")[0]):
            command: click.Command = pkgutil.resolve_name(self.target)
        return command


def loaded(command: click.Command) -> click.Command:
    """The command itself, imported if it is deferred."""
    return command.load() if isinstance(command, Deferred) else command
