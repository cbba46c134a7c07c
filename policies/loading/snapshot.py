"""The last good policy, kept in one file: a restart uses it when the policy files are broken."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from ..invariants.lines import INVARIANTS_FILE
from ..syntax.text import END
from ..wording.finding import Finding
from .files import Unreadable, read_bytes, write
from .loader import LARGEST_POLICY, digest

LAST_GOOD = "policy.last-good.json"  # in the folder of the instance
LARGEST_SNAPSHOT = 4 * LARGEST_POLICY  # bytes: all policy files together, escaped
_TAKEN_AWAY = (f"the file is gone. Bring it back (`gatepost policy adopt {Path(INVARIANTS_FILE).stem}` brings the "
               f"shipped one); or, to give up its lines, write one whose only line is `{END}`")


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


def taken_away(before: Collection[str], files: Collection[str]) -> list[Finding]:
    """An error where the last good policy had invariants, and these files have none; each by the names of its files."""
    return [Finding(INVARIANTS_FILE, 0, _TAKEN_AWAY)] if INVARIANTS_FILE in before and INVARIANTS_FILE not in files \
        else []
