"""Searches ignore case: for all of Unicode, on both databases, with any locale."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from models.base import Rows, new_id
from models.engine import words
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.words import fold, split, vector
from models.migrate import upgrade
from models.records import bulk, search
from models.tables.article import Article
from models.tables.tenant import Tenant
from tests.databases import NO_LETTERS, TURKISH, new_database

# Digest of `fold` for each character, the same in every version of Python, because indexes store the results.
FOLDED = "c3718ef6b65c3a4ee36d97425a20207635a64573bde571745098f80ce8777f1d"


def characters() -> Iterator[str]:
    return (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)


@cache
def pairs() -> list[tuple[str, str]]:
    """Returns each cased character of a word with each of its other forms."""
    return [(one, other) for one in characters() if unicodedata.category(one)[0] in "LMN" and split(one)
            for other in sorted({one.lower(), one.upper(), one.title(), one.casefold()} - {one})]


def test_all_forms_of_a_letter_are_one_token() -> None:
    assert len(pairs()) > 2700
    assert [(one, other) for one, other in pairs() if fold(one) != fold(other)] == []
    assert [(one, other) for one, other in pairs() if split(f"a{one}z") != split(f"a{other}z")] == []


def test_a_letter_is_one_token_however_it_is_encoded() -> None:
    composed = [one for one in characters() if unicodedata.decomposition(one) and split(one)]
    wrong = [(one, form) for one in composed for form in ("NFC", "NFD")
             if split(unicodedata.normalize(form, one)) != split(one)]
    assert wrong == []


def test_every_version_of_python_folds_alike() -> None:
    assert hashlib.sha256("\n".join(map(fold, characters())).encode()).hexdigest() == FOLDED


def test_what_is_folded_letter_by_letter_has_no_marks_and_no_sign_that_becomes_a_letter() -> None:
    plain = [one for one in characters() if not words._MARKED.search(one)]
    assert [one for one in plain if unicodedata.combining(one) or not words._SETTLED.match(one)] == []
    assert [one for one in plain if words._fold_plain(one) != words._fold_marked(one)] == []
    assert [one for one in plain if bool(split(one)) != bool(words._WORD.match(one))] == []


@for_all(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@for_all(st.text(st.characters(max_codepoint=255)))
def test_a_text_of_latin_letters_is_split_as_any_other(text: str) -> None:
    assert split(f"{text} ω") == [*split(text), "ω"]


@pytest.mark.parametrize(("text", "expected"), [
    ("Straße STRASSE straẞe", ["strasse"] * 3),
    ("ΟΔΟΣ οδος οδοσ", ["οδοσ"] * 3),
    ("İSTANBUL istanbul ISTANBUL ıstanbul i\u0307stanbul", ["istanbul"] * 5),
    ("ŉ ʼn ﬃ FFI ffi", ["ʼn", "ʼn", "ffi", "ffi", "ffi"]),
    ("\u212b \u00c5 A\u030a å", ["å"] * 4),
    ("\u1fb7 \u1fbc\u0342", ["ᾶι"] * 2),
    ("5 µm 5 ΜM", ["5", "μm", "5", "μm"]),
    ("Ꭰ ꭰ", ["Ꭰ", "Ꭰ"]),
    ("𐐀 𐐨", ["𐐨", "𐐨"]),
    ("\ua7dc ƛ", ["\ua7dc", "ƛ"]),  # a pair since Unicode 16
    ("café cafe", ["café", "cafe"]),  # accents are no case
    ("ｆｕｌｌ full ² 2", ["ｆｕｌｌ", "full", "2"]),  # nor is width
])
def test_what_is_one_word(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["\u0301\u0323" * 100_000, "a\u0301\u0323" * 66_000, "\u1fc3\u0301" * 100_000,
                                  "é" + "\u0301\u0323" * 100 + " ö", "\ua7dca" * 100_000, "ΐ" * 200_000], ids=range(6))
def test_python_is_never_given_many_marks_to_sort(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the sort grows with the square of their number: a minute for the first of these texts."""
    given: list[str] = []
    normalize, is_normalized = unicodedata.normalize, unicodedata.is_normalized

    def watched(real: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        def call(form: Any, text: str) -> Any:
            given.append(text)
            return real(form, text)
        return call

    monkeypatch.setattr(unicodedata, "normalize", watched(normalize))
    monkeypatch.setattr(unicodedata, "is_normalized", watched(is_normalized))
    assert split(text)
    assert [len(one) for one in given if re.search(r"[^\w ]{60}", one)] == []


def test_a_vector_says_where_each_word_is_and_no_phrase_goes_on_in_the_next_text() -> None:
    assert vector(["Ab, cd ab", None, "…", "Ef"], "m") == "mab:1 mcd:2 mab:3 mef:7 "
    assert vector([None, ""], "m") == ""


LOCALES = {"sqlite": "", "postgres": "", "postgres C": NO_LETTERS, "postgres tr": TURKISH}


@pytest.fixture(scope="module", params=[
    "sqlite", "postgres C", *(pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "postgres tr"))])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    url = new_database(request.param.split()[0], request, locale=LOCALES[request.param])
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=60)
    upgrade(database)
    with database.connected():
        yield database
    database.close_all()


def article(title: str, body: str) -> Article:
    return Article(title=title, slug=new_id(), body=body)


def found(database: Database, tenant_id: str, query: str) -> set[str]:
    rows = Rows(Article, tenant_id).select(Article.title).where(
        search.matching(Article, database.dialect, search.words(query, tenant_id, database.dialect)))
    return {title for title, in rows.tuples()}


@pytest.mark.both_databases
def test_each_form_of_a_letter_finds_the_others(database: Database) -> None:
    tenant = Tenant.add("all letters").id
    forms = sorted({form for pair in pairs() for form in pair})
    numbers = {form: str(number) for number, form in enumerate(forms)}
    database.transact(lambda: bulk.insert(database, tenant, [
        article(numbers[form], f"a{form}z") for form in forms]))
    finds = {form: found(database, tenant, f"a{form}z") for form in forms}
    wrong = [(one, other) for one, other in pairs()
             if numbers[other] not in finds[one] or numbers[one] not in finds[other]]
    assert wrong == []


@pytest.mark.both_databases
def test_rows_are_found_in_any_case_however_they_are_stored_and_changed(database: Database) -> None:
    tenant = Tenant.add("ways").id
    rows = Rows(Article, tenant)

    def ways() -> None:
        rows.insert(article("one", "ÄRGER"))
        bulk.insert(database, tenant, [article("many", "Ärger")])
        saved = rows.insert(article("saved", "nothing"))
        saved.body = "ärger"
        rows.save(saved)
        rows.insert(article("changed", "nothing"))
        assert rows.change({Article.body: "ÄrGeR"}, Article.title == "changed") == 1
        other = rows.insert(article("another", "ärger"))
        other.body = "Freude"
        rows.save(other)
        other.slug = "another"
        rows.save(other)

    database.transact(ways)
    assert found(database, tenant, "äRGER") == {"one", "many", "saved", "changed"}
    assert found(database, tenant, "FREUDE") == {"another"}
    assert not search.has_lost_words(database, Article)


@pytest.mark.both_databases
def test_a_row_that_is_read_in_part_keeps_the_words_of_its_other_texts(database: Database) -> None:
    tenant = Tenant.add("parts").id
    rows = Rows(Article, tenant)
    database.transact(lambda: rows.insert(article("Before", "kept")))
    part = rows.select(Article.id, Article.version, Article.title).first()
    assert part is not None
    part.title = "After"
    database.transact(lambda: rows.save(part))
    assert found(database, tenant, "after kept") == {"After"}
    assert found(database, tenant, "before") == set()
    assert not search.has_lost_words(database, Article)


@pytest.mark.both_databases
def test_a_phrase_does_not_go_on_in_the_next_column(database: Database) -> None:
    tenant = Tenant.add("phrases").id
    database.transact(lambda: Rows(Article, tenant).insert(article("The end", "Begins again")))
    assert found(database, tenant, '"THE end" "begins Again"') == {"The end"}
    assert found(database, tenant, '"end begins"') == set()


@pytest.mark.both_databases
@pytest.mark.parametrize("text", [
    " ".join(chr(0x20000 + number) for number in range(40_000)) + " " + " ".join(map(chr, range(0xAC00, 0xD7A3))),
    "\u0fb9 " * 100_000,
    " ".join(chr(0x20000 + number) * 490 for number in range(400)),
    "a" * 100_000 + " " + "b" * 3000 + " c",
], ids=["many words", "words that grow", "long words", "words that are too long"])
def test_of_a_text_that_is_too_large_for_an_index_the_first_words_are_found(database: Database, text: str) -> None:
    assert len(text) <= 200_000
    tenant = Tenant.add(new_id()).id
    database.transact(lambda: Rows(Article, tenant).insert(article("Large Ä", text)))
    assert found(database, tenant, "large ä") == {"Large Ä"}
    assert found(database, tenant, text.split()[1] if len(text.split()[1]) < 200 else "large") == {"Large Ä"}


@pytest.mark.both_databases
def test_words_that_another_program_has_stored_are_missed_and_indexed_anew(database: Database) -> None:
    if database.dialect == "sqlite":
        pytest.skip("another program is refused there")
    tenant = Tenant.add("others").id
    row = database.transact(lambda: Rows(Article, tenant).insert(article("Other", "before")))
    database.execute_sql("UPDATE articles SET body = 'AFTERWARDS' WHERE id = %s", [row.id])
    assert search.has_lost_words(database, Article)
    search.index_anew(database, Article)
    assert not search.has_lost_words(database, Article)
    assert found(database, tenant, "afterwards") == {"Other"}
