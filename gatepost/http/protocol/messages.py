"""Texts for clients, in English, and their translations.

A text is its own name, as gettext has it: `translations/de.po` says what it is in German. A constant text is a plain
`str`; one with values in it is a `Message`, which is put together again in the language of the answer, and with it the
values that are messages. Words of the API (fields, codes, states) are values, and stay what they are.

`make messages` collects what is given to `Problem`, `Fault`, `Conflict`, `ValidationError`, `Message` and `plural`,
in `models` to `InvalidState`, and in `policies` to `Message`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO, StringIO
from typing import Any

from flask import Request

from policies.wording.message import Message, any_of, together

from .language import best, wishes

__all__ = ["LIBRARIES", "SHIPPED", "SOURCE", "Message", "Translation", "Translations", "Unreadable", "any_of", "plural",
           "read_texts", "text_ids", "together"]

SOURCE = "en"  # the language of the texts in the code
# Of the escapes of gettext, those that Babel reads.
_LINE = re.compile(r'(?:#.*|(?:(msgctxt|msgid|msgid_plural|msgstr|msgstr\[[0-9]\])[ \t]*)?("(?:[^"\\]|\\[\\nrt"])*"))?')
_FIRST = ("msgctxt", "msgid")
# keyword → those that may follow it
_NEXT = {"": _FIRST, "msgctxt": ("msgid",), "msgid": ("msgid_plural", "msgstr"), "msgid_plural": ("msgstr[0]",),
         "msgstr": _FIRST, **{f"msgstr[{form}]": (*_FIRST, f"msgstr[{form + 1}]") for form in range(10)}}
SHIPPED = files("gatepost").joinpath("translations")


class Unreadable(Exception):
    """A file of translations that is none; the sentence names it."""


def plural(one: str, many: str, number: int, /, **values: Any) -> Message:
    """`one` or `many`, whichever the number asks for; it is `{number}` in the text."""
    made = Message(one if number == 1 else many, number=number, **values)
    made.template, made.many = one, many
    return made


class Translation:
    """The texts in one language. `tag` is the language's (RFC 5646)."""

    def __init__(self, tag: str, catalogue: NullTranslations) -> None:
        self.tag = tag
        self._catalogue = catalogue

    def say(self, text: str) -> str:
        """The text in this language; in English where there is no translation."""
        if not isinstance(text, Message):
            # The empty text is the name of a catalogue's own header.
            return self._catalogue.gettext(str(text)) if text else ""
        if text.many is not None:
            said = self._catalogue.ngettext(text.template, text.many, text.values["number"])
        else:
            said = self._catalogue.gettext(text.template)
        if not text.values:
            return said
        try:
            return said.format(**{name: self.say(value) if isinstance(value, Message) else value
                                  for name, value in text.values.items()})
        except (AttributeError, LookupError, TypeError, ValueError):
            # A faulty translation must not break the answer.
            return str(text)


class Translations:
    """Every language that errors can be said in: English, and each for which a directory has a file `<tag>.po`.

    What several directories have in one language is looked up in their order. `tags` are the languages.
    """

    def __init__(self, default: str, directories: Iterable[Traversable] = (SHIPPED,)) -> None:
        catalogues: dict[str, NullTranslations] = {SOURCE: NullTranslations()}
        for file in (file for directory in directories for file in directory.iterdir()):
            tag, _, kind = file.name.rpartition(".")
            if kind == "po" and tag in catalogues:
                catalogues[tag].add_fallback(read_texts(file, tag))
            elif kind == "po":
                catalogues[tag] = read_texts(file, tag)
        self._default = default
        self.tags = tuple(sorted(catalogues))
        self._known = {tag: Translation(tag, catalogue) for tag, catalogue in catalogues.items()}

    def wanted(self, request: Request) -> Translation:
        """The language that suits the caller best: `lang`, cookie, `Accept-Language` (`wishes`), then the setting
        `language`."""
        return self._known[best((*wishes(request), (self._default, 1.0)), self._known, SOURCE)]


def read_texts(file: Traversable, tag: str) -> GNUTranslations:
    """The texts of one file. Raises `Unreadable`: Babel would go on with other texts than are written."""
    compiled = _compiled(str(file), file.read_bytes(), tag)
    try:
        return GNUTranslations(BytesIO(compiled))
    except (LookupError, RecursionError, ValueError) as error:
        raise Unreadable(f"{file}: the header cannot be used: {error}") from error


def text_ids(file: Traversable) -> list[tuple[int, str]]:
    """The English texts of one file that can be read, of a plural the singular, each with its line."""
    from babel.messages.pofile import read_po

    lines = StringIO(_strict(str(file), file.read_bytes().decode()))
    return [(message.lineno or 0, message.id[0] if isinstance(message.id, tuple | list) else message.id)
            for message in read_po(lines) if message.id]


@lru_cache(maxsize=16)
def _compiled(file: str, content: bytes, tag: str) -> bytes:
    """The content of a .po file as that of a .mo file."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import PoFileError, read_po

    compiled = BytesIO()
    try:
        lines = StringIO(_strict(file, content.decode()))
        write_mo(compiled, read_po(lines, locale=tag.replace("-", "_"), abort_invalid=True))
    except PoFileError as error:
        raise Unreadable(f"{file}:{error.lineno + 1}: {error.args[0].rpartition(' on ')[0]}") from error
    except (LookupError, ValueError) as error:
        raise Unreadable(f"{file}: {error}") from error
    return compiled.getvalue()


def _strict(file: str, text: str) -> str:
    """A file as Babel reads it. Raises `Unreadable` with the line where Babel would go on with other texts than are
    written."""
    keyword, within, lines = "", False, []
    for number, line in enumerate(text.split("\n"), 1):
        # An entry that is no longer used; `#~|` is what such a text was before.
        obsolete = line.lstrip().startswith("#~")
        said = line.strip().removeprefix("#~").strip() if obsolete else line.strip()
        if obsolete and said.startswith("|"):
            lines.append("")
            continue
        if (found := _LINE.fullmatch(said)) is None:
            raise Unreadable(f'{file}:{number}: this is no line of a .po file; texts are written msgid "…" and msgstr '
                             '"…", each in quotes that end on their line; after \\ stands \\, ", n, r or t')
        if found[1] is not None:
            if found[1] not in _NEXT[keyword]:
                raise Unreadable(f"{file}:{number}: {found[1]} stands where {' or '.join(_NEXT[keyword])} belongs")
            keyword, within = found[1], True
            said = f"{found[1]} {found[2]}"
        elif found[2] is not None and not within:
            raise Unreadable(f"{file}:{number}: this text belongs to no msgid or msgstr")
        elif said.startswith("#"):
            within = False
        lines.append(f"#~ {said}" if obsolete else said)
    return "\n".join(lines)


# What is said by the libraries that look at bodies and parameters: marshmallow, json and csv.
LIBRARIES = (
    Message("Missing data for required field."),
    Message("Field may not be null."),
    Message("Unknown field."),
    Message("Invalid value."),
    Message("Invalid type."),
    Message("Invalid input type."),
    Message("Not a valid string."),
    Message("Not a valid utf-8 string."),
    Message("Not a valid number."),
    Message("Number too large."),
    Message("Not a valid integer."),
    Message("Not a valid boolean."),
    Message("Not a valid list."),
    Message("Not a valid delimited list."),
    Message("Not a valid mapping type."),
    Message("Expecting value"),
    Message("Expecting property name enclosed in double quotes"),
    Message("Expecting ':' delimiter"),
    Message("Expecting ',' delimiter"),
    Message("Extra data"),
    Message("Unterminated string starting"),
    Message("Invalid control character"),
    Message("Invalid \\escape"),
    Message("Invalid \\uXXXX escape"),
    Message("Illegal trailing comma before end of object"),
    Message("Illegal trailing comma before end of array"),
    Message("unexpected end of data"),
    Message("',' expected after '\"'"),
)
