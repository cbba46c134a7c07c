"""Lists in headers, with blanks around a comma and empty elements (RFC 9110 section 5.6.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from flask import Request
from hypothesis import given as examples
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder

from gatepost.http.pipeline.compression import _takes_gzip
from gatepost.http.pipeline.negotiation import _takes
from gatepost.http.protocol.entity_tags import TAG, TAGS, names_version
from gatepost.http.protocol.language import wishes
from gatepost.http.protocol.preferences import preferences

BLANKS = st.text(" \t", max_size=2)
TOKENS = st.text("!#$%&'*+-.^_`|~09AZaz", min_size=1, max_size=6)
ETAGC = "".join(map(chr, (0x21, *range(0x23, 0x7F), *range(0x80, 0x100))))
# Without `0.` and `1.`, which the grammar also allows: werkzeug skips such an element.
QUALITIES = st.sampled_from((None, "0", "0.0", "0.000", "0.001", "0.25", "0.5", "0.999", "1", "1.0", "1.000"))


class Written(NamedTuple):
    """A list, and the text of a header for it."""

    elements: Sequence[str]
    text: str


@st.composite
def lists(draw: st.DrawFn, element: st.SearchStrategy[str]) -> Written:
    """`#element` as a recipient has to read it: `[ element ] *( OWS "," OWS [ element ] )`."""
    drawn = draw(st.lists(element | st.just(""), max_size=6))
    blanks = [draw(BLANKS) + "," + draw(BLANKS) for _ in drawn[1:]]
    text = draw(BLANKS) + "".join(part for pair in zip(drawn, [*blanks, ""], strict=False) for part in pair)
    return Written([one for one in drawn if one], text + draw(BLANKS))


@st.composite
def weighted(draw: st.DrawFn, value: st.SearchStrategy[str]) -> str:
    """A value with its weight (RFC 9110 section 12.4.2)."""
    quality = draw(QUALITIES)
    return draw(value) + ("" if quality is None else f"{draw(BLANKS)};{draw(BLANKS)}q={quality}")


def bare(element: str) -> tuple[str, float]:
    value, _, quality = element.partition(";")
    return value.strip(), float(quality.strip().removeprefix("q=") or 1)


# Entity tags

VERSIONS = st.sampled_from(("3", "4", "33", "03", "3-0a1b", "3-x", "0123abcd.3", "h" + 32 * "a", "h" + 31 * "a", ""))
TAG_TEXTS = st.builds(lambda weak, opaque: f'{weak}"{opaque}"', st.sampled_from(("", "W/")),
                      st.text(ETAGC, max_size=5) | VERSIONS)


@examples(lists(TAG_TEXTS))
def test_entity_tags_are_read_as_they_were_meant(written):
    assert TAGS.fullmatch(written.text)
    assert TAG.findall(written.text) == written.elements


@examples(lists(TAG_TEXTS), st.sets(st.sampled_from(("3", "4", "33", "0123abcd.3", "h" + 32 * "a"))), st.booleans())
def test_a_version_is_named_by_its_tag_and_by_those_of_its_views(written, versions, weak):
    strong = [tag for tag in written.elements if weak or not tag.startswith("W/")]
    named = {version for version in versions for tag in strong
             if (opaque := tag.removeprefix("W/").strip('"')) == version
             or (opaque.startswith(f"{version}-") and not opaque[len(version) + 1:].strip("0123456789abcdef")
                 and opaque != f"{version}-")}
    assert names_version(written.text, versions, weak=weak) == bool(named)


@examples(BLANKS, BLANKS, st.booleans())
def test_a_star_names_any_version_and_stands_alone(before, after, weak):
    assert TAGS.fullmatch(f"{before}*{after}")
    assert names_version(f"{before}*{after}", ("3",), weak=weak)
    assert not TAGS.fullmatch(f"{before}*{after},")


@examples(st.text(' \t,"W/*3\xa0\x85\n\x7f\xff', max_size=12))
def test_what_the_grammar_does_not_make_is_no_list_of_entity_tags(text):
    assert bool(TAGS.fullmatch(text)) == (text.strip(" \t") == "*" or is_list(text))


@pytest.mark.parametrize("text", ["," + 60_000 * " " + "x", 30_000 * " ," + "x", 30_000 * '"",' + "x", 60_000 * '"'])
def test_a_long_list_takes_no_longer_than_its_length(text):
    assert not TAGS.fullmatch(text)


def is_list(text: str) -> bool:
    """True for a list of entity tags; reads one character after the other."""
    state, rest = "empty", text
    while rest:
        if rest[0] in " \t":
            rest = rest[1:]
        elif rest[0] == ",":
            state, rest = "empty", rest[1:]
        else:
            opening, _, after = rest.removeprefix("W/").partition('"')
            opaque, closing, rest = after.partition('"')
            if state == "tag" or opening or not closing or set(opaque) - set(ETAGC):
                return False
            state = "tag"
    return True


# Accepted and preferred values

@examples(lists(weighted(st.sampled_from(("gzip", "GZIP", "x-gzip", "br", "identity", "*")))))
def test_gzip_is_sent_to_a_client_whose_list_has_it(written):
    assert _takes_gzip(written.text) == _takes_gzip(", ".join(written.elements))
    weights = {coding.lower(): weight for coding, weight in map(bare, written.elements)}
    if len(weights) == len(written.elements):
        assert _takes_gzip(written.text) == (weights.get("gzip", weights.get("*", 0.0)) > 0)


@examples(lists(weighted(st.sampled_from(("application/json", "application/*", "*/*", "text/html")))))
def test_a_media_type_is_sent_to_a_client_whose_list_has_it(written):
    assert _takes(written.text, ("application/json",)) == (
        not written.elements or _takes(", ".join(written.elements), ("application/json",)))


@examples(lists(weighted(st.sampled_from(("de", "de-AT", "zh-Hant-TW", "es-419", "*")))))
def test_languages_are_wished_in_the_order_of_their_weights(written):
    found = wishes(Request(EnvironBuilder(headers={"Accept-Language": written.text}).get_environ()))
    assert sorted(found) == sorted(map(bare, written.elements))
    weights = [weight for language, weight in found if language != "*"]
    assert weights == sorted(weights, reverse=True)


QUOTED = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters='"\\'), max_size=4)


@st.composite
def preferred(draw: st.DrawFn) -> str:
    """A preference (RFC 7240 section 2), with or without a value, and with parameters that have no meaning here."""
    value = draw(st.none() | TOKENS | QUOTED.map('"{}"'.format))
    parameters = draw(st.lists(TOKENS | st.builds("{}={}".format, TOKENS, TOKENS), max_size=2))
    text = draw(TOKENS) + ("" if value is None else f"{draw(BLANKS)}={draw(BLANKS)}{value}")
    return text + "".join(f"{draw(BLANKS)};{draw(BLANKS)}{parameter}" for parameter in parameters)


@examples(lists(preferred()))
def test_of_a_name_the_first_preference_counts(written):
    wanted: dict[str, str] = {}
    for element in written.elements:
        name, has_value, value = element.partition("=")
        value = value.strip(" \t")
        if ";" in name:
            name, has_value = name.partition(";")[0], ""
        value = value[1:value.index('"', 1)] if value.startswith('"') else value.partition(";")[0].strip(" \t")
        wanted.setdefault(name.strip(" \t").lower(), value if has_value else "")
    assert preferences(written.text) == wanted
