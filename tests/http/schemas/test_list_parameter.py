"""A list in a query string is one record of RFC 4180: everything that its grammar can write is read correctly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import ValidationError, fields

from gatepost.http.schemas.parameters import ListParameter, read_list

# RFC 4180 section 2, with every character in the place of TEXTDATA's:
#   record = field *(COMMA field);  field = (escaped / non-escaped);  non-escaped = *TEXTDATA
#   escaped = DQUOTE *(TEXTDATA / COMMA / CR / LF / 2DQUOTE) DQUOTE
_TEXTDATA = st.characters(exclude_characters='",', exclude_categories=("Cs",))
_NON_ESCAPED = st.text(_TEXTDATA).map(lambda text: (text, text))
_ESCAPED = st.lists(st.one_of(
    _TEXTDATA.map(lambda one: (one, one)), st.sampled_from([(",", ","), ("\r", "\r"), ("\n", "\n"), ('""', '"')]))).map(
        lambda parts: ('"' + "".join(sent for sent, _ in parts) + '"', "".join(meant for _, meant in parts)))
_RECORD = st.lists(st.one_of(_NON_ESCAPED, _ESCAPED), min_size=1)


def joined(record):
    return ",".join(sent for sent, _ in record)


def meant(record):
    return [value for _, value in record]


@given(_RECORD)
def test_what_the_grammar_writes_is_read_as_it_was_meant(record):
    assert read_list(joined(record)) == meant(record)


@given(st.lists(_RECORD, min_size=2, max_size=4))
def test_a_list_in_parts_is_the_list_of_its_parts(parts):
    values = [value for record in parts for value in meant(record)]
    assert ListParameter(fields.String()).deserialize([joined(record) for record in parts]) == values
    # Links to other pages join the parts.
    assert read_list(",".join(joined(record) for record in parts)) == values


@given(st.text(st.sampled_from('",ab ')))
def test_every_other_text_is_read_or_refused_and_never_changed(text):
    try:
        values = read_list(text)
    except ValidationError:
        return
    written = ",".join(f'"{value.replace(chr(34), 2 * chr(34))}"' for value in values)
    assert read_list(written) == values
    if not text.startswith('"') and ',"' not in text:
        assert ",".join(values) == text


@pytest.mark.parametrize("text", ['"', '"a', '"a,b', 'a,"', 'a,"b', '"a""', '"a"""",b'])
def test_a_quote_without_its_end_is_refused(text):
    with pytest.raises(ValidationError, match="no closing quote"):
        read_list(text)


@pytest.mark.parametrize("text", ['"a"b', '"a" ,b', '""a', '"a"b"', '"a"""b'])
def test_text_behind_a_closing_quote_is_refused(text):
    with pytest.raises(ValidationError, match="comes a comma or nothing"):
        read_list(text)


@pytest.mark.parametrize(("text", "values"), [
    ('19" rack,a', ['19" rack', "a"]), ('a"b","c"', ['a"b"', "c"]), (' "a", "b', [' "a"', ' "b']), ('""', [""]),
    ('"",', ["", ""]), ('""""', ['"']),
])
def test_only_a_value_that_begins_with_a_quote_is_quoted(text, values):
    assert read_list(text) == values


def test_a_part_does_not_close_what_another_one_opened():
    with pytest.raises(ValidationError, match="no closing quote"):
        ListParameter(fields.String()).deserialize(['"a', 'b"'])
    assert ListParameter(fields.String()).deserialize("") == []
