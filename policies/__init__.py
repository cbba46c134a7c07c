"""Rules: stock Casbin files, decided at the cost of a comparison, for one object and for a page of them.

This package knows neither requests nor rows. `load` reads a directory of files into a Policy.
"""

from __future__ import annotations

from pathlib import Path

from .evaluation.plan import ALWAYS, IF, NEVER, Outcome, Plan
from .evaluation.policy import Policy
from .evaluation.principal import Principal
from .loading.loader import load
from .syntax.finding import Finding, PolicyError
from .syntax.vocabulary import Column, Resource, Vocabulary

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
