"""Rules: stock Casbin files, decided at the cost of a comparison, for one object and for a page of them.

This package knows neither requests nor rows. `load` reads a directory of files into a Policy.
"""

from __future__ import annotations

from pathlib import Path

from .finding import Finding, PolicyError
from .loading import load
from .plan import ALWAYS, IF, NEVER, Outcome, Plan
from .policy import Policy
from .principal import Principal
from .vocabulary import Column, Resource, Vocabulary

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
