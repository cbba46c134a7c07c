"""Files of translations, written by the grammar of GNU gettext (its manual, *The Format of PO Files*)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as examples
from hypothesis import strategies as st

from gatepost.http.protocol.messages import Unreadable, read_texts, text_ids

many = settings(max_examples=80, deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
BLANKS = st.text(" \t", max_size=2)
# Characters that split lines for Python and not for gettext among them.
TEXTS = st.text(st.sampled_from("aZ{}%#~|é葛\\\"\n\t\r\x85\u2028\x1c \x0b") | st.characters(
    codec="utf-8", exclude_characters="\0\x04"), min_size=1, max_size=12)
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
HEADER = ('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
          '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n')


class Entry(NamedTuple):
    """One message; `live` if it is neither fuzzy nor obsolete."""

    written: str
    id: str
    strings: tuple[str, ...]
    context: str | None
    live: bool


@st.composite
def quoted(draw: st.DrawFn, text: str) -> str:
    """A text as strings on one or more lines, each with its escapes."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    lines = ['"' + "".join(ESCAPES.get(one, one) for one in part) + '"' for part in parts]
    return "".join(f"{draw(BLANKS)}{line}{draw(BLANKS)}\n" for line in lines).lstrip(" \t")


COMMENTS = st.sampled_from([
    "# by hand", "#", "#. of the program", "#: notes.py:5", "#: a b.py", '#| msgid "before"', "", "#, python-format",
    "#: \u2068with a blank.py\u2069:7"])
PATCHES = st.sampled_from(["", '"', "\\", "\n", "msgid ", "msgstr ", 'msgstr[1] "x"\n', "#~ ", "\0", "\ufeff"])


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """comments, an optional context, a text, and its translation or the forms of it."""
    id, context = draw(TEXTS), draw(st.none() | TEXTS)
    plural = draw(st.none() | TEXTS)
    forms = 1 if plural is None else 2
    strings = tuple(draw(st.lists(TEXTS, min_size=forms, max_size=forms)))
    fuzzy, obsolete = draw(st.booleans()) and draw(st.booleans()), draw(st.booleans()) and draw(st.booleans())
    lines = [] if context is None else [f"msgctxt {draw(quoted(context))}"]
    lines.append(f"msgid{draw(st.sampled_from(['', ' ', chr(9), '  ']))}{draw(quoted(id))}")
    if plural is None:
        lines.append(f"msgstr {draw(quoted(strings[0]))}")
    else:
        lines += [f"msgid_plural {draw(quoted(plural))}",
                  *(f"msgstr[{form}] {draw(quoted(one))}" for form, one in enumerate(strings))]
    body = "".join(lines)
    if obsolete:
        body = "".join(f"#~ {line}\n" for line in body.removesuffix("\n").split("\n"))
        body = draw(st.sampled_from(["", '#~| msgid "before"\n'])) + body
    above = "".join(f"{one}\n" for one in [*draw(st.lists(COMMENTS, max_size=3)), *(["#, fuzzy"] if fuzzy else [])])
    below = draw(st.sampled_from(["", "\n", "\n\n"]))
    return Entry(above + body + below, id, strings, context, not (fuzzy or obsolete))


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, list[Entry]]:
    found = draw(st.lists(entries(), max_size=5, unique_by=lambda one: (one.id, one.context)))
    text = HEADER + "".join(one.written for one in found)
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode(), found


def read(folder: Path, content: bytes) -> Any:
    (folder / "de.po").write_bytes(content)
    return read_texts(folder / "de.po", "de")


@many
@examples(files())
def test_what_is_written_is_what_is_said(tmp_path, drawn):
    content, found = drawn
    texts = read(tmp_path, content)
    live = {(one.context, one.id): one for one in found if one.live}
    for one in found:
        if len(one.strings) == 1:
            said = texts.gettext(one.id) if one.context is None else texts.pgettext(one.context, one.id)
            assert said == (one.strings[0] if one.live else one.id)
        elif one.live:
            for number, string in ((1, one.strings[0]), (5, one.strings[1])):
                assert (texts.ngettext(one.id, "", number) if one.context is None else
                        texts.npgettext(one.context, one.id, "", number)) == string
    assert {text for _, text in text_ids(tmp_path / "de.po")} >= {id for context, id in live if context is None}


@many
@examples(files(), st.data())
def test_a_changed_file_is_read_or_refused_with_its_line(tmp_path, drawn, data):
    text = drawn[0].decode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    patch = data.draw(PATCHES)
    try:
        read(tmp_path, (text[:start] + patch + text[end:]).encode())
    except Unreadable as error:
        assert str(error).startswith(f"{tmp_path / 'de.po'}:")


@pytest.mark.parametrize(("lines", "number", "sentence"), [
    (['msgstr "x"', 'msgid "A"', 'msgstr "B"'], 1, "msgstr stands where msgctxt or msgid belongs"),
    (['#~ msgstr "x"', 'msgid "A"', 'msgstr "B"'], 1, "msgstr stands where msgctxt or msgid belongs"),
    (['msgid "A"', 'msgstr "B"', 'msgstr "C"'], 3, "msgstr stands where msgctxt or msgid belongs"),
    (['msgid "A"', 'msgid "B"', 'msgstr "C"'], 2, "msgid stands where msgid_plural or msgstr belongs"),
    (['msgid "A"', 'msgid_plural "B"', 'msgstr "C"'], 3, "msgstr stands where msgstr[0] belongs"),
    (['msgid "A"', 'msgid_plural "B"', 'msgstr[0] "C"', 'msgstr[2] "C"'], 4, "msgstr[2] stands where"),
    (['msgctxt "A"', 'msgstr "B"'], 2, "msgstr stands where msgid belongs"),
    (['"A"'], 1, "this text belongs to no msgid or msgstr"),
    (['msgid "A"', 'msgstr "B"', "# more", '"C"'], 4, "this text belongs to no msgid or msgstr"),
    (['msgid "A"', 'msgstr "\\x42"'], 2, "after \\ stands"),
    (['msgid "A"', 'msgstr "B" "C"'], 2, "this is no line"),
    (['msgid "A"', "# between", 'msgstr "B"'], 1, "missing msgstr"),
])
def test_what_babel_would_read_otherwise_is_refused(tmp_path, lines, number, sentence):
    with pytest.raises(Unreadable) as raised:
        read(tmp_path, "\n".join([*lines, ""]).encode())
    assert sentence in str(raised.value)
    assert str(raised.value).startswith(f"{tmp_path / 'de.po'}:{number}: ")


@pytest.mark.parametrize("header", [
    "Plural-Forms: nplurals=2; plural=(n != );", "Plural-Forms: nplurals=x; plural=n;",
    "Content-Type: text/plain; charset=none"])
def test_a_header_that_cannot_be_used_is_told(tmp_path, header):
    with pytest.raises(Unreadable, match=r"de\.po: "):
        read(tmp_path, f'msgid ""\nmsgstr "{header}\\n"\n\nmsgid "A"\nmsgstr "B"\n'.encode())
