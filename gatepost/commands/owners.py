"""Ownership of files: files that a command of root creates are given to the instance's owner, who runs the service."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

import click

from gatepost.collections.plugins.entry_points import not_imported
from settings import SettingError, Settings

_GRANULARITY = 1.0  # seconds; a file system may date a change that much too early


def watch() -> None:
    """Gives new files to the owner when the command ends, if root runs it. The callback of the command line."""
    if os.geteuid() == 0:
        began = time.time() - _GRANULARITY
        click.get_current_context().call_on_close(lambda: _hand_over_all(began))


def _hand_over_all(began: float) -> None:
    with suppress(SettingError):
        settings = Settings.load(plugins=not_imported())
        for folder in (settings.instance, settings.backups):
            with suppress(OSError):  # one of the folders may be missing
                _hand_over(folder, began)


def _hand_over(folder: Path, began: float) -> None:
    """Gives files that root created in a folder since `began` (seconds since the epoch) to the folder's owner.

    The owner must not get other files of root. So the walk uses open folders, follows no links, and skips files with
    several hard links.
    """
    owner = folder.stat()
    if owner.st_uid == 0:
        return
    for _, folders, files, place in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=place, follow_symlinks=False)
                single = stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
                if status.st_uid == 0 and status.st_ctime >= began and single:
                    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)
