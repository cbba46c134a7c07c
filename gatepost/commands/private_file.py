"""Private output files: mode 0600, written as a whole or not at all, replacing no file unless requested."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from gatepost.commands.context import load_settings
from gatepost.instance.leftovers import noted
from system.files import fresh_file

overwrite_option = click.option("--overwrite", is_flag=True, help="Replace an existing file.")


@contextmanager
def private_file(place: Path, *, overwrite: bool | None = None) -> Iterator[BinaryIO]:
    """Opens a file that appears at `place` with mode 0600 when the block ends without an error.

    Raises ClickException if it cannot be written, and if `place` exists: always for a link or device, for a regular
    file unless `overwrite`. `overwrite` is None if the command has no such option.
    """
    _refuse_others(place, overwrite)
    try:
        with noted(load_settings().instance, place.parent) as path, fresh_file(place, path=path) as fresh:
            yield fresh.file
            # Another program may have created a file there in the meantime.
            _refuse_others(place, overwrite)
            if overwrite:
                fresh.replace()
            else:
                fresh.link()
    except OSError as error:
        raise click.ClickException(f"{place} cannot be written: {error.strerror or error}.") from error


def _refuse_others(place: Path, overwrite: bool | None) -> None:
    try:
        mode = place.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(mode):
        raise click.ClickException(f"{place} is a link or no regular file; - writes to standard output.")
    if not overwrite:
        how = "name another one." if overwrite is None else "--overwrite replaces it."
        raise click.ClickException(f"{place} is there already; {how}")
