"""Permissions of plugins that were taken out: those that the ledger knows, and nothing that is installed has.

A policy in the ledger was in force, so each permission that its lines name was one. Where its resource is of nothing
that is installed now, lines about it are a warning: they grant nothing, and are no slip either.
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

_MOST = 500  # rows of the ledger that are looked at


class Known(Protocol):
    """What is installed: the `Registry` of `resources`."""

    @property
    def migrations(self) -> Mapping[str, Path]: ...
    @property
    def vocabulary(self) -> Vocabulary: ...


def left_over(database: Database, installed: Known) -> Mapping[str, str]:
    """Permission → why it is none any more, as `Vocabulary.gone` has it. The database is connected and migrated.

    Looked at are the policy that came into force last, and the rules that packages of plugins brought before. Raises
    `RowError`.
    """
    patterns = Patterns(installed.vocabulary)
    gone = sorted({act for text in _texts() for act in _permissions(text)
                   if act.partition(".")[0] not in installed.vocabulary.resources
                   and "*" not in act.partition(".")[0] and not patterns.covered(act) and not patterns.left_out(act)})
    return dict.fromkeys(gone, _why(sorted(histories(database) - installed.migrations.keys()))) if gone else {}


def _texts() -> Iterator[str]:
    """The files in which a permission of a plugin may stand, each once."""
    newest = policy_version.newest()
    if newest is None:
        return
    yield from newest.files.values()
    seen = {*newest.files}
    for seq, packaged in policy_version.packaged(_MOST):
        if not seen.issuperset(packaged) and (row := policy_version.by_number(seq)) is not None:
            yield from (row.files[name] for name in packaged if name in row.files and name not in seen)
            seen.update(packaged)


def _permissions(text: str) -> Iterator[str]:
    for _, line in meaningful(decoded("", text.encode(), [])):
        kind, *columns = (column.strip() for column in line.split(","))
        if kind in ("p", "p2") and len(columns) > 1:
            yield columns[1]


def _why(plugins: list[str]) -> str:
    """`plugins` are the histories of migrations whose plugins are not installed."""
    had = {0: "that had it", 1: f"that had it, {''.join(plugins)},"}.get(
        len(plugins), f"that had it, one of {', '.join(plugins)},")
    return f"the plugin {had} is not installed"
