"""The access rules: stock Casbin files, and what reads, decides, tests and explains them.

This folder holds the administrator's files; the code is in the rooms `wording`, `syntax`, `evaluation`, `loading`,
`tools` and `questions`, and its everyday names are here. Nothing in it knows requests or tables. `load` reads a folder
of files into a `Policy`.
"""

from pathlib import Path

from .evaluation.plan import ALWAYS, IF, NEVER, Outcome, Plan
from .evaluation.policy import Policy
from .evaluation.principal import Principal
from .loading.loader import load
from .syntax.vocabulary import Column, Resource, Vocabulary
from .wording.finding import Finding, PolicyError

# The shipped files: what `gatepost init` copies into an instance.
SHIPPED = Path(__file__).parent

__all__ = [
    "ALWAYS",
    "IF",
    "NEVER",
    "SHIPPED",
    "Column",
    "Finding",
    "Outcome",
    "Plan",
    "Policy",
    "PolicyError",
    "Principal",
    "Resource",
    "Vocabulary",
    "load",
]
