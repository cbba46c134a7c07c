"""The policy folder of an instance whose rules are in the database: an export of the current policy, for reading only.

The first line of each file says so. An edit has no effect. It is reported, and kept beside the file when the next
policy is exported.
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

EDITED = ".edited"  # suffix of a file that was edited without effect
_MODE = 0o644
_MOST_NAMED = 5  # files in a message

_log = logging.getLogger("gatepost.policy")


class Export:
    """Writes the current policy to the folder `directory`, and finds files that were edited there.

    plugins  file name → the rules that a plugin's package ships
    """

    def __init__(self, directory: Path, plugins: Mapping[str, Path]) -> None:
        self._directory, self._plugins = directory, plugins
        self._texts: Mapping[str, bytes] = {}
        self._packaged: Mapping[str, bytes] = {}

    def write(self, version: str, texts: Mapping[str, bytes], packaged: Mapping[str, bytes], *, new: bool) -> None:
        """Exports a policy. Never raises, because the policy is effective even if its export fails.

        texts     the files for the folder by name, cases included
        packaged  the other files of the policy, which come from plugins
        new       true if another policy was exported before: its files are replaced, edited ones too
        """
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            for place in _places(self._directory):
                if place.name not in texts and self._makes_room(place, new):
                    place.unlink(missing_ok=True)
            for name, text in texts.items():
                place, content = self._directory / name, exported(text, version)
                present = _content(place)
                if present != content and (
                        present is None or own_text(present) == text or self._makes_room(place, new)):
                    write(place, content, _MODE)
        except OSError as error:
            _log.error("policy %s cannot be exported to %s: %s", version, self._directory, error.strerror)
        self._texts, self._packaged = texts, packaged

    @property
    def drift(self) -> str | None:
        """Sentences about files that differ from the current policy and have no effect; None if there are none."""
        return "\n".join(self._differences()) or None

    def _differences(self) -> Iterator[str]:
        present = {place.name for place in _places(self._directory)}
        # Decided by the file's first line, because another process may just have exported a newer policy.
        changed = sorted({*edited(self._directory), *(self._texts.keys() - present)})
        if changed:
            yield (f"{self._directory} was changed, without effect: {_joined(changed)}. The rules are those of the "
                   "database. To put a folder of files in force: gatepost policy apply DIR")
        different = sorted(name for name, place in self._plugins.items()
                           if name not in self._texts and self._packaged.get(name) != _content(place))
        if different:
            yield (f"the plugins of this node ship other rules than those in force ({_joined(different)}). To put "
                   f"theirs in force: gatepost policy apply {self._directory}")

    def _makes_room(self, place: Path, new: bool) -> bool:
        """True if a file may be replaced: it is as exported, or, with `new`, is renamed to keep the edit."""
        if is_as_exported(_content(place) or b""):
            return True
        if new:
            # Another process of this node may just have renamed it.
            with suppress(FileNotFoundError):
                place.replace(place.with_name(place.name + EDITED))
                _log.warning("%s was changed without effect, and is kept as %s%s", place, place.name, EDITED)
        return new


def is_policy_file(name: str) -> bool:
    """True if a file of this name belongs to a policy, or is the file of cases."""
    return name in (MODEL_FILE, CASES_FILE) or FILE_NAME.fullmatch(name) is not None


def unknown_file(name: str) -> Finding:
    """Returns a finding about a file of a stored policy that this program does not read."""
    return Finding(name, 0, "this version of Gatepost knows no policy file of this name")


def edited(directory: Path) -> list[str]:
    """Lists the names of policy files in an exported folder that were edited."""
    return [place.name for place in _places(directory) if not is_as_exported(_content(place) or b"")]


def texts_of(row: PolicyVersion) -> dict[str, bytes]:
    """Returns the files of a policy version for the policy folder: those not from plugins, and the cases."""
    texts = {name: text.encode() for name, text in row.files.items() if name not in row.packaged}
    return texts if row.cases is None else texts | {CASES_FILE: row.cases.encode()}


def packaged_of(row: PolicyVersion) -> dict[str, bytes]:
    """Returns the files of a policy version that came from plugins."""
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


def _joined(names: list[str]) -> str:
    rest = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + rest
