"""What makes the heads of the audit trail's seals, and proves them: the keys are not known here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Sealer(NamedTuple):
    """`sign` turns bytes into a head; `prove` says whether a head is of these bytes.

    lenient  whether a migration goes on though a seal cannot be proved
    """

    sign: Callable[[bytes], str]
    prove: Callable[[bytes, str], bool]
    lenient: bool = False
