"""Names and addresses: every character of them is seen."""

from __future__ import annotations

import pytest
from marshmallow import ValidationError

from blueprints.http.schemas.fields import Email, Name
from blueprints.http.schemas.visible import is_visible


@pytest.mark.parametrize("name", [
    "Ada Lovelace", "Zoë Ångström", "José", "山田　太郎", "Нина", "Ἀριστοτέλης", "علي‌رضا", "क्‍ष", "김철수",
    "葛\U000e0100飾", "❤️ flowers", "👩‍🔬 Ada", "1️⃣ first", "O’Neill – Smith", "שרה",
])
def test_a_name_that_a_reader_sees_is_taken(name):
    assert is_visible(name)
    assert Name().deserialize(name) == name


@pytest.mark.parametrize(("hidden", "code"), [
    ("zero-width space", 0x200B), ("zero-width non-joiner", 0x200C), ("zero-width joiner", 0x200D),
    ("left-to-right mark", 0x200E), ("right-to-left override", 0x202E), ("right-to-left isolate", 0x2067),
    ("Arabic letter mark", 0x061C), ("soft hyphen", 0xAD), ("no-break space", 0xA0), ("thin space", 0x2009),
    ("word joiner", 0x2060), ("invisible times", 0x2062), ("byte order mark", 0xFEFF), ("Hangul filler", 0x3164),
    ("half-width Hangul filler", 0xFFA0), ("Braille blank", 0x2800), ("grapheme joiner", 0x034F),
    ("variation selector 16", 0xFE0F), ("ideographic variation", 0xE0100), ("tag letter", 0xE0061),
    ("interlinear annotation", 0xFFF9), ("Mongolian vowel separator", 0x180E),
])
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
