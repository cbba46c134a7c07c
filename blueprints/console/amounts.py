"""Amounts in the format of a language: numbers, money, bytes, milliseconds, elapsed time, and axes of charts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, log10

from babel import Locale, UnknownLocaleError
from babel.numbers import format_currency, format_decimal, get_currency_precision

from gatepost import Message, plural

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400  # seconds
_MOST_TICKS = 4  # above zero
_WIDE = ((10**9, 10**9, "G"), (10**6, 10**6, "M"), (10**4, 1000, "k"))  # from which number on an axis shortens it


@dataclass(frozen=True)
class Axis:
    """Vertical axis of a chart: its `top` value, and `ticks` with value and label."""

    top: float
    ticks: tuple[tuple[float, str], ...]


class Amounts:
    """Formats amounts for a language; for an unknown language, as in English."""

    def __init__(self, tag: str) -> None:
        try:
            self._locale = Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            self._locale = Locale("en")

    def number(self, value: float, decimals: int = 0) -> str:
        """`1,234` or `1.234`; no more than so many decimals."""
        return str(format_decimal(round(value, decimals), format=f"#,##0.{'#' * decimals}", locale=self._locale))

    def money(self, minor: int, currency: str) -> str:
        """An amount in minor units of a currency (ISO 4217): `68.30 EUR` or `68,30 EUR`."""
        amount = Decimal(minor).scaleb(-get_currency_precision(currency))
        return str(format_currency(amount, currency, "#,##0.00\N{NO-BREAK SPACE}¤¤", self._locale))

    def size(self, length: float) -> str:
        """A number of bytes: `42 MiB`."""
        unit = 0
        while length >= 1024 and unit < len(_UNITS) - 1:
            length, unit = length / 1024, unit + 1
        return f"{self.number(length, 1 if unit and length < 10 else 0)}\N{NO-BREAK SPACE}{_UNITS[unit]}"

    def milliseconds(self, value: float | None) -> str:
        """Formats milliseconds with at most two decimals, fewer for larger values; a dash for None."""
        return "–" if value is None else self.number(value, 2 if value < 10 else 1 if value < 100 else 0)

    def axis(self, most: float, least_step: float = 0) -> Axis:
        """Returns an axis from zero to at least `most`, with ticks in steps of 1, 2 or 5 times a power of ten."""
        least = max(most / _MOST_TICKS, least_step) or 1
        power = 10.0 ** floor(log10(least))
        # Quotients by powers of ten are slightly too large or too small.
        step = next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))
        values = [number * step for number in range(max(1, ceil(most / step - 1e-9)) + 1)]
        return Axis(values[-1], tuple((value, self._tick(value)) for value in values))

    def _tick(self, value: float) -> str:
        divisor, letter = next(((by, letter) for least, by, letter in _WIDE if value >= least), (1, ""))
        return f"{self.number(value / divisor, 2)}{letter}"


def ago(seconds: float | None) -> Message:
    """Describes how long ago an event was; None: never."""
    if seconds is None:
        return Message("never")
    if seconds < _MINUTE:
        return Message("less than a minute ago")
    if seconds < _HOUR:
        return plural("{number} minute ago", "{number} minutes ago", int(seconds // _MINUTE))
    if seconds < 2 * _DAY:
        return plural("{number} hour ago", "{number} hours ago", int(seconds // _HOUR))
    return plural("{number} day ago", "{number} days ago", int(seconds // _DAY))
