"""Every error text has an entry in every translation, and answers use it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from flask import Request
from marshmallow import Schema, fields
from werkzeug.test import EnvironBuilder

from gatepost.collections.plugins.discovery import discover
from gatepost.http.protocol.messages import Message, Translations, plural
from gatepost.http.protocol.problems import CATALOGUE
from tests import texts
from tests.running import ROOT, SERVICE

in_the_code = cache(texts.in_the_code)
each_file = pytest.mark.parametrize("file", texts.FILES, ids=lambda file: file.stem)
MODULES = [path for path in SERVICE if not set(path.relative_to(ROOT).parts) & set(texts.OUTSIDE)]


def asking(lang: str) -> Request:
    return Request(EnvironBuilder(query_string={"lang": lang}).get_environ())


def one_or_more(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def placeholders(text: str) -> set[tuple[str, str | None]]:
    return {(name, conversion) for _, name, _, conversion in Formatter().parse(text) if name is not None}


# The files


@each_file
def test_a_translation_has_the_texts_of_the_code_and_no_others(file):
    kept, wanted = texts.translated(file), in_the_code()
    assert {message.id for message in kept if message.id} == {message.id for message in wanted if message.id}, (
        "run: make messages")
    assert not kept.obsolete


@each_file
def test_every_text_is_translated(file):
    kept = texts.translated(file)
    assert [message.id for message in kept if message.id and not all(one_or_more(message.string))] == []
    assert not [message.id for message in kept if message.fuzzy and message.id]
    assert {len(one_or_more(message.string)) for message in kept if message.pluralizable} <= {kept.num_plurals}


@each_file
def test_a_translated_text_has_the_placeholders_of_the_original(file):
    for message in texts.translated(file):
        original = one_or_more(message.id)[-1]
        for said in one_or_more(message.string) if message.id else ():
            assert placeholders(said) == placeholders(original), said


@each_file
def test_a_file_is_called_like_its_language(file):
    kept = texts.translated(file)
    assert dict(kept.mime_headers)["Language"] == file.stem.replace("-", "_")


@each_file
def test_bringing_a_translation_up_to_date_twice_changes_nothing(file, tmp_path):
    copy = shutil.copy(file, tmp_path)
    texts.update(Path(copy))
    assert Path(copy).read_text(encoding="utf-8") == file.read_text(encoding="utf-8")


# The code


@cache
def literals() -> list[tuple[str, ast.AST]]:
    """Returns every literal in the position of a text, with its place."""
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                given = [node.args[place - 1] for place in texts.KEYWORDS.get(name, ()) if place <= len(node.args)]
                given += [keyword.value for keyword in node.keywords if keyword.arg in ("detail", "error")]
                found += [(f"{path.name}:{node.lineno}", one) for one in given]
    return found


def test_no_text_is_put_together_before_its_language_is_known():
    together = (ast.JoinedStr, ast.BinOp)
    assert [where for where, given in literals() if isinstance(given, together)] == []


def test_every_text_that_is_written_is_collected():
    known = {text for message in in_the_code() for text in one_or_more(message.id)}
    written = [(where, given.value) for where, given in literals()
               if isinstance(given, ast.Constant) and isinstance(given.value, str)]
    assert len(written) > 100
    assert [(where, text) for where, text in written if text not in known] == []


def test_every_title_is_collected():
    known = {message.id for message in in_the_code()}
    assert {title for _, title in CATALOGUE.values()} <= known


def described() -> Iterator[tuple[str, fields.Field]]:
    """Yields every field of every body and query string, also nested ones."""
    for _, _, endpoints in discover().endpoints():
        for endpoint in endpoints:
            for schema in (endpoint.body, endpoint.query):
                if schema is not None:
                    yield from _described(f"{endpoint.method} {endpoint.path}", schema)


def _described(where: str, schema: Schema) -> Iterator[tuple[str, fields.Field]]:
    for name, field in schema.load_fields.items():
        yield f"{where} {name}", field
        if isinstance(field, fields.List):
            yield f"{where} {name}[]", field.inner
            field = field.inner
        if isinstance(field, fields.Nested):
            yield from _described(f"{where} {name}", field.schema)


def test_what_marshmallow_says_of_our_fields_is_collected_too():
    known = {message.id for message in in_the_code()}
    said = [(where, text) for where, field in described()
            for text in (*field.error_messages.values(),
                         *(getattr(check, "error", "") or type(check).__name__ for check in field.validators
                           if hasattr(check, "error")))]
    assert len(said) > 1000
    assert {text for _, text in said if text not in known} == set()


# Saying it


def test_a_message_is_its_english_text():
    said = Message("{name} must be from {low} to {high}.", name="page", low=1, high=7)
    assert said == "page must be from 1 to 7."
    assert f"{said}" == "page must be from 1 to 7."
    assert [plural("{number} line", "{number} lines", number) for number in (0, 1, 2)] == [
        "0 lines", "1 line", "2 lines"]


@pytest.mark.parametrize(("text", "german"), [
    ("This is not an id.", "Das ist keine gültige ID."),
    (Message("{name} must be from {low} to {high}.", name="page", low=1, high=7),
     "page muss zwischen 1 und 7 liegen."),
    (Message("Must be one of: {choices}.").format(choices="a, b"), "Erlaubt ist eines von: a, b."),
    (Message("A key is not usable: {reason}", reason=Message("The character NUL is not allowed.")),
     "Ein Schlüssel ist nicht verwendbar: Das Zeichen NUL ist nicht erlaubt."),
    (plural("{number} line cannot be imported; nothing was.", "{number} lines cannot be imported; nothing was.", 1),
     "1 Zeile kann nicht importiert werden; es wurde nichts importiert."),
    (plural("{number} line cannot be imported; nothing was.", "{number} lines cannot be imported; nothing was.", 2),
     "2 Zeilen können nicht importiert werden; es wurde nichts importiert."),
    # a client's words are not our texts, even if they look like one
    (Message("There is no scope {scope!r}.", scope="This is not an id."),
     "Einen Scope 'This is not an id.' gibt es nicht."),
    (Message("There is no scope {scope!r}.", scope="{scope} %s"), "Einen Scope '{scope} %s' gibt es nicht."),
    ("What a plugin says.", "What a plugin says."),
    ("", ""),
])
def test_a_text_is_said_in_german(text, german):
    translations = Translations("en")
    assert translations.wanted(asking("de")).say(text) == german
    assert translations.wanted(asking("en")).say(text) == text


def test_a_file_is_all_that_a_language_needs(tmp_path):
    (tmp_path / "pl.po").write_text('''msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);\\n"

msgid "{number} line"
msgid_plural "{number} lines"
msgstr[0] "{number} wiersz"
msgstr[1] "{number} wiersze"
msgstr[2] "{number} wierszy"
''', encoding="utf-8")
    polish = Translations("en", [tmp_path]).wanted(asking("pl"))
    assert polish.tag == "pl"
    assert [polish.say(plural("{number} line", "{number} lines", number)) for number in (1, 3, 5, 22)] == [
        "1 wiersz", "3 wiersze", "5 wierszy", "22 wiersze"]


@pytest.mark.parametrize("broken", ["{nmae} muss …", "{} muss …", "{name muss …", "{name.x} muss …", "{name:d}"])
def test_a_broken_translation_is_said_in_english(tmp_path, broken):
    (tmp_path / "de.po").write_text(f'msgid "{{name}} must be …"\nmsgstr "{broken}"\n', encoding="utf-8")
    german = Translations("en", [tmp_path]).wanted(asking("de"))
    assert german.say(Message("{name} must be …", name="page")) == "page must be …"
