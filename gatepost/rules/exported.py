"""The policy folder of an instance whose rules are in the database: an export of what is in force, for people to read.

Each file says so in its first line. An edit acts on nothing: it is named, and kept beside the file when the next policy
is exported.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from models.tables.policy_version import PolicyVersion
from policies import Finding
from policies.loading.files import Unreadable, exported, is_as_exported, own_text, read_bytes
from policies.loading.loader import CASES_FILE, FILE_NAME
from policies.syntax.model import MODEL_FILE
from system.files import write

EDITED = ".edited"  # behind the name of a file that was edited without effect
_MODE = 0o644
_MOST_NAMED = 5  # files

_log = logging.getLogger("gatepost.policy")


class Export:
    """Writes what is in force into the folder `directory`, and finds what was edited there.

    plugins  file name → the rules that a plugin's package ships
    """

    def __init__(self, directory: Path, plugins: Mapping[str, Path]) -> None:
        self._directory, self._plugins = directory, plugins
        self._texts: Mapping[str, bytes] = {}
        self._packaged: Mapping[str, bytes] = {}

    def write(self, version: str, texts: Mapping[str, bytes], packaged: Mapping[str, bytes], *, new: bool) -> None:
        """Export a policy. Never raises: it acts, whatever becomes of its export.

        texts     what the folder is to hold: the files by name, and the cases
        packaged  the other files of the policy, which came with plugins
        new       another policy was exported before: then its files make room, also those that were edited
        """
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            for place in _places(self._directory):
                if place.name not in texts and self._makes_room(place, new):
                    place.unlink(missing_ok=True)
            for name, text in texts.items():
                place, content = self._directory / name, exported(text, version)
                found = _content(place)
                if found != content and (found is None or own_text(found) == text or self._makes_room(place, new)):
                    write(place, content, _MODE)
        except OSError as error:
            _log.error("policy %s cannot be exported to %s: %s", version, self._directory, error.strerror)
        self._texts, self._packaged = texts, packaged

    @property
    def drift(self) -> str | None:
        """What differs from the policy in force and has no effect, as sentences; None: nothing does."""
        return "\n".join(self._differences()) or None

    def _differences(self) -> Iterator[str]:
        found = {place.name for place in _places(self._directory)}
        # By what each file says of itself: what another process has exported a moment ago is no edit.
        changed = sorted({*edited(self._directory), *(self._texts.keys() - found)})
        if changed:
            yield (f"{self._directory} was changed, without effect: {_named(changed)}. The rules are those of the "
                   "database. To put a folder of files in force: gatepost policy apply DIR")
        strange = sorted(name for name, place in self._plugins.items()
                         if name not in self._texts and self._packaged.get(name) != _content(place))
        if strange:
            yield (f"the plugins of this node ship other rules than those in force ({_named(strange)}). To put theirs "
                   f"in force: gatepost policy apply {self._directory}")

    def _makes_room(self, place: Path, new: bool) -> bool:
        """Whether a file may be replaced: it is as it was exported, or is kept beside its place."""
        if is_as_exported(_content(place) or b""):
            return True
        if new:
            # Another process of this node may have moved it a moment ago.
            with suppress(FileNotFoundError):
                place.replace(place.with_name(place.name + EDITED))
                _log.warning("%s was changed without effect, and is kept as %s%s", place, place.name, EDITED)
        return new


def is_policy_file(name: str) -> bool:
    """Whether a file of this name is one of a policy, or the cases."""
    return name in (MODEL_FILE, CASES_FILE) or FILE_NAME.fullmatch(name) is not None


def unknown_file(name: str) -> Finding:
    """Says that a stored policy has a file that this program does not read: what it says would be left out."""
    return Finding(name, 0, "this version of Gatepost knows no policy file of this name")


def edited(directory: Path) -> list[str]:
    """The names of the policy files of an exported folder that are not as they were exported."""
    return [place.name for place in _places(directory) if not is_as_exported(_content(place) or b"")]


def texts_of(row: PolicyVersion) -> dict[str, bytes]:
    """What the policy folder holds for a row of the ledger: its files without those of plugins, and its cases."""
    texts = {name: text.encode() for name, text in row.files.items() if name not in row.packaged}
    return texts if row.cases is None else texts | {CASES_FILE: row.cases.encode()}


def packaged_of(row: PolicyVersion) -> dict[str, bytes]:
    """Its other files: those that came with plugins."""
    return {name: text.encode() for name, text in row.files.items() if name in row.packaged}


def _places(directory: Path) -> list[Path]:
    try:
        return sorted(place for place in directory.iterdir() if is_policy_file(place.name))
    except OSError:
        return []


def _content(place: Path) -> bytes | None:
    with suppress(Unreadable):
        return read_bytes(place)
    return None


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
