"""Rows as NDJSON and CSV: written rows are read back unchanged, and errors are reported line by line."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given as over
from hypothesis import strategies as st
from marshmallow import fields

from gatepost.http.protocol.problems import Problem
from gatepost.http.schemas import file_formats
from gatepost.http.schemas.fields import Bool, Int, Line, StrictSchema, Text


class Sample(StrictSchema):
    text = Text(maximum=10**6)
    other = Text(maximum=10**6)
    number = Int()
    flag = Bool()
    names = fields.List(Line())


SCHEMA = Sample()
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
FORMULA = st.tuples(st.sampled_from("=+-@'\t\r\n＝＋－＠"), TEXT).map("".join)
ROW = st.fixed_dictionaries({
    "text": TEXT | FORMULA | st.none(),
    "other": TEXT | st.none(),
    "number": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "flag": st.booleans() | st.none(),
    "names": st.lists(TEXT) | st.none(),
})


def written(media_type, rows):
    return b"".join(file_formats.write(media_type, list(SCHEMA.fields), rows))


def read(media_type, data):
    return list(file_formats.read(media_type, io.BytesIO(data), SCHEMA))


@over(st.lists(ROW, max_size=5))
def test_csv_is_read_again_as_it_was(rows):
    assert [row for _, row in read(file_formats.CSV, written(file_formats.CSV, rows))] == rows


@over(st.lists(ROW, max_size=5))
def test_ndjson_is_read_again_as_it_was(rows):
    assert [row for _, row in read(file_formats.NDJSON, written(file_formats.NDJSON, rows))] == rows


@over(st.lists(ROW, max_size=5))
def test_no_cell_of_text_begins_like_a_formula(rows):
    for cells in list(csv.reader(io.StringIO(written(file_formats.CSV, rows).decode(), newline="")))[1:]:
        assert not cells[0].startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))


@over(st.binary(max_size=200))
def test_any_bytes_are_lines_or_faults_and_never_a_crash(data):
    for media_type in file_formats.MEDIA_TYPES:
        for head in (b"", b"text,number\n"):
            try:
                lines = read(media_type, head + data)
            except Problem as problem:
                assert problem.status == 400
            else:
                assert [number for number, _ in lines] == sorted({number for number, _ in lines})


def test_lines_of_csv_are_counted_where_a_row_begins():
    data = b'text,number\r\n"a\r\nb\r\nc",1\r\n\r\nd,x\r\ne\r\nf,2\r\n'
    found = [(number, line if isinstance(line, dict) else line.code) for number, line in read(file_formats.CSV, data)]
    assert found == [(2, {"text": "a\r\nb\r\nc", "number": 1}), (6, {"text": "d", "number": "x"}), (7, "invalid_body"),
                     (8, {"text": "f", "number": 2})]


def test_lines_of_ndjson_are_counted_with_the_blank_ones():
    data = b'\xef\xbb\xbf{"text": "a"}\n\n[]\n{"text"\n{"a": 1, "a": 2}\n{}'
    found = [(number, line if isinstance(line, dict) else line.code)
             for number, line in read(file_formats.NDJSON, data)]
    assert found == [(1, {"text": "a"}), (3, "invalid_body"), (4, "malformed_json"), (5, "malformed_json"), (6, {})]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_of_ndjson_that_is_no_json_says_where_in_the_file(end):
    lines = [b'{"text": "a"}', b"", b'{"text": "a"', b"{'text': 1}", b'{"text": "a', b"{} {}"]
    found = {number: line.detail for number, line in read(file_formats.NDJSON, end.join(lines) if end else lines[2])
             if isinstance(line, Problem)}
    assert found == ({
        3: "Expecting ',' delimiter at line 3, column 13.",
        4: "Expecting property name enclosed in double quotes at line 4, column 2.",
        5: "Unterminated string starting at line 5, column 10.",
        6: "Extra data at line 6, column 4.",
    } if end else {1: "Expecting ',' delimiter at line 1, column 13."})


def test_a_line_without_end_is_one_fault_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(file_formats, "LONGEST", 100)
    found = read(file_formats.NDJSON, b"x" * 1000 + b"\n" + b"y" * 101 + b'\n{"text": "a"}\n' + b"z" * 500)
    assert [(number, getattr(line, "code", line)) for number, line in found] == [
        (1, "body_too_large"), (2, "body_too_large"), (3, {"text": "a"}), (4, "body_too_large")]


@pytest.mark.parametrize(("data", "line"), [
    (b"", 1),
    (b"\r\n", 1),
    (b"text,text\n", 1),
    (b"text,\n", 1),
    (b"text,nope\na,b\n", 1),
    (b"text\xff\na\n", 1),
    (b'text,number\na,1\n"b,2\n', 3),
    (b'text,number\na,1\n"b"c,2\nd,3', 3),
], ids=["empty", "blank", "twice", "nameless", "unknown", "not UTF-8", "quote left open", "quote inside"])
def test_a_file_that_cannot_be_understood_is_refused_as_a_whole(data, line):
    with pytest.raises(Problem) as refused:
        read(file_formats.CSV, data)
    assert refused.value.code == "invalid_body"
    assert {fault.meta["line"] for fault in refused.value.faults} == {line}


def test_an_empty_ndjson_file_and_a_bare_header_hold_no_rows():
    assert read(file_formats.NDJSON, b"") == read(file_formats.CSV, b"\xef\xbb\xbftext,number\r\n") == []


@pytest.mark.parametrize("cell", ["1.5", "1e3", "٣", " 1", "0x1", "--1", "9" * 30, "true"])
def test_a_cell_that_is_no_number_stays_text_for_the_schema_to_refuse(cell):
    assert read(file_formats.CSV, f"number\n{cell}\n".encode()) == [(2, {"number": cell})]


def test_cells_may_be_as_long_as_any_text():
    long = "x" * 500_000
    assert read(file_formats.CSV, written(file_formats.CSV, [{"text": long}]))[0][1]["text"] == long


@pytest.mark.parametrize(("cell", "text"), [
    ("'s-Hertogenbosch", "'s-Hertogenbosch"), ("'tis the season", "'tis the season"), ("'", ""), ("''", "'"),
    ("'=1+1", "=1+1"), ("''s", "'s"), ("O'Brien", "O'Brien"), ("'+31 6", "+31 6"), ("'\u00a0", "'\u00a0"),
])
def test_an_apostrophe_is_part_of_the_text_unless_it_protects_something(cell, text):
    file = f"text\n{cell}\n".encode()
    assert read(file_formats.CSV, file) == [(2, {"text": text})]


@over(st.lists(TEXT, min_size=1, max_size=5), st.sampled_from(["\r\n", "\n"]), st.booleans())
def test_csv_of_another_writer_is_read_as_it_means(texts, end, quoted):
    file = io.StringIO(newline="")
    quoted = quoted or any("\r" in one for one in texts)  # csv of Python 3.11 does not quote these, against RFC 4180
    writer = csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerows([["text", "other"], *([one, "x"] for one in texts)])
    rows = [row["text"] for _, row in read(file_formats.CSV, file.getvalue().encode())]
    for found, one in zip(rows, texts, strict=True):
        bare = one.removeprefix("'")
        protected = one.startswith("'") and (not bare or bare.startswith(file_formats._FORMULA))
        assert found == (None if one == "" else bare if protected else one)
