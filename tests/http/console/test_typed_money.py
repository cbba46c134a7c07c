"""Amounts as people type them: read as they are written, and never as a hundred times another amount."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from blueprints.console.amounts import Amounts
from blueprints.console.money import Misread, Money

CURRENCIES = {"JPY": 0, "EUR": 2, "USD": 2, "KWD": 3, "CLF": 4, "XQQ": 2}
LANGUAGES = ("en", "de", "fr", "de-CH", "hi", "ar", "sv", "no-such")
currencies = st.sampled_from(sorted(CURRENCIES))
languages = st.sampled_from(LANGUAGES)
amounts = st.integers(-10**15, 10**15) | st.integers(0, 10_000)
# Texts near those that people type: digits, both separators, blanks, signs and currencies.
texts = st.text("0123456789.,' -€\xa0\N{NARROW NO-BREAK SPACE}\N{RIGHT SINGLE QUOTATION MARK}EUR", max_size=14) | \
    st.from_regex(r"[0-9]{1,3}([., ][0-9]{3}){0,2}([.,][0-9]{1,4})?", fullmatch=True)


def read(text: str, currency: str, language: str) -> int | None:
    try:
        return Money.of(currency, language).read(text)
    except Misread as misread:
        assert misread.detail
        return None


def test_the_currencies_have_these_decimals():
    assert {currency: Money.of(currency, "en").decimals for currency in CURRENCIES} == CURRENCIES


@given(amounts, currencies, languages)
def test_what_a_form_shows_is_read_as_the_same_amount(minor, currency, language):
    money = Money.of(currency, language)
    assert money.read(money.written(minor)) == minor
    assert money.read(f"{money.written(minor)} {currency}") == minor


@given(amounts, currencies, languages)
def test_what_a_page_shows_is_read_as_the_same_amount(minor, currency, language):
    assert Money.of(currency, language).read(Amounts(language).money(minor, currency)) == minor


@given(st.integers(0, 10**12), currencies, languages, st.sampled_from(".,"), st.sampled_from(["", ".", ",", " ", "'"]))
def test_both_separators_are_read_with_any_grouping_or_refused(minor, currency, language, decimal, group):
    assume(group != decimal)
    decimals = CURRENCIES[currency]
    whole, part = divmod(minor, 10**decimals)
    text = f"{whole:,}".replace(",", group) + (f"{decimal}{part:0{decimals}}" if decimals else "")
    found = read(text, currency, language)
    if (decimals == 3 and whole < 1000) or (whole >= 1000 and not decimals and group in (".", ",")):
        assert found in (minor, None)
    else:
        assert found == minor


@given(texts, currencies)
def test_a_text_has_one_meaning_in_all_languages(text, currency):
    assert len({read(text, currency, language) for language in LANGUAGES} - {None}) <= 1


@given(texts, currencies, languages)
def test_a_text_is_read_with_its_own_digits(text, currency, language):
    """The amount has the digits of the text in their order, and the last separator is where they are cut, if any."""
    if (minor := read(text, currency, language)) is not None:
        digits = "".join(one for one in text if one.isdigit())
        value = abs(Decimal(minor).scaleb(-CURRENCIES[currency]))
        readings = {Decimal(digits).scaleb(-cut) for cut in range(len(digits))}
        assert value in readings
        if not set(".,") & set(text):
            assert value == Decimal(digits)


@pytest.mark.parametrize(("text", "currency", "english", "german"), [
    ("13", "EUR", 1300, 1300), ("12,50", "EUR", 1250, 1250), ("12.50 EUR", "EUR", 1250, 1250),
    ("EUR 12.50", "EUR", 1250, 1250), ("12,5", "EUR", 1250, 1250), ("1.234,50", "EUR", 123_450, 123_450),
    ("1,234.50", "EUR", 123_450, 123_450), ("1,234", "EUR", 123_400, None), ("1.234", "EUR", None, 123_400),
    ("1.234.567", "EUR", 123_456_700, 123_456_700), ("1 234,50", "EUR", 123_450, 123_450),
    ("1.234", "KWD", 1234, None), ("1,234", "KWD", None, 1234), ("1.234,567", "KWD", 1_234_567, 1_234_567),
    ("0.500", "KWD", 500, 500), ("1,234", "JPY", 1234, None), ("12.50", "JPY", None, None),
    ("12.500", "EUR", None, 1_250_000), ("12.50 USD", "EUR", None, None), ("$12", "EUR", None, None),
    ("€ 12", "EUR", 1200, 1200), ("\N{MINUS SIGN}3", "EUR", -300, -300), ("", "EUR", None, None),
    (".5", "EUR", None, None), ("12.", "EUR", None, None), ("1..2", "EUR", None, None), ("1,23,456", "EUR", None, None),
    ("12 50", "EUR", None, None), ("EUR 1 EUR", "EUR", None, None), ("9" * 25, "EUR", None, None),
    ("\N{FULLWIDTH DIGIT ONE}", "EUR", None, None), ("1e2", "EUR", None, None), ("0x10", "EUR", None, None)])
def test_examples(text, currency, english, german):
    assert (read(text, currency, "en"), read(text, currency, "de")) == (english, german)


def test_the_largest_amounts_fit_a_column():
    money = Money.of("EUR", "en")
    assert money.read(money.written(2**63 - 1)) == 2**63 - 1
    with pytest.raises(Misread, match="too large"):
        money.read(money.written(2**63))
