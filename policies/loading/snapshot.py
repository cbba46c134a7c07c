"""The last good policy, kept in one file: a restart uses it when the policy files are broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ..syntax.files import Unreadable, read_bytes, write
from .loader import LARGEST_POLICY, digest

LARGEST_SNAPSHOT = 4 * LARGEST_POLICY  # bytes: all policy files together, escaped


def keep(place: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a good policy to `place`, all or nothing. Raises OSError."""
    text = json.dumps(
        {"version": digest(files), "files": {name: content.decode() for name, content in sorted(files.items())}}
    )
    write(place, text.encode())


def kept(place: Path) -> dict[str, bytes] | None:
    """The files that were kept; None when there are none or they are not what was written."""
    try:
        found = json.loads(read_bytes(place, LARGEST_SNAPSHOT))
        files = {name: content.encode() for name, content in found["files"].items()}
        return files if digest(files) == found["version"] else None
    except (Unreadable, ValueError, KeyError, TypeError, AttributeError):
        return None
