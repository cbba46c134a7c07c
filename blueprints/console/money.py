"""Amounts of money as people type them: `12,50`, `12.50 EUR`, `1.234,50`.

A text has one meaning in all languages, or it is refused: `1,234` EUR is 1234.00 in English, and refused in German.
Only the number of decimals of the currency, and then the separators of the language, decide between two meanings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_precision, get_currency_symbol, get_decimal_symbol, get_group_symbol

from gatepost import Message

_LONGEST = 60  # characters
_MOST = 2**63 - 1  # minor units, of either sign
_CODE = re.compile("[A-Z]{3}")
_BLANK = "[\\s'\N{RIGHT SINGLE QUOTATION MARK}]"  # what groups digits, but never separates decimals
_UNIT = "[^-0-9.,\\s'\N{RIGHT SINGLE QUOTATION MARK}\N{MINUS SIGN}]*"
_TEXT = re.compile(rf"({_UNIT})\s*([-\N{{MINUS SIGN}}]?)((?:[0-9.,]|{_BLANK})*[0-9])\s*({_UNIT})")
_PLAIN = re.compile("([0-9]+)(?:([.,])([0-9]+))?")
_BLANKS = re.compile(rf"([1-9][0-9]{{0,2}}({_BLANK})[0-9]{{3}}(?:\2[0-9]{{3}})*)(?:[.,]([0-9]+))?")
_GROUPS = re.compile(r"([1-9][0-9]{0,2}([.,])[0-9]{3}(?:\2[0-9]{3})*)(?:(?!\2)[.,]([0-9]+))?")


class Misread(Exception):
    """A typed value that has no meaning, or several. `detail` says what to write."""

    def __init__(self, detail: Message) -> None:
        super().__init__(detail)
        self.detail = detail


def is_currency(text: str) -> bool:
    """True for text in the form of a currency code (ISO 4217)."""
    return _CODE.fullmatch(text) is not None


@dataclass(frozen=True)
class Money:
    """Amounts of a currency in a language.

    decimal, group  the separators of the language
    """

    currency: str
    decimals: int
    decimal: str
    group: str
    symbol: str

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, currency: str, language: str) -> Money:
        """Returns the amounts of a currency; an unknown code has two decimals, and an unknown language is English."""
        try:
            locale = Locale.parse(language, sep="-")
        except (UnknownLocaleError, ValueError):
            locale = Locale("en")
        decimal = get_decimal_symbol(locale)
        return cls(currency, get_currency_precision(currency), decimal if decimal in (".", ",") else ".",
                   get_group_symbol(locale), get_currency_symbol(currency, locale))

    @property
    def example(self) -> str:
        """An amount with all decimals: `12.50`."""
        return self._joined("12", "5".ljust(self.decimals, "0")) if self.decimals else "1250"

    def written(self, minor: int) -> str:
        """Returns an amount in minor units as a form shows it: `1234.50`. `read` returns the same number for it."""
        digits = str(abs(minor)).zfill(self.decimals + 1)
        cut = len(digits) - self.decimals
        return ("-" if minor < 0 else "") + self._joined(digits[:cut], digits[cut:])

    def read(self, text: str) -> int:
        """Returns the minor units of a typed amount. Raises `Misread`."""
        match = _TEXT.fullmatch(text.strip()) if len(text) <= _LONGEST else None
        if match is None or (match[1] and match[4]):
            raise self._unclear()
        if (unit := match[1] or match[4]) and unit not in (self.currency, self.symbol):
            raise Misread(Message("The amount is in {unit}, but the currency is {currency}.",
                                  unit=unit, currency=self.currency))
        whole, part = self._parts(match[3])
        if len(part) > self.decimals:
            raise self._too_fine()
        minor = int(whole + part.ljust(self.decimals, "0"))
        if minor > _MOST:
            raise Misread(Message("This amount is too large."))
        return -minor if match[2] else minor

    def _parts(self, number: str) -> tuple[str, str]:
        """Returns the digits before and after the decimal separator."""
        if (plain := _PLAIN.fullmatch(number)) is not None:
            if _GROUPS.fullmatch(number) is None:
                return plain[1], plain[3] or ""
            return self._either(plain[1], plain[2], plain[3])
        grouped = _BLANKS.fullmatch(number) or _GROUPS.fullmatch(number)
        if grouped is None:
            raise self._unclear()
        return re.sub("[^0-9]", "", grouped[1]), grouped[3] or ""

    def _either(self, whole: str, separator: str, part: str) -> tuple[str, str]:
        """Returns the digits of a number such as `1.234`, whose separator may be either of the two."""
        if separator == self.decimal and self.decimals == len(part):
            return whole, part
        if separator == self.group and self.decimals < len(part):
            return whole + part, ""
        thousands = self.written(int((whole + part).ljust(len(whole + part) + self.decimals, "0")))
        decimals = self._joined(whole, part[:self.decimals].ljust(self.decimals, "0"))
        if not self.decimals:
            raise Misread(Message("{currency} has no decimals. Write {example}.",
                                  currency=self.currency, example=thousands))
        raise Misread(Message("This has two meanings. Write {one} or {other}.", one=thousands, other=decimals))

    def _joined(self, whole: str, part: str) -> str:
        return f"{whole}{self.decimal}{part}" if part else whole

    def _unclear(self) -> Misread:
        return Misread(Message("This is not an amount. Write it as in {example}.", example=self.example))

    def _too_fine(self) -> Misread:
        if not self.decimals:
            return Misread(Message("{currency} has no decimals. Write it as in {example}.",
                                   currency=self.currency, example=self.example))
        return Misread(Message("{currency} has at most {number} decimals. Write it as in {example}.",
                               currency=self.currency, number=self.decimals, example=self.example))
