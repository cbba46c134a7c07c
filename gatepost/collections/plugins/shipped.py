"""Shipped blueprints, as the package `blueprints` lists them.

The framework imports that package only by its name. Reading the features imports only their declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ...features import Feature

PACKAGE = "blueprints"


def collections() -> tuple[ModuleType, ...]:
    """Imports the modules of the collections."""
    return tuple(import_module(f"{PACKAGE}.{name}") for name in import_module(PACKAGE).COLLECTIONS)


@cache
def features() -> Mapping[str, Feature]:
    """Returns the features by name, in the order of their start."""
    declared = (import_module(f"{PACKAGE}.{name}").feature for name in import_module(PACKAGE).FEATURES)
    return {feature.name: feature for feature in declared}


def endpoints_of(feature: str) -> ModuleType | None:
    """Imports the module with the endpoints of a feature; returns None if it has none."""
    name = f"{PACKAGE}.{feature}.endpoints"
    return import_module(name) if find_spec(name) is not None else None


def is_shipped(module: str) -> bool:
    """True if the module belongs to a shipped blueprint."""
    return module.startswith(f"{PACKAGE}.")
