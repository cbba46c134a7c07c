"""Chooses which of many alike cases `make test` tries; `make test-slow` tries the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def parts(values: Iterable[Any], every: int) -> list[Any]:
    """Two parameters of a test: each value whose number `every` divides, and, marked slow, all others."""
    listed = list(values)
    others = [value for number, value in enumerate(listed) if number % every]
    return [pytest.param(listed[::every], id=f"one in {every}"),
            pytest.param(others, id="the others", marks=pytest.mark.slow)]


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """A parameter for each value; of those whose number `every` does not divide, marked slow."""
    return [value if number % every == 0 else pytest.param(value, marks=pytest.mark.slow)
            for number, value in enumerate(values)]


def sampled_rows(rows: Iterable[tuple[Any, ...]], every: int) -> list[Any]:
    """The same for parameters that are several values each."""
    return [row if number % every == 0 else pytest.param(*row, marks=pytest.mark.slow)
            for number, row in enumerate(rows)]
