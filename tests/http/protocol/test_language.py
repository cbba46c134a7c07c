"""The language of errors and pages: by `lang`, then `Accept-Language`, then the setting."""

from __future__ import annotations

import re

import pytest
from flask import Request
from hypothesis import given as examples
from hypothesis import strategies as st
from marshmallow import ValidationError
from werkzeug.test import EnvironBuilder

from gatepost.http.protocol.language import best, formatted, is_well_formed
from gatepost.http.protocol.messages import Translations
from gatepost.http.schemas.fields import Language
from tests.http.described import check_problem

NDJSON = {"Content-Type": "application/x-ndjson"}


# Which language


@pytest.mark.parametrize(("lang", "header", "default", "language"), [
    (None, None, "en", "en"),
    (None, None, "de", "de"),
    (None, None, "de-AT", "de"),
    (None, None, "fr", "en"),  # there is no translation: the original language
    ("de", None, "en", "de"),
    ("DE", None, "en", "de"),
    ("de-AT", None, "en", "de"),
    ("de-Latn-CH-1996-x-home", None, "en", "de"),
    ("en-GB", "de", "de", "en"),  # `lang` comes first, also in its short form
    ("de", "en", "en", "de"),
    ("fr", "de", "en", "de"),
    ("fr", None, "de", "de"),
    ("fr", "ja", "en", "en"),
    ("den", None, "en", "en"),  # Slavey, which only begins like German
    (None, "de", "en", "de"),
    (None, "de-AT", "en", "de"),
    (None, "de-AT, en;q=0.9", "en", "de"),
    (None, "fr, de;q=0.5", "en", "de"),
    (None, "en;q=0.4, de;q=0.9", "en", "de"),
    (None, "de;q=0.4, en-US;q=0.9", "de", "en"),
    (None, "de;q=0, en;q=0.1", "de", "en"),
    (None, "*", "en", "en"),
    (None, "*", "de", "de"),
    (None, "*, de;q=0.5", "en", "de"),  # RFC 4647 section 3.4: a language after `*` beats an unnamed one
    (None, "", "de", "de"),
    (None, ";;;,=", "de", "de"),
    (None, "de;q=high", "en", "en"),
])
def test_the_language_of_an_error_is_looked_up(lang, header, default, language):
    builder = EnvironBuilder(query_string={} if lang is None else {"lang": lang},
                             headers={} if header is None else {"Accept-Language": header})
    assert Translations(default).wanted(Request(builder.get_environ())).tag == language


def test_the_longest_tag_that_fits_is_the_best():
    assert best([("pt-BR", 1.0)], ("pt", "pt-BR", "en"), "en") == "pt-BR"
    assert best([("pt-PT", 1.0)], ("pt", "pt-BR", "en"), "en") == "pt"
    assert best([("p", 1.0)], ("pt", "en"), "en") == "en"
    assert best([], ("pt", "ja"), "en") == "ja", "none fits, but there must be one"


@pytest.mark.parametrize("tag", ["de", "DE", "deu", "de-AT", "zh-Hant", "zh-cmn-Hans-CN", "sl-rozaj-biske", "de-1996",
                                 "es-419", "de-CH-1996", "en-u-islamcal", "en-a-bbb-x-a-ccc", "x-whatever", "qaa"])
def test_this_is_a_language_tag(tag):
    assert is_well_formed(tag)


@pytest.mark.parametrize("tag", ["", "d", "*", "de_AT", "de-", "-de", "de--AT", "de AT", "de;q=1", "de,en", "de\n",
                                 "de-419-DE", "a-DE", "en-x", "en-u", "deutsch-land-und-leute-", "dé", "ｄｅ", "de-ſt"])
def test_this_is_none(tag):
    assert not is_well_formed(tag)


@pytest.mark.parametrize("sent", ["lang=", "lang=*", "lang=de_AT", "lang=d", "lang=de&lang=de", "lang=de&lang=en",
                                  "lang=%00", "lang=" + "de-" * 500])
def test_a_lang_that_is_none_is_refused_in_the_language_of_the_header(as_role, sent):
    answer = as_role("guest").get(f"/api/articles?{sent}", headers={"Accept-Language": "de"})
    problem = check_problem(answer, 400, "invalid_parameter")
    assert problem["errors"][0]["parameter"] == "lang"
    assert answer.headers["Content-Language"] == "de"


def test_a_query_that_is_no_text_is_refused_in_the_language_of_the_header(client):
    # Waitress and granian refuse such bytes themselves. Other servers pass them on.
    answer = client.get("/api/articles", headers={"Accept-Language": "de"},
                        environ_overrides={"QUERY_STRING": "lang=en&title=\xff"})
    check_problem(answer, 400, "invalid_parameter")
    assert answer.headers["Content-Language"] == "de"


# Tags of every kind in RFC 5646 section 2.1

LETTERS = "abcxyzABCXYZ"
ALPHANUM = LETTERS + "019"


def of(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most or least)


def some(part: st.SearchStrategy[str], least: int = 0, most: int = 2) -> st.SearchStrategy[str]:
    return st.lists(part, min_size=least, max_size=most).map(lambda parts: "".join(f"-{part}" for part in parts))


PRIVATE = st.builds("{}{}".format, of("xX", 1), some(of(ALPHANUM, 1, 8), 1))
LANGUAGE = st.builds("{}{}".format, of(LETTERS, 2, 3), some(of(LETTERS, 3), most=3))
LONG = of(LETTERS, 4, 8)  # reserved: there is no such language yet
VARIANT = of(ALPHANUM, 5, 8) | st.builds("{}{}".format, of("019", 1), of(ALPHANUM, 3))
EXTENSION = st.builds("{}{}".format, of("abyzABYZ09", 1), some(of(ALPHANUM, 2, 8), 1))
TAGS = PRIVATE | st.builds(
    "{}{}{}{}{}{}".format, LANGUAGE | LONG, some(of(LETTERS, 4), most=1), some(of(LETTERS, 2) | of("019", 3), most=1),
    some(VARIANT), some(EXTENSION), some(PRIVATE, most=1))


@examples(TAGS)
def test_every_tag_of_the_grammar_is_one_and_its_case_says_nothing(tag):
    assert is_well_formed(tag)
    kept = formatted(tag)
    assert (kept.lower(), formatted(kept), formatted(tag.swapcase())) == (tag.lower(), kept, kept)
    if len(tag) > 35 or len(tag.partition("-")[0]) > 3:
        with pytest.raises(ValidationError):
            Language().deserialize(tag)
    else:
        assert Language().deserialize(tag) == kept


@pytest.mark.parametrize("tag", ["de", "mn-Cyrl-MN", "mN-cYrL-Mn", "en-CA-x-ca", "sgn-BE-FR", "az-Latn-x-latn",
                                 "es-419", "zh-Hant-TW", "de-CH-1996", "de-1a2b", "en-a-bb-cccc", "x-ab-cdef"])
def test_a_tag_has_one_usual_case(tag):
    """The examples of RFC 5646 section 2.1.1, and others."""
    assert formatted(tag) == ("mn-Cyrl-MN" if tag == "mN-cYrL-Mn" else tag)
    assert formatted(tag.upper()) == formatted(tag.lower()) == formatted(tag)


# What is not an error


def test_data_says_no_language_and_has_one_etag_in_all(as_role, given):
    guest, article = as_role("guest"), given.article("published")
    for path in ("/api/articles", f"/api/articles/{article.id}", "/api/categories?page=1"):
        answers = [guest.get(path, headers={"Accept-Language": language}) for language in ("en", "de")]
        assert answers[0].headers["ETag"] == answers[1].headers["ETag"]
        assert answers[0].data == answers[1].data
        assert not any("Content-Language" in answer.headers for answer in answers)
        assert not any("Accept-Language" in answer.headers["Vary"] for answer in answers)


def test_a_walk_keeps_its_lang_and_a_cursor_does_not_care(as_role, given):
    for _ in range(3):
        given.category()
    guest = as_role("guest")
    first, plain = (guest.get(f"/api/categories?limit=1{lang}") for lang in ("&lang=de", ""))
    assert first.json == plain.json
    assert first.headers["ETag"] == plain.headers["ETag"]
    following = re.search(r'<([^>]*)>; rel="next"', first.headers["Link"])[1]
    assert "lang=de" in following
    cursor = first.json["next_cursor"]
    for lang in ("", "&lang=en", "&lang=de"):
        assert guest.get(f"/api/categories?limit=1&cursor={cursor}{lang}").json == guest.get(following).json


def test_lines_that_an_import_leaves_out_are_named_in_german(as_role):
    body = b'{"title": "T", "slug": "kept", "body": "B"}\n{"slug": "No Slug"}\n{\n'
    editor = as_role("editor")
    english, german = (editor.post("/api/articles/import?on_error=skip", data=body, headers={
        **NDJSON, "Accept-Language": language, "Idempotency-Key": language}) for language in ("en", "de"))
    assert (german.status_code, german.headers["Content-Language"]) == (200, "de")
    for one, other in zip(english.json["errors"], german.json["errors"], strict=False):
        assert one["detail"] != other["detail"] or one["code"] == "already_exists"
    assert "Dieses Pflichtfeld fehlt." in {fault["detail"] for fault in german.json["errors"]}
    again = editor.post("/api/articles/import?on_error=skip", data=body, headers={
        **NDJSON, "Accept-Language": "en", "Idempotency-Key": "de"})
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.headers["Content-Language"], again.json) == ("de", german.json)


def test_an_import_without_faults_says_no_language(as_role):
    answer = as_role("editor").post("/api/articles/import?on_error=skip&lang=de", data=b"", headers=NDJSON)
    assert answer.status_code == 200
    assert "Content-Language" not in answer.headers


# Pages


@pytest.fixture(scope="module")
def imprint(given):
    """A page in two languages."""
    for language in ("en", "de"):
        given.page(slug="imprint", language=language, title=f"in {language}")


@pytest.mark.parametrize(("lang", "header", "language"), [
    ("de", None, "de"),
    ("de", "en", "de"),
    ("de-AT", "en", "de"),
    ("fr", "de", "de"),
    ("fr", None, "en"),
    (None, "de", "de"),
])
def test_a_page_is_shown_in_the_language_of_lang(as_role, imprint, lang, header, language):
    answer = as_role("guest").get("/api/pages/imprint" + (f"?lang={lang}" if lang else ""),
                                  headers={} if header is None else {"Accept-Language": header})
    assert (answer.json["title"], answer.headers["Content-Language"]) == (f"in {language}", language)
    assert "Accept-Language" in answer.headers["Vary"].split(", ")


# Hostile wishes


@pytest.mark.parametrize("header", [
    "de," * 20_000 + "en", "a-" * 20_000, "x" * 60_000, "de;q=" + "9" * 5_000, "de;q=-1", "de;q=nan", "de;q=inf",
    "de;q=1e999", "de;q=٣", "\x01\x02", "de\x00", "ÿþ", '"', "de;;;;", "=", ",,,,", "de;q=0.1;q=1", "-", "*-*"],
    ids=lambda header: repr(header[:20]))
@pytest.mark.parametrize("path", ["/api/nope", "/api/pages/imprint"])
def test_no_accept_language_is_an_error(as_role, imprint, header, path):
    environ = {"HTTP_ACCEPT_LANGUAGE": header.encode("utf-8").decode("latin-1")}
    answer = as_role("guest").get(path, environ_overrides=environ)
    assert answer.status_code == (404 if path == "/api/nope" else 200)
    assert answer.headers["Content-Language"] in ("en", "de")


# The description


@pytest.mark.parametrize("path", ["/api/openapi.json", "/api/openapi-3.0.json"])
def test_lang_is_described_once_and_belongs_to_every_operation(client, path):
    document = client.get(path).get_json()
    described = document["components"]["parameters"]["lang"]
    assert (described["in"], described["name"]) == ("query", "lang")
    assert all({"$ref": "#/components/parameters/lang"} in item["parameters"] for item in document["paths"].values())
    assert str(document).count("'name': 'lang'") == 1
