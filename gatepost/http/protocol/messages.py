"""Texts for clients, in English, and their translations.

The English text is the key of its translations, as in gettext: `translations/de.po` has the German ones. A constant
text is a plain `str`. A text with values is a `Message`, which is formatted in the language of the answer; values that
are messages are translated as well. Words of the API (fields, codes, states) are values that are not translated.

`make messages` collects the arguments of `Problem`, `Fault`, `Conflict`, `ValidationError`, `Message` and `plural`,
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
# Lines of a .po file, with the escapes that Babel reads.
_LINE = re.compile(r'(?:#.*|(?:(msgctxt|msgid|msgid_plural|msgstr|msgstr\[[0-9]\])[ \t]*)?("(?:[^"\\]|\\[\\nrt"])*"))?')
_FIRST = ("msgctxt", "msgid")
# keyword → keywords that may follow it
_NEXT = {"": _FIRST, "msgctxt": ("msgid",), "msgid": ("msgid_plural", "msgstr"), "msgid_plural": ("msgstr[0]",),
         "msgstr": _FIRST, **{f"msgstr[{form}]": (*_FIRST, f"msgstr[{form + 1}]") for form in range(10)}}
SHIPPED = files("gatepost").joinpath("translations")


class Unreadable(Exception):
    """Error of a translation file that cannot be read. The message names the file."""


def plural(one: str, many: str, number: int, /, **values: Any) -> Message:
    """Returns the message `one` if `number` is 1, else `many`. The text has the number as `{number}`."""
    message = Message(one if number == 1 else many, number=number, **values)
    message.template, message.many = one, many
    return message


class Translation:
    """Texts in one language. `tag` is its language tag (RFC 5646)."""

    def __init__(self, tag: str, catalogue: NullTranslations) -> None:
        self.tag = tag
        self._catalogue = catalogue

    def say(self, text: str) -> str:
        """Returns the text in this language, or in English if there is no translation."""
        if not isinstance(text, Message):
            # The empty text is the key of a catalogue's header.
            return self._catalogue.gettext(str(text)) if text else ""
        if text.many is not None:
            translated = self._catalogue.ngettext(text.template, text.many, text.values["number"])
        else:
            translated = self._catalogue.gettext(text.template)
        if not text.values:
            return translated
        try:
            return translated.format(**{name: self.say(value) if isinstance(value, Message) else value
                                        for name, value in text.values.items()})
        except (AttributeError, LookupError, TypeError, ValueError):
            # A faulty translation must not break the answer.
            return str(text)


class Translations:
    """Languages of errors: English, and each language for which a directory has a file `<tag>.po`.

    If several directories have a file for one language, they are searched in their order. `tags` are the languages.
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
        self._by_tag = {tag: Translation(tag, catalogue) for tag, catalogue in catalogues.items()}

    def wanted(self, request: Request) -> Translation:
        """Returns the best language for the caller: by `wishes`, then by the setting `language`."""
        return self._by_tag[best((*wishes(request), (self._default, 1.0)), self._by_tag, SOURCE)]

    def in_language(self, tag: str | None = None) -> Translation:
        """Returns the language of this tag, else that of the setting `language`."""
        preferred = () if tag is None else ((tag, 1.0),)
        return self._by_tag[best((*preferred, (self._default, 1.0)), self._by_tag, SOURCE)]


def read_texts(file: Traversable, tag: str) -> GNUTranslations:
    """Reads the texts of one file. Raises `Unreadable` for errors that Babel would ignore."""
    compiled = _compiled(str(file), file.read_bytes(), tag)
    try:
        return GNUTranslations(BytesIO(compiled))
    except (LookupError, RecursionError, ValueError) as error:
        raise Unreadable(f"{file}: the header cannot be used: {error}") from error


def text_ids(file: Traversable) -> list[tuple[int, str]]:
    """Returns the English texts of a readable file, each with its line. Of a plural text only the singular."""
    from babel.messages.pofile import read_po

    lines = StringIO(_strict(str(file), file.read_bytes().decode()))
    return [(message.lineno or 0, message.id[0] if isinstance(message.id, tuple | list) else message.id)
            for message in read_po(lines) if message.id]


@lru_cache(maxsize=16)
def _compiled(file: str, content: bytes, tag: str) -> bytes:
    """Compiles the content of a .po file to that of a .mo file."""
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
    """Returns a file in the form that Babel reads. Raises `Unreadable` with the line of an error that Babel would
    ignore."""
    keyword, within, lines = "", False, []
    for number, line in enumerate(text.split("\n"), 1):
        # An obsolete entry; `#~|` is its previous text.
        obsolete = line.lstrip().startswith("#~")
        entry = line.strip().removeprefix("#~").strip() if obsolete else line.strip()
        if obsolete and entry.startswith("|"):
            lines.append("")
            continue
        if (match := _LINE.fullmatch(entry)) is None:
            raise Unreadable(f'{file}:{number}: this is no line of a .po file; texts are written msgid "…" and msgstr '
                             '"…", each in quotes that end on their line; after \\ stands \\, ", n, r or t')
        if match[1] is not None:
            if match[1] not in _NEXT[keyword]:
                raise Unreadable(f"{file}:{number}: {match[1]} stands where {' or '.join(_NEXT[keyword])} belongs")
            keyword, within = match[1], True
            entry = f"{match[1]} {match[2]}"
        elif match[2] is not None and not within:
            raise Unreadable(f"{file}:{number}: this text belongs to no msgid or msgstr")
        elif entry.startswith("#"):
            within = False
        lines.append(f"#~ {entry}" if obsolete else entry)
    return "\n".join(lines)


# Messages of the libraries that read bodies and parameters: marshmallow, json and csv.
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
