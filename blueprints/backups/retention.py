"""Retention of backups.

Of scheduled backups, the newest of each of seven days, four weeks and twelve months are kept. Of those before a
migration, before a restore, and after a rotation of keys, the newest five are kept. Other files are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

DAYS, WEEKS, MONTHS = 7, 4, 12
SAFETY = 5  # backups of one other kind, such as those before a migration
SCHEDULED, BEFORE_MIGRATION, BEFORE_RESTORE = "gatepost", "before-migration", "before-restore"
AFTER_ROTATION = "after-rotation"
_KINDS = (SCHEDULED, BEFORE_MIGRATION, BEFORE_RESTORE, AFTER_ROTATION)
_NAME = re.compile(rf"({'|'.join(_KINDS)})-(\d{{8}}T\d{{6}}Z)\.tar\.gz(\.age)?")

_PERIODS: tuple[tuple[int, Callable[[datetime], str]], ...] = (
    (DAYS, lambda made: made.strftime("%Y-%m-%d")), (WEEKS, lambda made: made.strftime("%G-%V")),
    (MONTHS, lambda made: made.strftime("%Y-%m")))


def newest(folder: Path) -> Path | None:
    """Returns the newest backup of any kind in a folder; None if there is none, or the folder cannot be read."""
    try:
        times = {file: match[2] for file in folder.iterdir() if (match := _NAME.fullmatch(file.name))}
    except OSError:
        return None
    return max(times, key=times.__getitem__, default=None)


def remove_old(folder: Path) -> list[Path]:
    """Removes the backups in a folder that are no longer kept, and returns them. Raises OSError."""
    if not folder.is_dir():
        return []
    kinds: dict[str, dict[Path, datetime]] = {}
    for file in folder.iterdir():
        if (match := _NAME.fullmatch(file.name)) and file.is_file() and not file.is_symlink():
            time = datetime.strptime(match[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            kinds.setdefault(match[1], {})[file] = time
    removed = []
    for kind, files in kinds.items():
        kept_files = _scheduled(files) if kind == SCHEDULED else set(_newest_first(files)[:SAFETY])
        for file in sorted(files.keys() - kept_files):
            file.unlink()
            removed.append(file)
    return removed


def _scheduled(files: dict[Path, datetime]) -> set[Path]:
    kept_files = set()
    for most, period in _PERIODS:
        newest: dict[str, Path] = {}
        for file in _newest_first(files):
            newest.setdefault(period(files[file]), file)
        kept_files.update(list(newest.values())[:most])
    return kept_files


def _newest_first(files: dict[Path, datetime]) -> list[Path]:
    return sorted(files, key=lambda file: (files[file], file.name), reverse=True)
