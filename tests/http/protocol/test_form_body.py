"""The reader of forms: it reads what browsers send, and refuses anything else at little cost."""

from __future__ import annotations

import re
from io import BytesIO
from urllib.parse import parse_qsl, urlencode

import pytest
from flask import Request
from hypothesis import given as examples
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict

from blueprints.console.forms import FORM, MOST_FIELDS, read_form
from gatepost.http.protocol.problems import MOST_FAULTS, Problem

KNOWN = ("a", "name", "größe", "a b")
# A part of a form: any bytes except the separator, with escapes that are complete, cut off, or not UTF-8.
PIECES = st.sampled_from([b"a", b"=", b"+", b"%", b"%4", b"%41", b"%zz", b"%C3%A9", b"%ff", b"%00", b"%26", b"name",
                          b"\xff", b"\r\n", b";", b"gr%C3%B6%C3%9Fe"]) | st.binary(max_size=3)
PARTS = st.lists(PIECES, max_size=6).map(lambda pieces: b"".join(pieces).replace(b"&", b""))


def sent(raw: bytes, media_type: str = FORM) -> Request:
    return Request({"REQUEST_METHOD": "POST", "CONTENT_TYPE": media_type, "CONTENT_LENGTH": str(len(raw)),
                    "wsgi.input": BytesIO(raw), "wsgi.url_scheme": "http", "SERVER_NAME": "x", "SERVER_PORT": "80"})


def read(raw: bytes, media_type: str = FORM) -> MultiDict[str, str]:
    found: MultiDict[str, str] = MultiDict()
    read_form(sent(raw, media_type), KNOWN, found)
    return found


@examples(st.lists(st.tuples(st.sampled_from(KNOWN), st.text(st.characters(exclude_categories=["Cs"])))))
def test_what_a_browser_sends_is_read_as_it_was_meant(pairs):
    found = read(urlencode(pairs).encode())
    assert {name: found.getlist(name) for name in found} == {
        name: [value for other, value in pairs if other == name] for name, _ in pairs}


@examples(st.lists(PARTS, max_size=8))
def test_any_bytes_are_the_fields_that_other_readers_find_or_a_problem(parts):
    raw = b"&".join(parts)
    # The standard library accepts `;`, and raw bytes as one character for each byte outside ASCII.
    escaped = re.sub(rb"[\x80-\xff]", lambda byte: b"%%%02X" % byte[0][0], raw).decode()
    expected = parse_qsl(escaped, keep_blank_values=True, errors="replace")
    found: MultiDict[str, str] = MultiDict()
    try:
        read_form(sent(raw), KNOWN, found)
    except Problem as problem:
        assert problem.status == 400 and any(name not in KNOWN for name, _ in expected)
    else:
        assert all(name in KNOWN for name, _ in expected)
    assert list(found.items(multi=True)) == list(MultiDict(
        (name, value) for name, value in expected if name in KNOWN).items(multi=True))


def test_a_form_has_a_limited_number_of_fields():
    assert len(read(b"&".join([b"a=1"] * MOST_FIELDS)).getlist("a")) == MOST_FIELDS
    for raw in (b"&".join([b"a=1"] * (MOST_FIELDS + 1)), b"&" * MOST_FIELDS, b"a=&" * 300_000):
        with pytest.raises(Problem) as refused:
            read(raw)
        assert (refused.value.code, refused.value.faults) == ("invalid_body", ())


def test_unknown_names_are_refused_and_the_others_are_read():
    found: MultiDict[str, str] = MultiDict()
    with pytest.raises(Problem) as refused:
        read_form(sent(b"x/y=1&name=Noor&A=2&x/y=3&a=4"), KNOWN, found)
    assert [(fault.code, fault.pointer) for fault in refused.value.faults] == [
        ("unknown_field", "/x~1y"), ("unknown_field", "/A")]
    assert dict(found) == {"name": "Noor", "a": "4"}


def test_of_unknown_names_some_are_told_and_of_each_the_beginning():
    with pytest.raises(Problem) as refused:
        read(b"&".join(b"%d=" % number for number in range(MOST_FIELDS)))
    assert len(refused.value.faults) == MOST_FAULTS
    with pytest.raises(Problem) as refused:
        read(b"%41" * 300_000 + b"=")
    assert refused.value.faults[0].pointer == "/" + "A" * 80


@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=x", "application/json", "text/plain"])
def test_other_media_types_are_refused(media_type):
    with pytest.raises(Problem) as refused:
        read(b"a=1", media_type)
    assert (refused.value.code, refused.value.headers) == ("unsupported_media_type", {"Accept": FORM})
