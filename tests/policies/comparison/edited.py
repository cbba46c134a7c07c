"""The shipped policy with a few edited lines, and the differences."""

from __future__ import annotations

from collections.abc import Iterable

import policies
from policies import Policy, Vocabulary
from policies.comparison.prover import Comparison, Difference
from policies.loading.loader import from_files
from tests.policies.comparison.worlds import subjects
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import VOCABULARY

SHIPPED = policies.load(policies.SHIPPED, VOCABULARY)
FIRST = "    p.when == 'always' || \\\n"


def edited(*lines: str, conditions: Iterable[str] = (), file: str = "orders.csv",
           without: str | None = None, vocabulary: Vocabulary = VOCABULARY) -> Policy:
    """Returns the shipped policy with more lines in a file, more branches of the matcher, and without a line."""
    branches = "".join(f"    {branch} || \\\n" for branch in conditions)
    text = FILES[file].decode()
    if without is not None:
        assert without in text
        text = text.replace(without + "\n", "")
    return from_files({
        **FILES,
        "model.conf": FILES["model.conf"].decode().replace(FIRST, FIRST + branches).encode(),
        file: text.replace("# end", "\n".join([*lines, "# end"])).encode(),
    }, vocabulary)


def differences(old: Policy, new: Policy) -> dict[tuple[str, str], Difference]:
    """Returns (subject, permission) → difference."""
    comparison = Comparison(old, new)
    found = {(str(subject), permission): comparison.between(subject, permission)
             for subject in subjects(old, new) for permission in VOCABULARY.by_permission}
    return {where: difference for where, difference in found.items() if difference}
