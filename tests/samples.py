"""Samples of many similar cases: `make test` runs some, `make test-slow` the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def parts(values: Iterable[Any], every: int) -> list[Any]:
    """Returns two parameters of a test: the values whose number `every` divides, and, marked slow, all others."""
    listed = list(values)
    others = [value for number, value in enumerate(listed) if number % every]
    return [pytest.param(listed[::every], id=f"one in {every}"),
            pytest.param(others, id="the others", marks=pytest.mark.slow)]


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Returns a parameter for each value, marked slow if `every` does not divide its number."""
    return [value if number % every == 0 else pytest.param(value, marks=pytest.mark.slow)
            for number, value in enumerate(values)]


def sampled_rows(rows: Iterable[tuple[Any, ...]], every: int) -> list[Any]:
    """Returns the same for parameters of several values."""
    return [row if number % every == 0 else pytest.param(*row, marks=pytest.mark.slow)
            for number, row in enumerate(rows)]
