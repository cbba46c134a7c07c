"""A long list of values in two parts: some for `make test`, the others for `make test-all`."""

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
