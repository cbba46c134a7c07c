"""The strict JSON reader: it accepts what RFC 8259 and I-JSON allow, and names the error in anything else."""

from __future__ import annotations

import json
from codecs import BOM_UTF8, BOM_UTF16_LE

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from gatepost.http.protocol.json_body import MAX_DEPTH, parse_object
from gatepost.http.protocol.problems import Problem
from tests.http.described import check_problem

SCALARS = (st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
           | st.floats(allow_nan=False, allow_infinity=False)
           | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
                      max_leaves=10)


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@examples(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans())
def test_what_is_json_is_read_as_it_was_meant(value, ascii_only):
    assert parse_object(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@examples(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_a_problem(raw):
    try:
        assert isinstance(parse_object(raw), dict)
    except Problem as problem:
        assert problem.status == 400


@pytest.mark.parametrize("raw", [
    b"{}", b' {"a" : 1 } \n', b'{"a":-0}', b'{"a":1E2}', b'{"a":9223372036854775807}', b'{"a":-9223372036854775808}',
    b'{"a":"\\ud83d\\ude00"}', '{"a":"\u2028"}'.encode(), b'{"a":"\\u001f"}', nested(MAX_DEPTH - 1),
])
def test_what_is_allowed_is_read(raw):
    assert parse_object(raw) == json.loads(raw)


@pytest.mark.parametrize(("raw", "code"), [
    (b"", "malformed_json"), (b"{", "malformed_json"), (b"{}x", "malformed_json"), (b"{'a':1}", "malformed_json"),
    (b'{"a":01}', "malformed_json"), (b'{"a":1.}', "malformed_json"), (b'{"a":.5}', "malformed_json"),
    (b'{"a":+1}', "malformed_json"), (b'{"a":0x1}', "malformed_json"), (b'{"a":1,}', "malformed_json"),
    (b'{"a":NaN}', "malformed_json"), (b'{"a":Infinity}', "malformed_json"), (b'{"a":-Infinity}', "malformed_json"),
    (b'{"a":1e400}', "malformed_json"), (b'{"a":9223372036854775808}', "malformed_json"),
    (b'{"a":-9223372036854775809}', "malformed_json"), (b'{"a":' + b"9" * 5_000 + b"}", "malformed_json"),
    (b'{"a":0.' + b"1" * 5_000 + b"}", "malformed_json"), (b'{"a":1,"a":2}', "malformed_json"),
    (b'{"x":{"a":1,"a":1}}', "malformed_json"), (b'{"a":"\n"}', "malformed_json"), (b'{"a":"\\x"}', "malformed_json"),
    (b'{"a":"\xff"}', "malformed_json"), (b"\xef\xbb\xbf{}", "malformed_json"), (b'{"\\u0000":1}', "malformed_json"),
    (b'{"\\ud800":1}', "malformed_json"), (nested(MAX_DEPTH), "malformed_json"), (b"[" * 100_000, "malformed_json"),
    (b'{"a":"\\u0000"}', "invalid_field"), (b'{"a":["\\udfff"]}', "invalid_field"),
    (b"[]", "invalid_body"), (b"null", "invalid_body"), (b"1", "invalid_body"), (b'"a"', "invalid_body"),
])
def test_what_is_not_allowed_is_refused_with_its_code(raw, code):
    with pytest.raises(Problem) as caught:
        parse_object(raw)
    assert caught.value.code == code


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
def test_a_byte_order_mark_before_a_body_is_ignored(as_role, given, method):
    editor, article = as_role("editor"), given.article("draft")
    path = "/api/articles" if method == "POST" else f"/api/articles/{article.id}"
    body = {"title": "T", "slug": f"marked-{method.lower()}", "body": "B\ufeff"}
    send = {"method": method, "headers": {**editor.headers, "Content-Type": "application/json"}}
    answer = editor.client.open(path, data=BOM_UTF8 + json.dumps(body, ensure_ascii=False).encode(), **send)
    assert answer.status_code == (201 if method == "POST" else 200)
    assert answer.json["body"] == "B\ufeff", "inside a text it is a character"
    for bad in (2 * BOM_UTF8 + b"{}", b"{}" + BOM_UTF8, BOM_UTF8, b" " + BOM_UTF8 + b"{}", BOM_UTF16_LE + b"{\0}\0"):
        check_problem(editor.client.open(path, data=bad, **send), 400, "malformed_json")


@pytest.mark.parametrize(("raw", "text"), [
    (b'{"a":' + 5_000 * b"9" + b"}", "A number has at most 64 characters."),
    (b'{"a":-' + 5_000 * b"9" + b"}", "A number has at most 64 characters."),
    (b'{"a":0.' + 5_000 * b"1" + b"}", "A number has at most 64 characters."),
    (b'{"a":' + 64 * b"9" + b"}", "A number does not fit in 64 bits."),
    (b'{"a":1e400}', "A number is out of range."),
    (b'{"a":\n"b', "Unterminated string starting at line 2, column 1."),
    (b'{"a":"b\tc"}', "Invalid control character at line 1, column 8."),
])
def test_the_text_says_what_is_wrong(raw, text):
    with pytest.raises(Problem) as caught:
        parse_object(raw)
    assert caught.value.detail == text


def test_a_string_that_cannot_be_stored_is_pointed_at():
    with pytest.raises(Problem) as caught:
        parse_object(b'{"a/b":{"c~d":[1,"\\u0000"]}}')
    assert caught.value.faults[0].pointer == "/a~1b/c~0d/1"


def test_the_place_of_an_unstorable_text_is_told_however_deep_it_is():
    for raw, pointer in ((b'{"a":[{},[1,{"b/c":["x","\\u0000"]}]]}', "/a/1/1/b~1c/1"), (b'{"~":"\\ud800"}', "/~0")):
        with pytest.raises(Problem) as refused:
            parse_object(raw)
        assert [fault.pointer for fault in refused.value.faults] == [pointer]


@pytest.mark.parametrize("empty", [b"[]", b"{}"])
def test_an_empty_array_or_object_is_a_level_too(empty):
    deepest = b'{"a":' * (MAX_DEPTH - 1) + empty + b"}" * (MAX_DEPTH - 1)
    assert parse_object(deepest) == json.loads(deepest)
    with pytest.raises(Problem):
        parse_object(b'{"a":' + deepest + b"}")
