"""The last good policy, kept in one file: a restart uses it when the policy files are broken.

It also lists the files: a missing rule file is a broken edit, unless the policy is the same without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from system.files import write

from ..evaluation.policy import Policy
from ..invariants.lines import INVARIANTS_FILE
from ..syntax.text import END
from ..wording.finding import Finding
from .files import Unreadable, read_bytes
from .loader import LARGEST_POLICY, digest

LAST_GOOD = "policy.last-good.json"  # in the folder of the instance
LARGEST_SNAPSHOT = 4 * LARGEST_POLICY  # bytes: all policy files together, escaped
Stamp = tuple[int, int, int]
Alike = Callable[[Policy, Policy], bool]

_ACCEPT = "accept the files as they are: gatepost policy accept"
_TAKEN_AWAY = (f"the file is gone. Bring it back (`gatepost policy adopt {Path(INVARIANTS_FILE).stem}` brings the "
               f"shipped one); or, to give up its invariants, write one whose only line is `{END}`")
_GONE = f"the file is gone, and without it, some users would be allowed more or less. Bring it back, or {_ACCEPT}"


@dataclass(frozen=True)
class LastGood:
    """The files of the last good policy, by name.

    packaged  names of those that came with a plugin's package
    absent    names of files that a service requires, and whose loss an operator has accepted
    """

    files: Mapping[str, bytes]
    packaged: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    @cached_property
    def version(self) -> str:
        return digest(self.files)


def keep(place: Path, last: LastGood) -> None:
    """Write the files of a good policy to `place`, all or nothing. Raises OSError."""
    files = {name: content.decode() for name, content in sorted(last.files.items())}
    write(place, json.dumps({"version": last.version, "files": files, "packaged": sorted(last.packaged),
                             "absent": sorted(last.absent)}).encode())


def kept(place: Path) -> LastGood | None:
    """The policy that was kept; None if there is none, or if its file was changed."""
    try:
        stored = json.loads(read_bytes(place, LARGEST_SNAPSHOT))
        files = {name: content.encode() for name, content in stored["files"].items()}
        last = LastGood(files, frozenset(stored.get("packaged", ())), frozenset(stored.get("absent", ())))
        return last if last.version == stored["version"] else None
    except (Unreadable, ValueError, KeyError, TypeError, AttributeError):
        return None


def stamp(place: Path) -> Stamp | None:
    """A stamp that differs once another policy is kept; None without a policy."""
    try:
        status = os.stat(place)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def gone(last: LastGood, policy: Policy, packaged: Collection[str], alike: Callable[[], bool]) -> list[Finding]:
    """An error for each rule file of the last good policy that a new one lacks.

    `packaged` are the files that the new one has from packages of plugins. `alike` says whether both answer every
    request alike: then it is no error, but for invariants.csv. Nor where the new policy is the last good one: an
    operator has accepted it.
    """
    if policy.version == last.version:
        return []
    if INVARIANTS_FILE in last.files and INVARIANTS_FILE not in policy.files:
        return [Finding(INVARIANTS_FILE, 0, _TAKEN_AWAY)]
    missing = [name for name in sorted(last.files) if name.endswith(".csv") and name not in last.packaged
               and (name not in policy.files or name in packaged)]
    return [Finding(name, 0, _GONE) for name in missing] if missing and not alike() else []
