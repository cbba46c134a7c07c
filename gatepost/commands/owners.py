"""What a command makes that root runs belongs to the owner of the instance, who serves it."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

import click

from gatepost.collections.plugins.entry_points import not_imported
from settings import SettingError, Settings

_GRANULARITY = 1.0  # seconds by which a file system may date a change too early


def watch() -> None:
    """The callback of the command line: once the command has ended, however it did, hand over what it has made."""
    if os.geteuid() == 0:
        began = time.time() - _GRANULARITY
        click.get_current_context().call_on_close(lambda: _hand_over_all(began))


def _hand_over_all(began: float) -> None:
    with suppress(SettingError):
        settings = Settings.load(plugins=not_imported())
        for folder in (settings.instance, settings.backups):
            with suppress(OSError):  # the one may be there without the other
                _hand_over(folder, began)


def _hand_over(folder: Path, began: float) -> None:
    """Give what root has made below a folder since then to the folder's owner.

    By open folders and without following links: the owner of the folder must not be able to have other files handed
    over. For the same reason a file with a second name stays root's.
    """
    owner = folder.stat()
    if owner.st_uid == 0:
        return
    for _, folders, files, place in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=place, follow_symlinks=False)
                single = stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
                if found.st_uid == 0 and found.st_ctime >= began and single:
                    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)
