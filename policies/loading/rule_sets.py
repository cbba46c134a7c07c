"""The shipped rule sets: `full` with nine roles, and `small` with six.

The small set has a folder of its own. It uses the model and the scopes of the full set, which are there once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..evaluation.policy import Policy
from ..syntax.model import MODEL_FILE
from ..syntax.vocabulary import Vocabulary
from .loader import CASES_FILE, load

FULL, SMALL = "full", "small"
RULE_SETS = (FULL, SMALL)
_FULL = Path(__file__).parents[1]
FOLDERS: Mapping[str, Path] = {FULL: _FULL, SMALL: _FULL / SMALL}
_SHARED = (MODEL_FILE, "scopes.csv")


def shared(folder: Path) -> dict[str, Path]:
    """Returns the files that a shipped folder takes from the full set, by name; {} for other folders."""
    return {name: _FULL / name for name in _SHARED} if folder == FOLDERS[SMALL] else {}


def files_of(rule_set: str) -> dict[str, Path]:
    """Returns the policy files of a rule set and its cases, by name."""
    folder = FOLDERS[rule_set]
    paths = {path.name: path for path in (*folder.glob("*.csv"), *folder.glob("*.conf"), folder / CASES_FILE)}
    return dict(sorted({**shared(folder), **paths}.items()))


def load_set(rule_set: str, vocabulary: Vocabulary) -> Policy:
    """Loads a shipped rule set, without the rules of plugins. Raises PolicyError."""
    return load(FOLDERS[rule_set], vocabulary, plugins=shared(FOLDERS[rule_set]))
