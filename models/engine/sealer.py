"""Functions that sign and verify the seals of the audit log. The keys are not known here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Sealer(NamedTuple):
    """Turns bytes into a head (`sign`), and says whether a head belongs to these bytes (`prove`).

    lenient  True if a migration continues after a seal that cannot be verified
    """

    sign: Callable[[bytes], str]
    prove: Callable[[bytes, str], bool]
    lenient: bool = False
