"""Names, titles and addresses: every character is visible, and blanks only separate words."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from marshmallow import ValidationError

from gatepost.http.schemas.fields import Email, Line, Name, Text, Title
from gatepost.http.schemas.visible import is_visible
from tests.samples import sampled_rows


@pytest.mark.parametrize("name", [
    "Ada Lovelace", "Zoë Ångström", "José", "山田　太郎", "Нина", "Ἀριστοτέλης", "علي‌رضا", "क्‍ष", "김철수",
    "葛\U000e0100飾", "❤️ flowers", "👩‍🔬 Ada", "1️⃣ first", "O’Neill – Smith", "שרה",
])
def test_a_name_that_a_reader_sees_is_taken(name):
    assert is_visible(name)
    assert Name().deserialize(name) == name


@pytest.mark.parametrize(("hidden", "code"), sampled_rows([
    ("zero-width space", 0x200B), ("zero-width non-joiner", 0x200C), ("zero-width joiner", 0x200D),
    ("left-to-right mark", 0x200E), ("right-to-left override", 0x202E), ("right-to-left isolate", 0x2067),
    ("Arabic letter mark", 0x061C), ("soft hyphen", 0xAD), ("word joiner", 0x2060), ("invisible times", 0x2062),
    ("byte order mark", 0xFEFF), ("Hangul filler", 0x3164),
    ("half-width Hangul filler", 0xFFA0), ("Braille blank", 0x2800), ("grapheme joiner", 0x034F),
    ("variation selector 16", 0xFE0F), ("ideographic variation", 0xE0100), ("tag letter", 0xE0061),
    ("interlinear annotation", 0xFFF9), ("Mongolian vowel separator", 0x180E),
], 3))
@pytest.mark.parametrize("around", ["Ad{}a", "{}Ada", "Ada{}"])
def test_a_name_with_a_character_that_nobody_sees_is_refused(hidden, code, around):
    name = around.format(chr(code))
    assert not is_visible(name), hidden
    with pytest.raises(ValidationError, match="Invisible characters"):
        Name().deserialize(name)


@pytest.mark.parametrize("code", [0x200B, 0x00AD, 0x034F, 0x3164, 0xFFA0, 0x2800, 0xFE0F, 0xE0100])
def test_an_address_with_a_character_that_nobody_sees_is_refused(code):
    with pytest.raises(ValidationError, match="not an e-mail address"):
        Email().deserialize(f"ad{chr(code)}a@example.org")


def test_a_name_is_a_line():
    for refused in ("", "   ", "two\nlines", "nul\x00", 5):
        with pytest.raises(ValidationError):
            Name().deserialize(refused)


SPACES = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Zs"]


@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_spaces_at_the_ends_go_and_one_stays_for_several(space):
    inside = space if space == "\u3000" else " "
    for sent, name, title in (
        (f"{space}Ada{space}", "Ada", "Ada"), (f"Ada{space}King", f"Ada{inside}King", f"Ada{space}King"),
        (f"Ada{space * 3}King", f"Ada{inside}King", f"Ada{space}King"),
        (f" {space}Ada {space} King{space} ", "Ada King", "Ada King"),
    ):
        assert (sent, Name().deserialize(sent), Title().deserialize(sent)) == (sent, name, title)
        assert (Line().deserialize(sent), Text(maximum=99).deserialize(sent)) == (sent, sent)
    for field in (Name(), Title()):
        with pytest.raises(ValidationError, match="blank"):
            field.deserialize(space * 2)


def test_what_is_counted_is_what_is_stored():
    assert Name(maximum=3).deserialize(" " * 1000 + "Ada" + " " * 1000) == "Ada"
    with pytest.raises(ValidationError, match="Length must be"):
        Name(maximum=3).deserialize(" Adam ")


@pytest.mark.parametrize("break_", ["\t", "\n", "\v", "\f", "\r", "\x1c", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_tabs_and_breaks_of_lines_are_refused_wherever_they_stand(break_):
    for sent in (f"Ada{break_}", f"{break_}Ada", f"Ada {break_} King"):
        for field in (Name(), Title()):
            with pytest.raises(ValidationError, match="Control characters"):
                field.deserialize(sent)
