"""Pages are rendered from templates: values are text, never markup, and no value may be missing."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from blueprints.public.front import Link, page
from gatepost.collections.rendering import render


def test_what_a_page_shows_is_escaped():
    shown = page((Link("x", '/"><script>', "<b>", "this & that"),)).get_data(as_text=True)
    assert '<a href="/&#34;&gt;&lt;script&gt;"><strong>&lt;b&gt;</strong><small>this &amp; that</small>' in shown
    assert "<script" not in shown


def test_the_codes_of_the_list_of_errors_break_between_their_words():
    shown = render("errors.html", catalogue={"a_b<c": (400, "Wrong")})
    assert "<code>a_<wbr>b&lt;c</code>" in shown


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError):
        render("errors.html")
