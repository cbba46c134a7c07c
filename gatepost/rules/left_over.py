"""Permissions of removed plugins: those in the policy history whose resource is no longer installed.

A policy in the history was valid, so each permission in its rules existed. Rules about a permission of a removed plugin
grant nothing. They cause only a warning, because they are not a typing error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from models.engine.database import Database
from models.migrate import histories
from models.tables import policy_version
from policies import Vocabulary
from policies.syntax.text import decoded, meaningful
from policies.syntax.vocabulary import Patterns

_MOST = 500  # policy versions to read


class Known(Protocol):
    """The installed collections and plugins. `Registry` implements it."""

    @property
    def migrations(self) -> Mapping[str, Path]: ...
    @property
    def vocabulary(self) -> Vocabulary: ...


def left_over(database: Database, installed: Known) -> Mapping[str, str]:
    """Returns permission → why it no longer exists, for `Vocabulary.gone`.

    Reads the newest policy version, and rules of plugins in older ones. The database must be connected and migrated.
    Raises `RowError`.
    """
    patterns = Patterns(installed.vocabulary)
    permissions = sorted({
        act for text in _texts() for act in _permissions(text)
        if act.partition(".")[0] not in installed.vocabulary.resources
        and "*" not in act.partition(".")[0] and not patterns.covered(act) and not patterns.left_out(act)})
    plugins = sorted(histories(database) - installed.migrations.keys())
    return dict.fromkeys(permissions, _why(plugins)) if permissions else {}


def _texts() -> Iterator[str]:
    """Yields the files that may name a permission of a plugin, each once."""
    newest = policy_version.newest()
    if newest is None:
        return
    yield from newest.files.values()
    names = {*newest.files}
    for seq, packaged in policy_version.packaged(_MOST):
        if not names.issuperset(packaged) and (row := policy_version.by_number(seq)) is not None:
            yield from (row.files[name] for name in packaged if name in row.files and name not in names)
            names.update(packaged)


def _permissions(text: str) -> Iterator[str]:
    for _, line in meaningful(decoded("", text.encode(), [])):
        kind, *columns = (column.strip() for column in line.split(","))
        if kind in ("p", "p2") and len(columns) > 1:
            yield columns[1]


def _why(plugins: list[str]) -> str:
    """Returns the reason; `plugins` are names of migration histories without an installed plugin."""
    subject = {0: "that had it", 1: f"that had it, {''.join(plugins)},"}.get(
        len(plugins), f"that had it, one of {', '.join(plugins)},")
    return f"the plugin {subject} is not installed"
