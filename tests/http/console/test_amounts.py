"""Amounts on pages: numbers in the reader's language, and an axis that includes all drawn values."""

from __future__ import annotations

import pytest

from blueprints.console.amounts import Amounts, ago


def plain(text):
    """Returns the text with ordinary spaces."""
    return " ".join(text.split())


@pytest.mark.parametrize(("tag", "said"), [
    ("en", ("1,234,567", "4.2 MiB", "0.25")), ("de", ("1.234.567", "4,2 MiB", "0,25")),
    ("fr", ("1 234 567", "4,2 MiB", "0,25")), ("xx-nowhere", ("1,234,567", "4.2 MiB", "0.25"))])
def test_numbers_are_written_as_the_language_does(tag, said):
    amounts = Amounts(tag)
    told = amounts.number(1_234_567), amounts.size(4.2 * 2**20), amounts.milliseconds(0.25)
    assert tuple(plain(text) for text in told) == said


def test_a_size_has_the_unit_that_fits():
    sizes = {0: "0 B", 1023: "1,023 B", 1024: "1 KiB", 10_240: "10 KiB", 2**40 * 3: "3 TiB", 2**63: "8,192 PiB"}
    assert {length: plain(Amounts("en").size(length)) for length in sizes} == sizes


def test_milliseconds_have_the_decimals_that_tell_something():
    texts = {None: "–", 0: "0", 0.004: "0", 9.876: "9.88", 12.34: "12.3", 123.4: "123", 12_345.6: "12,346"}
    assert {value: Amounts("en").milliseconds(value) for value in texts} == texts


def test_how_long_ago_something_was_is_said_in_the_largest_whole_unit():
    texts = {
        None: "never", -3: "less than a minute ago", 59.9: "less than a minute ago", 60: "1 minute ago",
        3599: "59 minutes ago", 3600: "1 hour ago", 3 * 3600 + 5: "3 hours ago", 172_799: "47 hours ago",
        172_800: "2 days ago", 86_400 * 400: "400 days ago"}
    assert {seconds: ago(seconds) for seconds in texts} == texts


@pytest.mark.parametrize(("most", "texts"), [
    (0, ["0", "1"]), (1, ["0", "1"]), (2, ["0", "1", "2"]), (308, ["0", "100", "200", "300", "400"]),
    (400, ["0", "100", "200", "300", "400"]), (4000, ["0", "1,000", "2,000", "3,000", "4,000"]),
    (41_000, ["0", "20k", "40k", "60k"]), (9_000_000, ["0", "5M", "10M"])])
def test_an_axis_of_counts_has_whole_round_lines(most, texts):
    axis = Amounts("en").axis(most, 1)
    assert [text for _, text in axis.ticks] == texts and axis.top >= most


@pytest.mark.parametrize("most", [0, 0.001, 0.3, 1, 7.77, 1e3, 12_345.6, 1e9, 3e12])
def test_an_axis_holds_what_is_drawn_with_few_lines(most):
    axis = Amounts("en").axis(most)
    assert axis.top >= most and 2 <= len(axis.ticks) <= 5 and axis.ticks[0][0] == 0
    assert most == 0 or axis.top <= 5 * most
